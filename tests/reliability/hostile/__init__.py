"""Inputs and uses that are meant to stop the service."""
