"""Searches whose client leaves: they end where they are, and nothing of them counts as degraded."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.engine.core.errors import ClientDisconnected
from dragoman.engine.search.request import RerankOptions, SearchQuery
from dragoman.engine.settings import Settings
from tests.support.modelling import GERMAN, LinkScorer, UpperTranslator, WordEncoder, standing_in
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

FIELDS: dict[str, dict[str, Any]] = {
    "query": {"method": "hybrid"},
    "passages": {"method": "hybrid"},
    "rerank": {"method": "none", "rerank": RerankOptions()},
    "snippets": {"method": "none", "translate_snippets": True},
}


class PassageEncoder(WordEncoder):
    """Its ``barrier`` holds up passages alone, and ``batches`` has only those."""

    def encode(self, texts: Sequence[str], kind: str = "passage") -> NDArray[np.float32]:
        if kind == "query":
            return np.stack([self.vector(text) for text in texts])
        return super().encode(texts, kind)


@pytest.mark.parametrize("stage", FIELDS)
def test_a_search_ends_when_its_client_leaves_while_a_model_computes(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, stage: str
) -> None:
    encoder = PassageEncoder() if stage == "passages" else WordEncoder()
    scorer, translator = LinkScorer(), UpperTranslator()
    model = {"rerank": scorer, "snippets": translator}.get(stage, encoder)
    chosen = settings.replace(translator="upper")
    request = SearchQuery(query="Vulkan", query_language="en", **FIELDS[stage])
    with standing_in(monkeypatch, encoder, translator, scorer), running(chosen) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        model.barrier.clear()
        try:
            with caplog.at_level(logging.WARNING), pytest.raises(ClientDisconnected):
                runtime.search.search(request, "id", cancelled=lambda: bool(model.batches))
        finally:
            model.barrier.set()
        measured = runtime.metrics.expose().decode()
    assert "dragoman_degraded_total{" not in measured
    assert 'result="degraded"' not in measured
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []
