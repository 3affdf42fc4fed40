"""Dense indexes: vectors of passages, of their sentences and of their subwords, in memory and in a file."""
