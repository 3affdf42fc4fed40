"""Translation tables: uploaded, versioned, activated and rolled back. A search uses one snapshot of them."""
