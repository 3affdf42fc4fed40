"""``/v1/backup``: the whole database as one file."""
