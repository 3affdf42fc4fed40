"""The Lucene index of a collection, in a Java machine inside this process."""
