"""Searches per second and latency of the running service."""
