"""What is suggested while a query is typed: titles, terms of the tables in use, and other spellings."""
