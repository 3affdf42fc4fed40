"""Embeddings outlive the process, and are made anew where they are not those of the encoder and documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, select, update

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.indexing.dense.collection import Coverage, Unembedded
from dragoman.engine.settings import Settings
from dragoman.indexes.dense.state_codec import StateCodec
from dragoman.service.runtime import Runtime
from dragoman.store.models import DocumentEmbedding
from tests.support.modelling import GERMAN, WIDTH, WordEncoder, ask, ids, settled
from tests.support.searching import add, running

pytestmark = pytest.mark.slow


def test_embeddings_outlive_the_process(slow: Settings, encoder: WordEncoder) -> None:
    with running(slow) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        ask(runtime, "bee")
    encoder.batches.clear()
    with running(slow) as runtime:
        assert encoder.batches == []
        assert ids(ask(runtime, "bee"))[0] == "b"
        assert encoder.texts == ["bee"]
        add(runtime, "de", {"id": "neu", "text": "noch eine Biene"})
    with running(slow) as runtime:
        settled(runtime)
        encoder.batches.clear()
        assert set(ids(ask(runtime, "bee"))[:2]) == {"b", "neu"}
        assert encoder.texts == ["bee"]


DAMAGE: dict[str, Any] = {
    "missing": delete(DocumentEmbedding),
    "truncated": update(DocumentEmbedding).values(vectors=b"\0" * 7),
    "emptied": update(DocumentEmbedding).values(vectors=b"", sentences=b"\0"),
    "no numbers": update(DocumentEmbedding).values(vectors=b"\xff" * 4 * WIDTH),
    "misplaced": update(DocumentEmbedding).values(sentences=b"\1\0\0\0" * 3, sentence_codes=b"\1" * WIDTH),
    "another vector": update(DocumentEmbedding).values(vectors=np.eye(1, WIDTH, 3, dtype="<f4").tobytes()),
    "another code": update(DocumentEmbedding).values(sentence_codes=b"\1" * WIDTH),
    "outdated": update(DocumentEmbedding).values(generation=DocumentEmbedding.generation - 1),
    "encoder": None,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_embedding_is_made_anew(slow: Settings, encoder: WordEncoder, damage: str) -> None:
    with running(slow) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        ask(runtime, "bee")
        if DAMAGE[damage] is None:
            encoder.name = "another"
        else:
            chosen = DocumentEmbedding.document_key == runtime.collections.document("de", "b").key
            with runtime.store.write() as session:
                session.execute(DAMAGE[damage].where(chosen))
    encoder.batches.clear()
    with running(slow) as runtime:
        answer = ask(runtime, "bee", collections=["de"])
        assert ids(answer) == ["b", *ids(answer)[1:]]
        assert len(answer.hits) == 3
        assert "Eine Biene fliegt." in encoder.texts
        assert ("Schiffe im Hafen." in encoder.texts) == (damage == "encoder")
        assert len(stored(runtime)) == 3


def stored(runtime: Runtime) -> dict[int, bytes]:
    """The stored vectors of all collections, by document."""
    with runtime.store.read() as session:
        rows = session.execute(select(DocumentEmbedding.document_key, DocumentEmbedding.vectors))
        return {row.document_key: row.vectors for row in rows}


def test_the_embeddings_of_deleted_collections_and_documents_go(slow: Settings, encoder: WordEncoder) -> None:
    with running(slow) as runtime:
        for name in ("a", "b"):
            runtime.collections.create(name, "de")
            add(runtime, name, *GERMAN)
        ask(runtime, "bee")
        runtime.collections.delete("a")
        assert len(stored(runtime)) == 3
        assert set(ids(ask(runtime, "bee"))) == {"v", "h", "b"}
        runtime.collections.delete_document("b", "v")
        runtime.collections.index_of("b").commit()
        assert len(stored(runtime)) == 2
        runtime.collections.delete("b")
        assert stored(runtime) == {}


def test_all_that_another_encoder_made_is_made_anew_once_it_is_loaded(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings) as runtime:
        for name in ("a", "b"):
            runtime.collections.create(name, "de")
            add(runtime, name, {"id": name, "text": f"Biene {name}"})
            ask(runtime, "bee", collections=[name])
    encoder.name = "another"
    encoder.batches.clear()
    with running(settings) as runtime:
        assert ids(ask(runtime, "bee", collections=["a"])) == ["a"]
        settled(runtime)
        assert {"Biene a", "Biene b"} <= set(encoder.texts)
        assert len({record.encoder for record in runtime.source.collections()}) == 1


def test_states_that_take_more_than_a_lowered_limit_go_at_the_next_start(
    settings: Settings, encoder: WordEncoder
) -> None:
    encoder.codec = StateCodec(np.zeros((1, 256, WIDTH)), np.zeros(WIDTH), np.eye(WIDTH), layer=1)
    with running(settings) as runtime:
        key = runtime.collections.create("de", "de").key
        add(runtime, "de", *GERMAN)
        ask(runtime, "bee")
        assert runtime.dense.of(key).coverage().states
    with running(settings) as runtime:
        coverage = runtime.dense.coverage(key)  # before it is open
        assert coverage is not None and coverage.states
    with running(settings.replace(late_megabytes=5e-6)) as runtime:
        assert ids(ask(runtime, "bee"))[0] == "b"
        assert not runtime.dense.of(key).coverage().states
        assert not runtime.source.collection(key).states
    with running(settings) as runtime:  # it was decided for the collection
        coverage = runtime.dense.coverage(key)
        assert coverage is not None and not coverage.states
        assert ids(ask(runtime, "bee"))[0] == "b"
        assert not runtime.dense.of(key).coverage().states


def test_what_another_encoder_made_meanwhile_is_not_mixed(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings) as runtime:
        key = runtime.collections.create("de", "de").key
        add(runtime, "de", *GERMAN)
        ask(runtime, "bee")
        runtime.source.begin_embeddings(key, "another float32")
        (document,) = runtime.source.documents([runtime.collections.document("de", "b").key])
        with pytest.raises(Unavailable, match="made by another encoder"):
            runtime.source.put_embeddings(key, "words", [Unembedded.of(document).with_embeddings([], WIDTH)])
        assert stored(runtime) == {}


def test_a_command_with_another_encoder_leaves_the_embeddings_as_they_are(
    settings: Settings, encoder: WordEncoder
) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        ask(runtime, "bee")
    encoder.name = "another"
    runtime = Runtime(settings)
    try:
        runtime.start(serving=False)
        key = runtime.collections.get("de").key
        before = stored(runtime), runtime.source.collection(key)
        runtime.dense.open_present([key])
        assert (stored(runtime), runtime.source.collection(key)) == before
        assert not runtime.dense.of(key).opened
        encoder.name = "words"
        runtime.models.host._loaded.clear()  # type: ignore[attr-defined]
        runtime.dense.open_present([key])
        assert runtime.dense.of(key).opened
    finally:
        runtime.close()


def test_a_document_that_failed_is_tried_again_after_a_restart(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN, {"id": "p", "text": "poison"})
        key = runtime.collections.get("de").key
        ask(runtime, "bee")
        assert runtime.dense.coverage(key) == Coverage(missing=1, failed=1, total=4)
    with running(settings) as runtime:
        settled(runtime)
        assert runtime.dense.coverage(key) == Coverage(
            missing=1, failed=1, total=4
        )  # and the stored ones are not complete
