"""The database and the data directory: models, migrations, sessions, and the lock that keeps a second instance out."""

from dragoman.store import faults

__all__ = ["faults"]
