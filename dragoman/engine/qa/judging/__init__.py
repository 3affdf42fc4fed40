"""Statements judged in an open world: true, false, or unknown where a text says neither."""
