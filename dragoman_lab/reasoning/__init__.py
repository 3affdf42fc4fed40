"""Training of what reasons and answers."""
