"""The Lucene indexes of collections: one a collection, and all of them."""
