"""Translation tables: uploaded, versioned, activated and rolled back in the database."""
