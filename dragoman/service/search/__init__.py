"""HTTP of searches."""
