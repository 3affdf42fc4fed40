"""LAReQA's measures."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_lab.benchmarks.search import lareqa
from dragoman_lab.benchmarks.search.lareqa import Questions, evenly, mean_average_precision, one_target, top_hits
from tests.lab.benchmarks.search.conftest import Run
from tests.lab.benchmarks.search.samples import write_table, write_xquad

LANGUAGES = ("ar", "de", "en")
DOCUMENTS = {f"{language}-{number}": language for language in LANGUAGES for number in range(4)}
RANKINGS = st.lists(st.sampled_from(sorted(DOCUMENTS)), unique=True)
RELEVANT = st.sets(st.sampled_from(sorted(DOCUMENTS)), min_size=1)


def average_precision(ranking: list[str], relevant: set[str]) -> float:
    hits = [place for place, key in enumerate(ranking, 1) if key in relevant]
    return sum(number / place for number, place in enumerate(hits, 1)) / len(relevant)


@given(st.lists(st.tuples(RANKINGS, RELEVANT), min_size=1, max_size=4))
def test_measures_are_those_of_a_slow_reference(answers: list[tuple[list[str], set[str]]]) -> None:
    run = {
        f"q{number}": {key: 1.0 / place for place, key in enumerate(ranking, 1)}
        for number, (ranking, _) in enumerate(answers)
        if ranking
    }
    qrels = {f"q{number}": dict.fromkeys(relevant, 1) for number, (_, relevant) in enumerate(answers)}
    expected = [average_precision(ranking, relevant) for ranking, relevant in answers]
    assert mean_average_precision(run, qrels) == pytest.approx(statistics.mean(expected))
    for language in LANGUAGES:
        alone = []
        for ranking, relevant in answers:
            kept = {key for key in relevant if DOCUMENTS[key] == language}
            if kept:
                alone.append(average_precision([key for key in ranking if key in kept or key not in relevant], kept))
        if alone:
            found = one_target(run, qrels, DOCUMENTS, language)
            assert found == pytest.approx(statistics.mean(alone))
    shares = top_hits(run, qrels, DOCUMENTS)
    best = [DOCUMENTS[key] for ranking, relevant in answers for key in ranking[: len(relevant)]]
    assert shares == {one: pytest.approx(best.count(one) / max(1, len(best))) for one in LANGUAGES}


@given(st.integers(1, 30), st.integers(1, 40))
def test_the_same_questions_are_chosen_in_every_language(count: int, wanted: int) -> None:
    def questions(language: str) -> Questions:
        keys = [f"{language}-{number}" for number in range(count)]
        return Questions(language, dict.fromkeys(keys, "?"), {key: {"d": 1} for key in keys})

    chosen = [[key[3:] for key in evenly(questions(language), wanted).texts] for language in ("de", "en")]
    assert chosen[0] == chosen[1]
    assert len(set(chosen[0])) == min(count, wanted)


@pytest.mark.slow
def test_one_pool_of_all_languages(run: Run, tmp_path: Path) -> None:
    write_xquad(tmp_path)
    write_table(tmp_path / "work")
    report = run(
        lareqa, "--work", tmp_path / "work", "--languages", "en,de", "--systems", "default,psq", "--split", "test"
    )
    assert report["split"] == "test"
    for rows in report["systems"].values():
        for row in rows.values():
            assert (row["questions"], row["map"]) == (1, 1.0)
            assert row["one_target"] == {"en": 1.0, "de": 1.0}
            assert row["top_hits"] == {"en": 0.5, "de": 0.5}
    assert "| mean of 2 | 1.000 | 50.0% |" in (tmp_path / "out" / "summary.md").read_text()
