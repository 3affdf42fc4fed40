"""Databases of every kind that this machine has, for the faults that may damage them."""

from tests.support.fixtures import database_url

__all__ = ["database_url"]
