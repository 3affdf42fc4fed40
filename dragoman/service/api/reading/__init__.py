"""Addresses that read texts: questions, reasoning and translation."""
