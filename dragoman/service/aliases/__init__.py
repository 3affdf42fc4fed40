"""HTTP of aliases of collections."""
