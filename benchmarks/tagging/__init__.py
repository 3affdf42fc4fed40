"""Benchmarks of tagging."""
