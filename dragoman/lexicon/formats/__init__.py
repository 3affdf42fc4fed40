"""Formats of table files, read as streams and normalised to tables."""
