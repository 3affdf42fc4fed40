"""HTTP of names and parts of speech."""
