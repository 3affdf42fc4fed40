"""The worker process: what it serves by HTTP, and how a service calls it."""
