"""HTTP of translated texts."""
