"""The rerankers: quality, fits, throughput, and the making of lists."""
