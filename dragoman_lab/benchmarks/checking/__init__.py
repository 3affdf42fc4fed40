"""How surely what is checked is told: right translations from changed ones."""
