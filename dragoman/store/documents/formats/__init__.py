"""The forms in which documents are imported: each is read into rows, and rows become documents by a mapping."""
