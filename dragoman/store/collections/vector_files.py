"""Files in which earlier versions kept the embeddings of collections: they are taken over into the database."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from dragoman.engine.core.errors import classify
from dragoman.engine.indexing.sources import CollectionRecord, EmbeddingSource
from dragoman.indexes.dense.index import Embedded

logger = logging.getLogger("dragoman")

_FORMAT = "3"
_DOCUMENTS_AT_ONCE = 500

_Tensors = Mapping[str, NDArray[Any]]


def take_over(directory: Path, source: EmbeddingSource) -> None:
    """Store the embeddings of all files, and remove the files; what is damaged is made anew.

    A file that cannot be read or stored now, for example on a full disk, stays for the next start.
    """
    if not directory.is_dir():
        return
    records = {record.uid: record for record in source.collections()}
    for path in sorted(path for path in directory.iterdir() if path.is_file()):
        record = records.get(path.stem) if path.suffix == ".safetensors" else None
        try:
            if record is not None:
                _store(path, record, source)
            path.unlink()
        except Exception as fault:
            if classify(fault) is None and not isinstance(fault, OSError):
                raise
            logger.warning("embeddings of an earlier version are not taken over into the database now: %s", fault)
    with suppress(OSError):  # what else lies there is not ours
        directory.rmdir()


def _store(path: Path, record: CollectionRecord, source: EmbeddingSource) -> None:
    try:
        encoder, tensors = _read(path, record.uid)
    except (SafetensorError, ValueError, KeyError) as fault:
        if record.encoder is None:
            logger.warning("the embeddings of collection %s are made anew: %s", record.uid, fault)
            source.begin_embeddings(record.id, "")  # marks it as one that has embeddings
        return
    if record.encoder not in (None, encoder):  # it has newer ones
        return
    logger.info("the embeddings of collection %s are taken over into the database", record.uid)
    if record.encoder is None:
        source.begin_embeddings(record.id, encoder)
        if "state_codes" not in tensors:
            source.drop_states(record.id)
    batch: list[Embedded] = []
    for document in _documents(tensors):
        batch.append(document)
        if len(batch) == _DOCUMENTS_AT_ONCE:
            source.put_embeddings(record.id, encoder, batch)
            batch = []
    source.put_embeddings(record.id, encoder, batch)


def _read(path: Path, collection: str) -> tuple[str, _Tensors]:
    """The encoder's identity and the arrays of a file.

    Raises:
        SafetensorError, OSError, ValueError, KeyError: it is damaged, or of another collection or format.
    """
    with safe_open(path, "np") as file:
        metadata = dict(file.metadata() or {})
        if (metadata.get("format"), metadata.get("collection")) != (_FORMAT, collection):
            raise ValueError("its file is of another format or collection")
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if metadata.pop("checksum", "") != _checksum(metadata, tensors):
        raise ValueError("the checksum of its file does not match")
    return metadata["encoder"], tensors


def _checksum(metadata: Mapping[str, str], tensors: _Tensors) -> str:
    digest = hashlib.sha256(json.dumps(dict(metadata), sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(tensor.data)
    return digest.hexdigest()


def _documents(tensors: _Tensors) -> Iterator[Embedded]:
    """The documents of a file: each has ``counts`` passages, and these ``sentence_counts`` and ``state_counts``."""
    passages = _Runs(tensors["counts"])
    sentences = _Runs(tensors["sentence_counts"])
    states = _Runs(tensors["state_counts"]) if "state_codes" in tensors else None
    for row, (key, generation) in enumerate(
        zip(tensors["keys"].tolist(), tensors["generations"].tolist(), strict=True)
    ):
        chosen = passages.rows(row, row + 1)
        of_sentences = sentences.rows(chosen.start, chosen.stop)
        owners = np.repeat(np.arange(len(chosen)), sentences.counts[chosen.start : chosen.stop]).tolist()
        spans = tensors["sentence_spans"][of_sentences.start : of_sentences.stop].tolist()
        of_states = states.rows(chosen.start, chosen.stop) if states is not None else range(0)
        yield Embedded(
            key,
            generation,
            [(start, end) for start, end in tensors["spans"][chosen.start : chosen.stop].tolist()],
            tensors["vectors"][chosen.start : chosen.stop],
            [(owner, start, end) for owner, (start, end) in zip(owners, spans, strict=True)],
            tensors["sentence_codes"][of_sentences.start : of_sentences.stop],
            states.counts[chosen.start : chosen.stop].tolist() if states is not None else (),
            tensors["state_codes"][of_states.start : of_states.stop] if states is not None else None,
        )


class _Runs:
    """Rows of one array that belong to the rows of another, ``counts`` of each, in order."""

    def __init__(self, counts: NDArray[Any]) -> None:
        self.counts = counts
        self._ends = np.concatenate([[0], np.cumsum(counts)]).tolist()

    def rows(self, start: int, stop: int) -> range:
        """Those that belong to the rows from ``start`` to ``stop``."""
        return range(int(self._ends[start]), int(self._ends[stop]))
