"""HTTP of vectors of texts, by the encoder of search, in the format of each client."""
