"""Reasoning and question answering over text: theories of facts and rules with questions, in several languages."""
