"""Which words of a query are written as names."""

import pytest

from dragoman.engine.query.names import name_runs
from dragoman.engine.query.translation import _begins_sentence
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.text.function_words import folded_function_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("history of Osamu Tezuka", ["Osamu Tezuka"]),
        ("Osamu Tezuka", ["Osamu Tezuka"]),
        ("Tesla", ["Tesla"]),
        ("Freedom of press", []),
        ("Tezuka draws", ["Tezuka"]),
        ("Where was Tesla born?", ["Tesla"]),
        ("Did Kim Jong-un meet Osama bin Laden", ["Kim Jong-un", "Osama bin Laden"]),
        ("the press, Paris and Rome", ["Paris", "Rome"]),
        ("in Paris, Rome and bin", ["Paris", "Rome"]),
        ("route 66", []),
    ],
)
def test_names_are_recognised_by_their_capitals(text: str, expected: list[str]) -> None:
    runs = name_runs(
        text,
        analysis("en").tokens(text),
        folded_function_words("en"),
        lambda place: _begins_sentence(text, place),
    )
    assert [text[run[0].start : run[-1].end] for run in runs] == expected


def test_in_a_script_without_capitals_each_word_may_be_a_name() -> None:
    runs = name_runs("手塚治虫の歴史", analysis("ja").tokens("手塚治虫の歴史"), frozenset(), lambda place: not place)
    assert [[token.word for token in run] for run in runs] == [["手塚"], ["治虫"], ["の"], ["歴史"]]
