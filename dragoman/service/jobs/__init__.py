"""Batch jobs: submission, the durable queue, the scheduler, and the executor that answers and retries lines."""
