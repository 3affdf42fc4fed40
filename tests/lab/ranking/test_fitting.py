"""Score weights of a MART: the best of the candidates, and calibration to probabilities."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.ranking.about import RerankerAbout, standalone
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.scoring import Scorer
from dragoman_lab.ranking.fitting import Weights, balanced_cross_entropy, calibration, fit
from dragoman_lab.ranking.lists import ListsError, read_lists
from dragoman_lab.ranking.measuring import score_lists
from tests.ranking.samples import randomised, write_encoder, write_lists

pytestmark = pytest.mark.slow


def test_fitted_weights_are_the_best_candidates(tmp_path: Path, subwords: Subwords) -> None:
    write_encoder(tmp_path / "encoder", subwords, layers=3)
    encoder = load_encoder(str(tmp_path / "encoder"))
    tuning = {name: read_lists(write_lists(tmp_path / name, encoder, queries=20, seed=len(name))) for name in "ab"}
    model = randomised(Mart(encoder, MartConfig([0])))
    about, found = fit(model, RerankerAbout("mine", "forward"), tuning, queries=15)  # type: ignore[arg-type]
    assert (about.name, about.direction) == ("mine", "forward")
    assert all(len(questions) == 15 for questions in found.sets.values())
    chosen = found.chosen["all"]
    assert about.standalone is not None
    assert about.first_stage_weight == pytest.approx(about.standalone.scale * chosen.first_stage, rel=1e-3)
    assert about.standalone.weight == chosen.share
    assert found.chosen["standalone"] == chosen._replace(first_stage=0.0)
    maps = found.maps()
    for weights in (
        Weights(1.0),
        Weights(1.0, 8.0, 45.0),
        Weights(1.0, 32.0),
        Weights(1.0, 0.0, 80.0),
    ):
        both = (weights, weights._replace(first_stage=0.0))
        means = [np.mean([found.map(name, one) for name in tuning]) for one in both]
        assert maps["all"]["mean"] + maps["standalone"]["mean"] >= sum(means)
    assert about.not_for == ([] if maps["all"]["mean"] > maps["first stage"]["mean"] else ["en-de"])


def test_fitted_scores_are_the_best_probabilities(tmp_path: Path, subwords: Subwords) -> None:
    write_encoder(tmp_path / "encoder", subwords, layers=3)
    encoder = load_encoder(str(tmp_path / "encoder"))
    tuning = {"a": read_lists(write_lists(tmp_path / "a", encoder, queries=40, seed=5))}
    model = randomised(Mart(encoder, MartConfig([0])))
    with patch("dragoman_lab.ranking.fitting.SHARE_WEIGHTS", (3.0,)):
        about, _ = fit(model, RerankerAbout(), tuning, queries=40)  # type: ignore[arg-type]
    assert about.standalone is not None
    scorer = Scorer(model)  # type: ignore[arg-type]
    scored = score_lists(scorer, tuning["a"], depth=30)
    right = torch.tensor([float(yes) for one in scored for yes in one.relevant], dtype=torch.float64)

    def loss(scores: np.ndarray[Any, Any]) -> float:
        return float(balanced_cross_entropy(torch.as_tensor(scores, dtype=torch.float64), right))

    raw = np.concatenate([one.model for one in scored])
    shares = np.concatenate([one.shares for one in scored])
    alone = np.asarray(standalone(raw, shares, about.standalone))
    for moved in (alone + 0.3, alone - 0.3, alone * 1.3, alone / 1.3):
        assert loss(moved) > loss(alone)


def test_an_uninformative_model_is_fitted_too(tmp_path: Path, subwords: Subwords) -> None:
    write_encoder(tmp_path / "encoder", subwords, layers=3)
    encoder = load_encoder(str(tmp_path / "encoder"))
    lists = read_lists(write_lists(tmp_path / "a", encoder, queries=10, seed=5))
    empty = read_lists(write_lists(tmp_path / "b", encoder, queries=0, seed=5))
    for seed in range(8):
        model = randomised(Mart(encoder, MartConfig([0])), seed)
        about, _ = fit(model, RerankerAbout(placebo=True), {"a": lists, "b": empty}, queries=9)  # type: ignore[arg-type]
        assert about.standalone is not None and about.standalone.scale > 0
    with pytest.raises(ListsError, match="no tuning list"):
        fit(model, RerankerAbout(), {"b": empty}, queries=9)  # type: ignore[arg-type]


@given(st.floats(0.1, 3.0), st.floats(-3.0, 3.0), st.floats(-2.0, 1.0), st.integers(0, 10**6))
@settings(deadline=None)
def test_scores_become_probabilities(scale: float, offset: float, rarity: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    logits = random.normal(size=20_000)  # of documents as many of which are relevant as not
    odds = np.exp(logits + rarity)
    relevant = random.random(20_000) < odds / (1 + odds)
    scores = (logits + offset) / scale
    fitted_scale, fitted_offset = calibration(scores, relevant.tolist())
    shift = math.log(relevant.mean() / (1 - relevant.mean())) - rarity  # of balanced odds against those drawn
    assert fitted_scale == pytest.approx(scale, rel=0.15)
    assert fitted_offset == pytest.approx(offset * fitted_scale / scale + shift, abs=0.2)
