"""The Lucene index of a collection, with Java running in this process."""
