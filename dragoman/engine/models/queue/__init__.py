"""The worker: a queue of what requests ask of the models, computed in batches, and how requests wait for it."""
