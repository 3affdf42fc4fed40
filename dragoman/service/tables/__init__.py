"""HTTP of translation tables: upload, versions, activation, entries."""
