"""HTTP of a worker process, which computes for services."""
