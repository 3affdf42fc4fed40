"""Files in which earlier versions kept embeddings are taken over: nothing of them is computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from dragoman.engine.settings import Settings
from dragoman.indexes.dense.index import Embedded
from dragoman.service.runtime import Runtime
from dragoman.store.collections import vector_files
from tests.support.modelling import GERMAN, WIDTH, WordEncoder, ask
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

TWO = "Die Biene fliegt. Asche im Hafen."


def write_file(path: Path, collection: str, encoder: str, documents: list[Embedded]) -> None:
    """A file of format 3."""
    sentence_counts = [
        sum(owner == passage for owner, _, _ in document.sentences)
        for document in documents
        for passage in range(len(document.spans))
    ]
    tensors: dict[str, Any] = {
        "vectors": np.concatenate([document.vectors for document in documents]),
        "spans": np.array([span for document in documents for span in document.spans], np.int64).reshape(-1, 2),
        "keys": np.array([document.key for document in documents], np.int64),
        "generations": np.array([document.generation for document in documents], np.int64),
        "counts": np.array([len(document.spans) for document in documents], np.int64),
        "sentence_counts": np.array(sentence_counts, np.int64),
        "sentence_spans": np.array(
            [span for document in documents for _, *span in document.sentences], np.int64
        ).reshape(-1, 2),
        "sentence_codes": np.concatenate([document.sentence_codes for document in documents]),
    }
    metadata = {
        "format": "3",
        "collection": collection,
        "encoder": encoder,
        "width": str(WIDTH),
        "generation": "-1",
        "states": "0",
    }
    metadata["checksum"] = vector_files._checksum(metadata, tensors)
    path.parent.mkdir(exist_ok=True)
    save_file(tensors, path, metadata)


def put_back(settings: Settings, encoder: str = "e5-small") -> Path:
    """Have a data directory as an earlier version left it, without a database of embeddings."""
    with running(settings) as runtime:
        key = runtime.collections.create("de", "de").key
        add(runtime, "de", *GERMAN, {"id": "two", "text": TWO})
        ask(runtime, "bee")
        index = runtime.dense.of(key)._index
        assert index is not None
        documents = index.get(index.generations)
        (record,) = runtime.source.collections()
        runtime.source.drop_embeddings(key)
        path = settings.store.dense_dir / f"{record.uid}.safetensors"
        write_file(path, record.uid, encoder, documents)
    return path


def test_they_are_read_once_and_removed(settings: Settings, encoder: WordEncoder) -> None:
    path = put_back(settings)
    (path.parent / f"{'0' * 32}.safetensors").write_bytes(b"of a collection that was deleted")
    (path.parent / ".x.safetensors.abc.tmp").write_bytes(b"unfinished")
    encoder.batches.clear()
    for _ in range(2):
        with running(settings) as runtime:
            assert not path.parent.exists()
            assert [hit.id for hit in ask(runtime, "bee").hits][:2] == ["b", "two"]
            (meant,) = ask(runtime, "ash harbour").hits[0].highlights
            assert (meant.start, meant.document_term) == (18, "Asche im Hafen.")
    assert not any("Biene" in text for text in encoder.texts)


def test_what_is_not_ours_and_what_cannot_be_read_now_stays(
    settings: Settings, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put_back(settings)
    (path.parent / "lost+found").mkdir()

    def full(*arguments: Any) -> set[int]:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dragoman.store.collections.stored_embeddings.StoredEmbeddings.put_embeddings", full)
        runtime = Runtime(settings)
        runtime.start(serving=False)
        runtime.close()
    assert path.exists()
    with running(settings) as runtime:
        assert len(ask(runtime, "bee").hits) == 4
        assert [each.name for each in path.parent.iterdir()] == ["lost+found"]
        path.write_bytes(b"left over, and damaged")
    encoder.batches.clear()
    with running(settings) as runtime:
        assert len(ask(runtime, "bee").hits) == 4
    assert not any("Biene" in text for text in encoder.texts)


@pytest.mark.parametrize("kept", [0, 100, 1000, -1])
def test_a_damaged_one_is_made_anew(settings: Settings, encoder: WordEncoder, kept: int) -> None:
    path = put_back(settings)
    path.write_bytes(path.read_bytes()[:kept])
    with running(settings) as runtime:
        runtime.dense.follower.wait([record.id for record in runtime.source.collections()], 60.0)
        assert runtime.dense.coverage(runtime.collections.get("de").key).missing == 0  # type: ignore[union-attr]
        assert [hit.id for hit in ask(runtime, "bee").hits][:2] == ["b", "two"]


def test_a_start_that_was_cut_off_is_taken_up(
    settings: Settings, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put_back(settings)
    monkeypatch.setattr(vector_files, "_DOCUMENTS_AT_ONCE", 2)
    encoder.batches.clear()
    runtime = Runtime(settings)
    put, calls = runtime.source.put_embeddings, []

    def fail_second(*arguments: Any) -> set[int]:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return put(*arguments)

    monkeypatch.setattr(runtime.source, "put_embeddings", fail_second)
    with pytest.raises(KeyboardInterrupt):
        runtime.start()
    runtime.close()
    assert path.exists()
    with running(settings) as runtime:
        assert len(ask(runtime, "bee").hits) == 4
    assert not any("Biene" in text for text in encoder.texts)
