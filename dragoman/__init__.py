"""Dragoman: search, rerank and read documents in languages the user does not read."""
