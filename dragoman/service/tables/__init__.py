"""Translation tables: uploaded, versioned, activated and rolled back; what searches see is one snapshot of them."""
