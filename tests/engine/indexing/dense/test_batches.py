"""An embedding that is made again, in batches with other documents, is the same bit for bit."""

from __future__ import annotations

import pytest
import torch
from sqlalchemy import select

from dragoman.backbone import products
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.models import DocumentEmbedding
from tests.backbone.test_batches import rows_stand_alone
from tests.support.modelling import settled
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

DOCUMENTS = [
    {"id": str(number), "title": f"Titel {number}" if number % 2 else "", "text": text * (1 + number % 4)}
    for number, text in enumerate(
        ["Die Biene fliegt über das Feld. ", "Schiffe liegen im Hafen; es regnet. ", "Der Vulkan speit Asche! "] * 4
    )
]


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_embeddings_do_not_depend_on_what_is_embedded_beside_them(settings: Settings, precision: str) -> None:
    dtype = getattr(torch, precision)
    if not products.runs("cpu", dtype) or not rows_stand_alone(dtype):
        pytest.skip(f"this processor has no {precision}, or rounds by the number of rows")
    with running(settings.replace(embed="always", encoder_precision=precision)) as runtime:
        for name in ("together", "apart"):
            runtime.collections.create(name, "de")
        add(runtime, "together", *DOCUMENTS)
        settled(runtime)
        for document in reversed(DOCUMENTS):
            add(runtime, "apart", document)
            settled(runtime)
        together, apart = (stored(runtime, name) for name in ("together", "apart"))
        assert len(together) == len(DOCUMENTS)
        assert together == apart


def stored(runtime: Runtime, collection: str) -> dict[str, tuple[bytes, bytes, bytes | None]]:
    """The vectors of passages and sentences and the codes of subwords, by the id of the document."""
    keys = {runtime.collections.document(collection, str(number)).key: str(number) for number in range(len(DOCUMENTS))}
    with runtime.store.read() as session:
        rows = session.scalars(select(DocumentEmbedding).where(DocumentEmbedding.document_key.in_(keys))).all()
        return {keys[row.document_key]: (row.vectors, row.sentence_codes, row.state_codes) for row in rows}
