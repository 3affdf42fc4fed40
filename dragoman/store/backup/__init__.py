"""Backups: the whole database as one file, which any database takes."""
