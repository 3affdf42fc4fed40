"""The measuring of load."""
