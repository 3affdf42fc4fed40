"""Reasoning and question answering over text: statements and questions in one language, contexts in another."""
