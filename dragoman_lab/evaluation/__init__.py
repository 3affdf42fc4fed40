"""Benchmarks and training data from a running service: evaluation, table training, candidate lists for MART."""
