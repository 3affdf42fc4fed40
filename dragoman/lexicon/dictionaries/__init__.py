"""Dictionaries in the forms in which they are given away: dictd's pair of files, packages and archives."""
