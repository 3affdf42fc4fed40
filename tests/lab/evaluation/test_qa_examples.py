"""Examples of question answering out of data sets, and what code-switching does to answers."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.table.table import Table
from dragoman_lab.backbone.config import ConfigError, read_config
from dragoman_lab.backbone.small import SMALL
from dragoman_lab.cli.train import _QA_TASKS
from dragoman_lab.evaluation.qa_examples import QaSources, Switch, dataset, prepare, switch_words
from dragoman_lab.evaluation.statement_examples import StatementSources
from dragoman_lab.reasoning.cross_query import CrossQueryTraining
from dragoman_lab.reasoning.examples import Example, read_examples
from dragoman_lab.reasoning.spans import SpanTraining
from dragoman_lab.reasoning.statements import StatementTraining
from tests.support.serving import dragoman

pytestmark = pytest.mark.slow

CONFIGS = Path(__file__).parents[3] / "dragoman_lab" / "configs"
TASKS: dict[str, tuple[Any, Any]] = {
    "spans": (SpanTraining, QaSources),
    "statements": (StatementTraining, StatementSources),
    "cross_query": (CrossQueryTraining, None),
}
"""What the configuration of each task is, and its table `[sources]`."""
TABLE = Table.from_entries(
    "en", "de", [("bee", "Biene", 0.9, 0.9), ("river", "Fluss", 0.9, 0.9), ("sees", "sieht", 0.9, 0.9)]
)
WORDS = ["bee", "river", "sees", "Bee,", "the", "(river)", "ash", "volcano."]


def write_set(folder: Path, name: str, rows: list[tuple[str, str, str | None]]) -> None:
    """Questions with their contexts and answers, one context each."""
    folder.mkdir(parents=True, exist_ok=True)
    contexts, questions = [], []
    for number, (question, text, answer) in enumerate(rows):
        answers = [] if answer is None else [{"text": answer, "start": text.index(answer)}]
        contexts.append({"id": f"c{number}", "title": "", "text": text})
        questions.append({"id": f"q{number}", "question": question, "context_id": f"c{number}", "answers": answers})
    for path, lines in ((f"{name}.jsonl.gz", questions), (f"{name}.contexts.jsonl.gz", contexts)):
        (folder / path).write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_set(
        tmp_path / "qa",
        "some.en",
        [(f"what sees bee {n}", f"The bee {n} sees the river {n}.", f"river {n}") for n in range(40)],
    )
    write_set(tmp_path / "qa", "other.fr", [(f"qui {n}", f"La rivière {n} coule.", None) for n in range(5)])
    (tmp_path / "tables").mkdir()
    lines = [("bee", "Biene"), ("river", "Fluss"), ("sees", "sieht")]
    (tmp_path / "tables" / "en-de.tsv").write_text("".join(f"{a}\t{b}\t0.9\t0.9\n" for a, b in lines))
    (tmp_path / "tables" / "en-fr.tsv").write_text("who\tqui\t0.9\t0.9\n")
    for language, who, text in (("en", "who sees", "It sees a bee."), ("de", "wer sieht", "Es sieht eine Biene.")):
        folder = tmp_path / "xquad_r"
        (folder / "queries").mkdir(parents=True, exist_ok=True)
        (folder / "corpus").mkdir(exist_ok=True)
        queries = [
            {"id": f"{language}-q{n}", "qid": f"q{n}", "text": f"{who} {n}", "answer": text[3:7], "answer_start": 3,
             "para": f"{language}-a{article:03}-p00"}
            for n, article in enumerate((0, 11, 12, 40))
        ]  # fmt: skip
        paragraphs = [{"id": query["para"], "text": text} for query in queries]
        for name, rows in ((f"queries/{language}", queries), (f"corpus/paragraph.{language}", paragraphs)):
            (folder / f"{name}.jsonl.gz").write_bytes(
                gzip.compress("".join(json.dumps(r) + "\n" for r in rows).encode())
            )
    return tmp_path


def sources(data: Path, **changes: Any) -> QaSources:
    given: dict[str, Any] = {
        "data": "qa", "sets": {"some.en": 0, "other.fr": 3}, "tables": str(data / "tables"), "languages": ["de"],
        "tuning": "xquad_r", "tuning_languages": ["en", "de"], "tuning_examples": 12,
    }  # fmt: skip
    return QaSources.parse_below(given | changes, data)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), st.floats(0, 1), st.integers(0, 999), st.data())
def test_a_switched_answer_is_the_translation_of_the_answer(
    parts: list[str], share: float, seed: int, choice: st.DataObject
) -> None:
    text = " ".join(parts)
    first = choice.draw(st.integers(0, len(parts) - 1))
    last = choice.draw(st.integers(first, len(parts) - 1))
    start = len(" ".join(parts[:first])) + (first > 0)
    end = len(" ".join(parts[: last + 1]))
    found, [(begin, finish)] = switch_words(text, "en", TABLE, random.Random(seed), share, [(start, end)])
    translations = {"bee": "biene", "river": "fluss", "sees": "sieht"}
    words = found[begin:finish].split(" ")
    assert len(words) == last - first + 1
    for before, after in zip(parts[first : last + 1], words, strict=True):
        plain = before.strip(".,()").lower()
        assert after.lower() in (before.lower(), before.lower().replace(plain, translations.get(plain, plain)))


@pytest.mark.parametrize(
    ("language", "text", "answer", "words", "expected", "found"),
    [
        ("zh", "黑森林在哪里？", "黑森林", {"黑森林": "forest", "哪里": "where"}, "forest 在 where？", "forest"),
        ("zh", "黑森林在德国。", "德国", {"德国": "germany"}, "黑森林在 germany。", "germany"),
        ("th", "เมืองหลวงอยู่ที่ไหน", "เมืองหลวง", {"เมืองหลวง": "capital"}, "capital อยู่ที่ไหน", "capital"),
    ],
)  # fmt: skip
def test_translated_words_of_a_text_without_spaces_stand_apart(
    language: str, text: str, answer: str, words: dict[str, str], expected: str, found: str
) -> None:
    table = Table.from_entries(language, "en", [(word, english, 0.9, 0.9) for word, english in words.items()])
    start = text.index(answer)
    done, [(begin, end)] = switch_words(text, language, table, random.Random(1), 1.0, [(start, start + len(answer))])
    assert done == expected
    assert done[begin:end] == found


def test_prepared_examples_hold_their_answers_in_the_languages_asked_for(data: Path, tmp_path: Path) -> None:
    steps: list[int] = []
    asked = sources(data, question_switched=0.4, context_switched=0.4, unanswerable=0.3)
    prepare(asked, tmp_path / "examples", tmp_path / "tuning", lambda: steps.append(1))
    found = list(read_examples(tmp_path / "examples" / "some.en.jsonl.gz"))
    assert len(found) == 40 and len(steps) == 40 + 3 + 12
    pairs = {(one.question_language, one.context_language) for one in found}
    assert pairs == {("en", "en"), ("de", "en"), ("en", "de"), ("de", "de")}
    for one in found:
        for start, end in one.answers:
            assert one.context[start:end].lower().split()[0] in ("river", "fluss")
    assert any(not one.answers for one in found)
    french = list(read_examples(tmp_path / "examples" / "other.fr.jsonl.gz"))
    assert len(french) == 3 and all(one.context_language in ("fr", "en") and not one.answers for one in french)


def test_contexts_of_other_languages_are_put_into_english_under_the_questions_that_people_asked(tmp_path: Path) -> None:
    (tmp_path / "en-fr.tsv").write_text("river\trivière\t0.9\t0.9\nflows\tcoule\t0.9\t0.9\n")
    text = "La rivière coule."
    given = Example("où coule la rivière", text, "fr", "fr", [(3, 10)])
    noise = random.Random(1)
    found = [Switch(tmp_path, ["fr"]).context(given, noise) for _ in range(20)]
    assert {one.context_language for one in found} == {"en"}
    assert {one.question for one in found} == {given.question} and {one.question_language for one in found} == {"fr"}
    assert "La river flows." in [one.context for one in found]
    for one in found:
        assert [one.context[start:end] for start, end in one.answers] in (["river"], ["rivière"])


def test_preparing_again_changes_nothing_and_the_same_seed_gives_the_same(data: Path, tmp_path: Path) -> None:
    for folder in ("one", "two", "one"):
        prepare(sources(data), tmp_path / folder / "examples", tmp_path / folder / "tuning", lambda: None)
    for name in ("examples/some.en.jsonl.gz", "examples/other.fr.jsonl.gz", "tuning/tuning.jsonl.gz"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_examples_of_other_sources_are_not_taken_for_these(data: Path, tmp_path: Path) -> None:
    prepare(sources(data), tmp_path / "examples", tmp_path / "tuning", lambda: None)
    with pytest.raises(ConfigError, match="other sources"):
        prepare(sources(data, seed=2), tmp_path / "examples", tmp_path / "tuning", lambda: None)


def test_tuning_examples_are_of_articles_for_tuning_alone(data: Path, tmp_path: Path) -> None:
    prepare(sources(data), tmp_path / "examples", tmp_path / "tuning", lambda: None)
    found = list(read_examples(tmp_path / "tuning" / "tuning.jsonl.gz"))
    assert len(found) == 12
    assert {one.question[-1] for one in found} <= {"0", "1"}
    assert {one.bilingual for one in found} == {True, False}
    assert all(
        one.context[start:end] in ("sees", "sieh") or one.context[start:end].strip()
        for one in found
        for start, end in one.answers
    )


def test_what_is_missing_or_unknown_is_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown field nonsense"):
        sources(data, nonsense=1)
    with pytest.raises(ConfigError, match="languages"):
        sources(data, languages=[])
    with pytest.raises(ConfigError, match="unanswerable"):
        sources(data, unanswerable=1.5)
    with pytest.raises(ConfigError, match="sets is missing"):
        QaSources.parse_below({"data": "qa", "tables": "x"}, data)
    with pytest.raises(ConfigError, match=r"missing\.en"):
        dataset(data / "qa", "missing.en")
    with pytest.raises(ConfigError, match=r"en-sw\.tsv is missing"):
        prepare(
            sources(data, languages=["sw"], sets={"some.en": 0}),
            tmp_path / "examples",
            tmp_path / "tuning",
            lambda: None,
        )
    assert not list((tmp_path / "examples").glob("*.jsonl.gz"))


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("qa*.toml")), ids=lambda path: str(path.stem))
def test_each_shipped_configuration_is_one(path: Path, tmp_path: Path) -> None:
    table = read_config(path, tmp_path)
    task, sources = table.pop("task", "spans"), table.pop("sources", None)
    kind, kind_of_sources = TASKS[task]
    kind.parse(table)
    assert sources is None or kind_of_sources is not None
    if kind_of_sources is not None and sources is not None:
        kind_of_sources.parse_below(sources, tmp_path)


def test_the_commands_tasks_are_those_tested_here() -> None:
    assert set(TASKS) == set(_QA_TASKS)


def test_the_command_prepares_and_trains(data: Path, tmp_path: Path) -> None:
    config = tmp_path / "qa.toml"
    config.write_text(
        f'''
encoder = "{SMALL}"
examples = "{tmp_path}/examples"
tuning = "{tmp_path}/tuning"
length = 32
first_layer = 0
tokens = 64
steps = 2
warm_up = 1
checkpoint_every = 1
report_every = 1
rank = 2

[sources]
data = "qa"
sets = {{ "some.en" = 10 }}
tables = "{tmp_path}/tables"
languages = ["de"]
tuning = "xquad_r"
tuning_languages = ["en", "de"]
tuning_examples = 4
''',
        encoding="utf-8",
    )
    done = dragoman("train", "qa", "--config", str(config), "--data", str(data), "--output", str(tmp_path / "output"))
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "output" / "model" / "config.json").read_text())["model_type"] == "spans"
    assert "curves" in done.stderr
