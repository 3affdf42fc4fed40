"""The embeddings of collections: one index a collection, and all of them."""
