"""The documents of collections as the indexes read them, from the database."""
