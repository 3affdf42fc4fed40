"""Questions with a gap out of parallel text: where the answer stands, and which words are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.lexicon.table.table import Table
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.evaluation.cloze_examples import GAP, clozes, files_with
from dragoman_lab.evaluation.qa_examples import QaSources, prepare
from dragoman_lab.reasoning.examples import Example, read_examples

WORDS = {"bee": "Biene", "river": "Fluss", "honey": "Honig", "mountain": "Berg"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Parallel text, a part of it in a file of its own, and a table."""
    (tmp_path / "parallel" / "de-en").mkdir(parents=True)
    english, german = list(WORDS), list(WORDS.values())
    lines = [
        f"Nummer {n}: Das Wort {german[n % 4]} steht neben {german[(n + 1 + n // 4 % 3) % 4]}.\t"
        f"Number {n}: the word {english[n % 4]} stands beside {english[(n + 1 + n // 4 % 3) % 4]}.\n"
        for n in range(40)
    ]
    (tmp_path / "parallel" / "de-en" / "words.tsv").write_text("".join(lines))
    (tmp_path / "parallel" / "de-en" / "old_book.tsv").write_text("Siehe, der Fluss da!\tBehold yonder mighty river!\n")
    (tmp_path / "tables").mkdir()
    entries = "".join(f"{one}\t{other}\t0.9\t0.9\n" for one, other in WORDS.items())
    (tmp_path / "tables" / "en-de.tsv").write_text(entries)
    return tmp_path


def check(one: Example) -> None:
    """The answer is the translation of the word that the question lacks, in the sentence that says the same."""
    [(start, end)] = one.answers
    answer = one.context[start:end]
    number = next(part for part in one.question.split() if part.endswith(":"))
    sentence = next(part for part in one.context.split(". ") if f" {number} " in f" {part} ")
    assert answer in sentence and GAP in one.question
    other = {**WORDS, **{german: english for english, german in WORDS.items()}}[answer]
    assert other not in one.question and {one.question_language, one.context_language} == {"de", "en"}


def test_the_answer_is_the_translation_of_the_word_left_out(data: Path) -> None:
    table = Table.from_entries("en", "de", [(one, other.lower(), 0.9, 0.9) for one, other in WORDS.items()])
    files = files_with(data / "parallel", "de", ["old_"])
    found = list(clozes(files, "de", table, 30, 1))
    assert len(found) == 30
    for one in found:
        check(one)
    assert {one.question_language for one in found} == {"de", "en"}
    assert len({one.context.count(". ") for one in found}) > 2
    assert list(clozes(files, "de", table, 30, 1)) == found
    assert list(clozes(files, "de", table, 30, 2)) != found
    assert not list(clozes(files, "de", Table.from_entries("en", "de", [("sea", "Meer", 0.9, 0.9)]), 30, 1))
    assert "Behold" in str([one.context for one in clozes(files_with(data / "parallel", "de"), "de", table, 99, 1)])


def test_they_are_prepared_beside_the_sets(data: Path) -> None:
    given = {"data": "qa", "sets": {}, "tables": str(data / "tables"), "languages": ["de"], "parallel": "parallel"}
    sources = QaSources.parse_below(given | {"parallel_examples": 5, "parallel_without": ["old"]}, data)
    prepare(sources, data / "examples", data / "tuning", lambda: None)
    found = list(read_examples(data / "examples" / "parallel.de.jsonl.gz"))
    assert len(found) == 5
    for one in found:
        check(one)


def test_text_that_is_missing_is_named(data: Path) -> None:
    with pytest.raises(ConfigError, match="has no text of fr and en"):
        files_with(data / "parallel", "fr")
    with pytest.raises(ConfigError, match="has no text of de and en"):
        files_with(data / "parallel", "de", ["old", "words"])
    given = {"data": "qa", "sets": {}, "tables": "tables", "languages": ["de"], "parallel_examples": 5}
    with pytest.raises(ConfigError, match="parallel is missing"):
        QaSources.parse_below(given, data)
