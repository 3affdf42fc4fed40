"""Batch jobs: submission, the scheduler, and the executor that answers and retries lines."""
