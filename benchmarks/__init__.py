"""Benchmarks, a command each: `python -m benchmarks.ROOM.NAME`."""
