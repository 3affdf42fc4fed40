"""Neural models: loaded when needed, batched by one worker thread, or reached in a worker process over HTTP."""
