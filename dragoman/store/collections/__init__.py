"""Collections and their documents in the database, which come before the indexes that follow them."""
