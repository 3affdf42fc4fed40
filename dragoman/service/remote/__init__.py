"""Scoring by a worker process: what is sent, and who sends it."""
