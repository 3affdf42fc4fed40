"""Benchmarks and training data through a running service: evaluate, learn tables, make MART's candidate lists."""
