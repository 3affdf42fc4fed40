"""The running service: everything that knows HTTP, databases and processes. See docs/architecture.md."""
