"""Training of tables from parallel text."""
