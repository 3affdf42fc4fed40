"""Made embeddings of many documents, stored as if the encoder had made them, which would take minutes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.engine.indexing.sources import Version
from dragoman.engine.models.encoding import Embedding, PassageText
from dragoman.engine.models.tasks import Embed
from dragoman.indexes.dense.index import Embedded
from dragoman.store.library import Library

_STORED_AT_ONCE = 2_000


def store_made_vectors(library: Library, name: str, texts: Sequence[str], noise: float = 0.5) -> None:
    """Store an embedding of each document of a collection, which is complete then.

    Each is that of one of ``texts``, whose vector has as much ``noise`` added to its length of 1: so cosines with
    queries are spread as those of real sentences. States of subwords are those of the text.
    """
    encoder = library.models.encoder()
    submitted = library.models.worker.submit(Embed(True), [PassageText(text, ()) for text in texts], background=True)
    real: list[Embedding] = [future.result() for future in submitted]
    record = next(record for record in library.source.collections() if record.name == name)
    library.source.begin_embeddings(record.id, encoder.identity)
    random = np.random.default_rng(0)
    changes = library.source.versions(record.id, -1).changes
    for start in range(0, len(changes), _STORED_AT_ONCE):
        versions = changes[start : start + _STORED_AT_ONCE]
        embedded = [_make_embedding(version, real, noise, random) for version in versions]
        library.source.put_embeddings(record.id, encoder.identity, embedded)


def _make_embedding(version: Version, real: Sequence[Embedding], noise: float, random: np.random.Generator) -> Embedded:
    """The embedding of a document, as one passage without sentences of its own."""
    base = real[version.key % len(real)]
    width = len(base.vector)
    vector = base.vector + random.standard_normal(width, dtype=np.float32) * np.float32(noise / width**0.5)
    vector /= np.linalg.norm(vector)
    counts = () if base.codes is None else [len(base.codes)]
    codes = np.zeros((0, width), np.int8)
    return Embedded(version.key, version.generation, [(0, 1)], vector[None], (), codes, counts, base.codes)
