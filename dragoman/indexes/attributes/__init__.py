"""What a document has beside its words (id, language, title, metadata), as indexed, and filters over it."""
