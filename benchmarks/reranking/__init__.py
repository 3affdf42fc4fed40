"""MART: quality, parts, throughput, and the making of its lists."""
