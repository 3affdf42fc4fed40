"""The database and the data directory: what holds collections, tables and jobs, and what opens them."""
