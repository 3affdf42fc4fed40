"""Shared by all rooms of the service: settings, the closed set of errors, names, JSON, streams, priorities."""
