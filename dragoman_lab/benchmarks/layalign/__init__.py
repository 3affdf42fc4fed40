"""Benchmarks of LayAlign: its tables, translation quality and speed."""
