"""Neural models: loaded on demand, and batched by one worker thread."""
