"""Checks of what claims to say the same: amounts read by what they mean, whatever the language and the script."""
