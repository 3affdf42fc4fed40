"""Translations as answers show them: each sentence checked, with the reasons against it."""
