"""How well an uploaded glossary takes effect."""
