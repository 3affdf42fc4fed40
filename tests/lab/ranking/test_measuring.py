"""Measures against ir-measures, and the weight of the first stage."""

from __future__ import annotations

import math
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.backbone.tokenizer import Subwords
from dragoman.ranking.about import StandaloneAbout
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.passages import tokenize_texts
from dragoman.ranking.scoring import Scorer
from dragoman_lab.ranking.lists import Candidate, CandidateList, ListsWriter, read_lists
from dragoman_lab.ranking.measuring import WEIGHTS, ScoredList, best_weight, mean_average_precision, score_lists
from tests.ranking.samples import TABLE, randomised, split, write_encoder, write_lists

SCORE = st.integers(-20, 20).map(lambda value: value / 4)
SHARE = st.integers(0, 20).map(lambda value: value / 20)


@given(
    st.lists(st.tuples(SHARE, SCORE, SHARE, st.booleans()), min_size=1, max_size=12),
    st.integers(0, 3),
    st.sampled_from([None, 0.0, 1.0, 8.0]),
    st.sampled_from([None, StandaloneAbout(6.0, 0.5, 1.0)]),
)
def test_average_precision_is_that_of_ir_measures(
    candidates: list[tuple[float, float, float, bool]], missed: int, weight: float | None, about: StandaloneAbout | None
) -> None:
    candidates = sorted(candidates, key=lambda one: -one[0])
    first, model, shares, relevant = map(list, zip(*candidates, strict=True))
    found = ScoredList("q", first, model, shares, relevant, sum(relevant) + missed)
    measured = found.average_precision(weight, about)
    if not found.count:
        assert measured == 0
        return
    own = model if about is None else [(m + 6 * share) / 2 for m, share in zip(model, shares, strict=True)]
    logs = [math.log(max(one, 0.001)) for one in first]
    scores = first if weight is None else [one + weight * log for log, one in zip(logs, own, strict=True)]
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    run = {"q": {f"d{place}": float(-rank) for rank, place in enumerate(order)}}
    qrels = {"q": {f"d{place}": 1 for place, yes in enumerate(relevant) if yes} | {f"m{n}": 1 for n in range(missed)}}
    expected = ir_measures.calc_aggregate([ir_measures.AP], qrels, run)[ir_measures.AP]
    assert measured == pytest.approx(expected)


def test_the_best_weight_is_that_of_the_best_mean_over_sets() -> None:
    shares = [0.5, 0.5]
    # Right if the first stage counts much, and only if it counts little.
    ignoring = [ScoredList("a", [0.9, 0.1], [0.0, 11.0], shares, [True, False], 1)]
    trusting = [ScoredList("b", [0.9, 0.8], [0.0, 5.0], shares, [False, True], 1)]
    assert best_weight({"b": trusting}) == 0.0
    weight = best_weight({"a": ignoring})
    assert weight == next(one for one in WEIGHTS if math.log(9) * one >= 11)
    assert mean_average_precision(ignoring, weight) == 1.0
    assert mean_average_precision(trusting, None) == 0.5
    assert mean_average_precision([], None) == 0.0


def test_lists_are_scored_as_documents_are(tmp_path: Path, subwords: Subwords) -> None:
    encoder = write_encoder(tmp_path / "encoder", subwords)
    lists = read_lists(write_lists(tmp_path / "lists", encoder, queries=9))
    scorer = Scorer(randomised(Mart(encoder, MartConfig([0, 1]))))  # type: ignore[arg-type]
    whole = score_lists(scorer, lists, depth=5)
    assert [one.name for one in whole] == [f"q{number}" for number in range(9)]
    some = score_lists(scorer, lists, depth=3, queries=3)
    assert [one.name for one in some] == ["q0", "q4", "q8"]
    for one in some:
        known = next(other for other in whole if other.name == one.name)
        assert one.model == pytest.approx(known.model[:3], abs=1e-4)
        assert one.first_stage == known.first_stage[:3]
        assert one.shares == known.shares[:3]
    assert any(any(one.shares) for one in whole)
    placebo = score_lists(scorer, lists, depth=5, placebo=True)
    assert not any(any(one.shares) for one in placebo)
    assert any(one.model != pytest.approx(other.model, abs=1e-4) for one, other in zip(placebo, whole, strict=True))


def test_a_query_beyond_the_model_is_read_in_part(tmp_path: Path, subwords: Subwords) -> None:
    encoder = write_encoder(tmp_path / "encoder", subwords)
    scorer = Scorer(randomised(Mart(encoder, MartConfig([0, 1]))))  # type: ignore[arg-type]
    found = []
    for name, query in (("long", "bee ship " * encoder.max_length), ("short", "bee ship " * 5)):
        writer = ListsWriter("en", "de", encoder.tokenizer_checksum)
        texts = []
        for text in (query, "die Biene", "ein Schiff"):
            words = split(text, "en")
            texts.append(writer.text(tokenize_texts(encoder, [text], [words.spans])[0], words.terms))
        writer.list(CandidateList("q", texts[0], [Candidate(one, 0.5, True) for one in texts[1:]], 2))
        writer.write(tmp_path / name, TABLE)
        found += score_lists(scorer, read_lists(tmp_path / name), depth=2)
    assert all(np.isfinite(one.model).all() for one in found)
    assert found[0].model != pytest.approx(found[1].model, abs=1e-4)
