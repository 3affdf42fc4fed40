"""Amounts of two sentences, compared."""
