"""Commands of who runs a service: backups and reports."""
