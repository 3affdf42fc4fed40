"""How probably each hit answers the query, and whether there is anything for it at all."""
