"""``/v1/suggest``: completions and other spellings of what is typed."""
