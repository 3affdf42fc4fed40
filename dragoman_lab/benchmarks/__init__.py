"""Benchmarks, each run by a command: `python -m dragoman_lab.benchmarks.ROOM.NAME`."""
