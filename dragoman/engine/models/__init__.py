"""Neural models: loaded on demand and batched by one worker thread, or called in a worker process over HTTP."""
