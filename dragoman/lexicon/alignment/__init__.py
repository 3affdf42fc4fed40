"""Word alignment of parallel text, and the translation table that it gives."""
