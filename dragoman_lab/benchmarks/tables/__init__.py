"""How well uploaded table files are read."""
