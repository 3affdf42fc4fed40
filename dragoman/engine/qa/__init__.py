"""Reading of texts: questions answered from a context or from the documents of collections."""
