"""The weights of what joins a MART's score: the best of those tried, and probabilities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.backbone.encoder import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.ranking.about import LateInteractionAbout, MartAbout
from dragoman.ranking.fitting import Fit, Question, Weights, _as_probabilities, fit
from dragoman.ranking.lists import read_lists
from dragoman.ranking.mart import Mart, MartConfig
from tests.ranking.samples import randomised, write_encoder, write_lists


def test_it_is_the_best_of_what_was_tried(tmp_path: Path, subwords: Subwords) -> None:
    write_encoder(tmp_path / "encoder", subwords, layers=3)
    encoder = load_encoder(str(tmp_path / "encoder"))
    tuning = {name: read_lists(write_lists(tmp_path / name, encoder, queries=20, seed=len(name))) for name in "ab"}
    model = randomised(Mart(encoder, MartConfig([0])))
    match = LateInteractionAbout(str(tmp_path / "encoder"), 1, 99.0, 99.0)
    about, found = fit(model, MartAbout("mine", "forward"), tuning, match, queries=15)  # type: ignore[arg-type]
    assert (about.name, about.direction) == ("mine", "forward")
    assert all(len(questions) == 15 for questions in found.sets.values())
    chosen = found.chosen["all"]
    assert about.first_stage_weight == chosen.first_stage
    assert (about.late_interaction.weight if about.late_interaction else 0.0) == chosen.match
    maps = found.maps()
    for weights in (Weights(1.0), Weights(1.0, 25.0, 8.0), Weights(1.0, 0.0, 32.0)):
        assert maps["all"]["mean"] >= np.mean([found.map(name, weights) for name in tuning])
    assert about.not_for == ([] if maps["all"]["mean"] > maps["first stage"]["mean"] else ["en-de"])
    plain, without = fit(model, MartAbout(), tuning, None, queries=15)  # type: ignore[arg-type]
    assert plain.late_interaction is None
    assert "with late interaction" not in without.chosen
    assert without.maps()["with MART"] == without.maps()["all"]


@given(st.floats(0.1, 3.0), st.floats(-3.0, 3.0), st.integers(0, 10**6))
def test_scores_become_probabilities(scale: float, offset: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    logits = random.normal(size=4000)
    relevant = random.random(4000) < 1 / (1 + np.exp(-logits))
    scores = (logits + offset) / scale
    zeros = np.zeros(4000)
    found = Fit({"a": [Question(zeros, scores, zeros, zeros, relevant.tolist(), 1)]}, {})
    fitted_scale, fitted_offset = _as_probabilities(found, scores, scaled=True)
    assert fitted_scale == pytest.approx(scale, rel=0.15)
    assert fitted_offset == pytest.approx(offset, abs=0.4)
    _, moved = _as_probabilities(found, scores * fitted_scale, scaled=False)
    assert moved == pytest.approx(fitted_offset, abs=1e-3)
