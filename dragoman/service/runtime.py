"""What a running service holds: data directory, database, open indexes and tables; made once, then shared."""

from __future__ import annotations

from dragoman.service.data_dir import DataDirectory
from dragoman.service.metrics import Metrics
from dragoman.service.settings import Settings
from dragoman.service.store import Store


class Runtime:
    """The parts of the service that live as long as it does. All of it may be used from any thread.

    Raises:
        ServiceError: the data directory is taken or cannot be written, or the database cannot be opened.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self._directory = DataDirectory(settings.data_dir)
        try:
            self.store = Store(settings.url)
            self.store.migrate()
        except BaseException:
            self._directory.close()
            raise

    def close(self) -> None:
        self.store.close()
        self._directory.close()
