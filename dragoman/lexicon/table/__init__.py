"""Translation tables: their compiled form, its file, and tables composed of others."""
