"""Speed of the indexes."""
