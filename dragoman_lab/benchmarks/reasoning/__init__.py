"""Benchmarks of reasoning and question answering."""
