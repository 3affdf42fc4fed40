"""Databases of every kind that this machine has, for the faults that may damage them."""

from tests.service.conftest import database_url, postgresql_server

__all__ = ["database_url", "postgresql_server"]
