"""An embedded local service with a temporary data directory, for commands that need its first stage and tables."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.engine.search.request import Method, SearchQuery
from dragoman.engine.settings import Settings
from dragoman.engine.tables.views import View
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from dragoman_lab.evaluation.serving import TableFile


@dataclass(frozen=True)
class LocalService:
    """What commands need of a service: index documents, search them, and read the tables."""

    runtime: Runtime

    @contextlib.contextmanager
    def collection(self, language: str, documents: Mapping[str, str]) -> Iterator[str]:
        """Index documents by id in a temporary collection, and yield its name."""
        name = f"documents-{language}"
        self.runtime.collections.create(name, language)
        lines = (json.dumps({"id": key, "text": text}).encode() + b"\n" for key, text in documents.items())
        imported = self.runtime.collections.import_documents(name, lines)
        if imported.rejected:
            raise ValueError(f"documents were rejected, the first: {imported.rejected[0]}")
        try:
            yield name
        finally:
            self.runtime.collections.delete(name)

    def embed(self, collection: str) -> None:
        """Make the embeddings of a collection, for `dense` and `hybrid`."""
        key = self.runtime.collections.get(collection).key
        self.runtime.dense.open_present([key])
        self.runtime.dense.embed(key)

    def rank(self, query: str, language: str, collection: str, method: Method, top_k: int) -> list[tuple[str, float]]:
        """The ids and first-stage scores of the best documents, best first."""
        request = SearchQuery(
            query=query, query_language=language, collections=[collection], method=method, top_k=top_k, rerank=False
        )
        return [(line.id, line.score) for line in self.runtime.search.run(request)[0]]

    def view(self, source: str, target: str) -> View | None:
        """The view of the active tables, or None if there is none."""
        return self.runtime.tables.registry.snapshot.views.get((source, target))


def _settings(folder: Path) -> Settings:
    """Default settings: those of the environment and of a file, especially the database, belong to another service.

    Collections get no embeddings in the background: they are short-lived, and most commands rank by words.
    """
    return Settings.from_defaults(data_dir=folder, rerank="never", embed="on_demand")


@contextlib.contextmanager
def local_service(tables: Sequence[TableFile]) -> Iterator[LocalService]:
    """A local service with these tables active; its data directory is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="dragoman-") as folder:
        runtime = Runtime(_settings(Path(folder)))
        try:
            runtime.start()
            for index, table in enumerate(tables):
                upload = Upload(
                    f"table-{index}", table.source, table.target, kind=table.kind, weight=table.weight, activate=True
                )
                with table.path.open("rb") as stream:
                    runtime.tables.upload(upload, iter(lambda: stream.read(1 << 20), b""))
            yield LocalService(runtime)
        finally:
            runtime.close()
