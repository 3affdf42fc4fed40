"""A cross-encoder of Hugging Face as the reranker of a service: its scores; a bad one is refused at the start."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.settings import Settings
from dragoman.service.app import create_app
from tests.backbone.pretrained.hub_samples import write_cross_encoders
from tests.ranking.test_cross_encoder import reference

pytestmark = pytest.mark.slow

DOCUMENTS = ["Nyuki anaruka", "", "nyuki maua mto kitabu " * 12]


def test_it_scores_as_its_config_says_and_is_refused_at_the_start_if_it_cannot(tmp_path: Path) -> None:
    folder = write_cross_encoders(tmp_path)["xlm-roberta"]
    settings = Settings.load(data_dir=tmp_path / "data", reranker=str(folder), embed="on_demand")
    asked = {"query": "bee", "query_language": "en", "document_language": "sw", "documents": DOCUMENTS}
    with TestClient(create_app(settings)) as client:
        raw = client.post("/v1/rerank", json=asked | {"raw_scores": True}).json()
        scored = client.post("/rerank", json=asked).json()
    logits = {one["index"]: one["relevance_score"] for one in raw["results"]}
    expected = dict(enumerate(reference(folder, "bee", DOCUMENTS)))
    assert logits == pytest.approx(expected, abs=1e-4)
    probabilities = {one["index"]: one["relevance_score"] for one in scored["results"]}
    assert probabilities == pytest.approx({i: 1 / (1 + math.exp(-logit)) for i, logit in expected.items()}, abs=1e-4)
    assert (raw["model"], raw["truncated"], raw["meta"]["translation"]) == ("xlm-roberta", [2], {"tables": []})
    (folder / "model.safetensors").unlink()
    with pytest.raises(Unavailable, match="the reranker cannot be loaded"), TestClient(create_app(settings)):
        pass
