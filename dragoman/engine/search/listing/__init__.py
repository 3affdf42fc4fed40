"""What a search lists of what it ranked: pages, an order by fields, one hit of each value, and counts."""
