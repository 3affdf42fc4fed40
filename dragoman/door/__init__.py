"""The door for Python: one face over a folder on this machine or a service over HTTP."""
