"""Benchmarks, each run by a command: `python -m benchmarks.ROOM.NAME`."""
