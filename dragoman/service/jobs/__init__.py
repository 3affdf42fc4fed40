"""Batch jobs: submission, the queue, the scheduler, and the executor that answers and retries each line."""
