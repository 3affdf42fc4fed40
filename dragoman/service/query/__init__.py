"""What a query is: its language, its translation by the active tables, and its words' links to documents."""
