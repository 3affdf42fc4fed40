"""Whole documents for readers who do not know their language: all matches of a query, glosses and sentences."""
