"""The relevance of hits: what it is fitted to, and how far it holds."""
