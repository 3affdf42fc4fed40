"""Names of sentences and of their translations, compared."""
