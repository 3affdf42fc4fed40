"""Fixtures of the store's tests."""

from tests.support.fixtures import database_url, encoder, settings, store

__all__ = ["database_url", "encoder", "settings", "store"]
