"""Statements to learn from: labels and deciding sentences by the reasoner, languages by the mixes, seeds apart."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.backbone.small import SMALL
from dragoman_lab.backbone.text_files import text_files
from dragoman_lab.backbone.vocabulary import train_subwords
from dragoman_lab.evaluation.statement_examples import (
    TUNING_SEEDS,
    StatementSources,
    draw_languages,
    leaps,
    prepare_statements,
    statements,
    theories,
)
from dragoman_lab.reasoning.cross_query import CrossQueryTraining, train_cross_query
from dragoman_lab.reasoning.examples import Example, read_examples
from dragoman_lab.reasoning.theories import (
    LANGUAGES,
    conclude,
    generate,
    order_sentences,
    render_part,
    render_statement,
)
from tests.backbone.samples import write_text
from tests.ranking.samples import write_encoder
from tests.support.serving import dragoman

pytestmark = pytest.mark.slow

WORDS = {"de": {"bee": "biene", "tree": "baum", "leaf": "blatt"}, "fr": {"bee": "abeille", "tree": "arbre"}}


def parsed(**changes: Any) -> StatementSources:
    return StatementSources.parse_below(changes, None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """LeapOfThought of our own, and small tables."""
    rows = [
        {"id": f"t{number}", "lang": "en", "statement": f"A bee {verb} thing {number}.",
         "facts": [f"A tree {verb} thing {number}.", f"A tree has a leaf {number}.", " A bee is small. "],
         "implicit_rule": None, "answer": number % 3 > 0,
         "statement_triple": {"subject": "bee"}, "property": {"subject": "tree"}}
        for number, verb in enumerate(["is a", "has a", "desires a"] * 40)
    ]  # fmt: skip
    (tmp_path / "leaps.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    (tmp_path / "tables").mkdir()
    for language, words in WORDS.items():
        lines = "".join(f"{english}\t{word}\t0.9\t0.9\n" for english, word in words.items())
        (tmp_path / "tables" / f"en-{language}.tsv").write_text(lines, encoding="utf-8")
    return tmp_path


def leap_sources(data: Path, **changes: Any) -> StatementSources:
    given = {"leap_of_thought": ["leaps.jsonl.gz"], "tables": str(data / "tables")}
    return StatementSources.parse_below(given | changes, data)


@pytest.mark.parametrize("language", ["en", "fr", "zh"])
def test_labels_are_the_reasoners_and_the_spans_what_the_last_step_of_a_proof_says(language: str) -> None:
    kinds = Counter[tuple[bool, bool]]()
    for seed in range(25):
        puzzle = generate(seed, seed % 4)
        model, parts = conclude(puzzle.theory), order_sentences(puzzle.theory, seed)
        sentences = [render_part(part, language) for part in parts]
        made = list(statements(puzzle, seed, language, "de", most=100))
        assert len(made) == len(puzzle.questions)
        for question, example in zip(puzzle.questions, made, strict=True):
            fact = question.statement.fact
            assert example.context == " ".join(sentences)
            assert example.question == render_statement(question.statement, "de")
            assert example.label is model.holds(question.statement)
            kinds[example.label, question.statement.positive] += 1
            depths = model.depths if fact in model.steps else model.failures
            assert example.depth == depths[fact] and example.known
            assert (example.question_language, example.context_language) == ("de", language)
            if fact not in model.steps:
                assert example.answers == []
                continue
            step = model.steps[fact]
            part = step.rule or step.conclusion
            [(start, end)] = example.answers
            assert example.context[start:end] == render_part(
                step.conclusion if step.rule is None else step.rule, language
            )
            # the place is that of the sentence and not of another that says the same
            assert start == sum(len(one) + 1 for one in sentences[: parts.index(part)])
    assert len(kinds) == 4 and max(kinds.values()) < 1.3 * min(kinds.values())


def test_mixes_give_the_languages_they_name() -> None:
    noise = random.Random(1)
    for mix, expected in (("fr", ("fr", "fr")), ("en-fr", ("en", "fr")), ("fr-en", ("fr", "en"))):
        assert all(draw_languages(mix, noise) == expected for _ in range(5))
    alone = {draw_languages("*", noise) for _ in range(400)}
    assert alone == {(one, one) for one in LANGUAGES}
    assert {draw_languages("*-en", noise) for _ in range(400)} == {(one, "en") for one in LANGUAGES if one != "en"}
    assert {draw_languages("en-*", noise) for _ in range(400)} == {("en", one) for one in LANGUAGES if one != "en"}
    every = {draw_languages("*-*", noise) for _ in range(4000)}
    assert every == {(one, other) for one in LANGUAGES for other in LANGUAGES if one != other}


def test_one_mix_is_drawn_for_each_theory_and_the_statements_keep_to_it() -> None:
    sources = parsed(depth=3, statements=3, mixes=["en", "en-fr", "*-en"])
    contexts: dict[str, list[Example]] = {}
    for one in theories(range(120), sources):
        contexts.setdefault(one.context, []).append(one)
    pairs = Counter[str]()
    for some in contexts.values():
        assert len(some) <= 3
        [(context, statement)] = {(one.context_language, one.question_language) for one in some}
        pairs["en" if context == statement else "en-fr" if statement == "fr" else "*-en"] += 1
        assert "en" in (context, statement)
    assert sum(pairs.values()) == 120 and min(pairs.values()) > 20


def test_theories_have_all_depths_alike_and_both_labels_in_each_language() -> None:
    sources = parsed(depth=2, statements=100, mixes=["en", "de"])
    found = list(theories(range(60), sources))
    assert {one.depth for one in found} == {0, 1, 2}
    for depth in range(3):
        labels = Counter(one.label for one in found if one.depth == depth)
        assert labels[True] == labels[False]
    assert list(theories(range(5, 9), sources)) == [
        one for seed in range(5, 9) for one in theories([seed], sources)
    ]  # a theory follows from its seed alone


def test_half_of_leap_of_thought_is_negated_with_the_other_label(data: Path) -> None:
    found = list(leaps(leap_sources(data)))
    assert len(found) == 120
    negated = 0
    for number, one in enumerate(found):
        negation = " not " in one.question
        negated += negation
        assert one.label is ((number % 3 > 0) != negation)
        assert one.context == f"{_fact(number)} A tree has a leaf {number}. A bee is small."
        assert (one.known, one.depth, one.bilingual) == (True, None, False)
        assert [one.context[start:end] for start, end in one.answers] == [_fact(number)]
    assert 40 < negated < 80
    assert found[0].question in ("A bee is a thing 0.", "A bee is not a thing 0.")
    assert found[1].question in ("A bee has a thing 1.", "A bee does not have a thing 1.")


def test_leap_of_thought_is_switched_word_by_word_by_the_tables(data: Path) -> None:
    plain = list(leaps(leap_sources(data)))
    found = list(leaps(leap_sources(data, switched=["en", "en-de", "fr-en", "de"])))
    pairs = Counter((one.context_language, one.question_language) for one in found)
    assert set(pairs) == {("en", "en"), ("en", "de"), ("fr", "en"), ("de", "de")} and min(pairs.values()) > 10
    for number, (before, after) in enumerate(zip(plain, found, strict=True)):
        assert (after.label, after.known) == (before.label, True)
        ((start, end),) = after.answers
        assert after.context[start:end] == _translated(_fact(number), after.context_language)
        assert after.context == _translated(before.context, after.context_language)
        assert after.question == _translated(before.question, after.question_language)


def _fact(number: int) -> str:
    return f"A tree {('is a', 'has a', 'desires a')[number % 3]} thing {number}."


def _translated(text: str, language: str) -> str:
    for english, word in WORDS.get(language, {}).items():
        text = text.replace(english, word)
    return text


def test_the_same_sources_give_the_same_bytes_and_preparing_again_changes_nothing(data: Path, tmp_path: Path) -> None:
    sources = leap_sources(data, theories=12, tuning_theories=4, mixes=["*-*", "*"], switched=["en-de", "en-fr"])
    steps: list[int] = []
    names = ("examples/theories.jsonl.gz", "examples/leap_of_thought.jsonl.gz", "tuning/theories.jsonl.gz")
    for folder in ("one", "two"):
        own = tmp_path / folder
        prepare_statements(sources, own / "examples", own / "tuning", lambda: steps.append(1))
    counts = [len(list(read_examples(tmp_path / "one" / name))) for name in names]
    assert len(steps) == 2 * sum(counts) and counts[1] == 120
    assert sorted(path.name for path in (tmp_path / "one" / "tuning").iterdir()) == [
        "sources.json",
        "theories.jsonl.gz",
    ]
    before = {name: (tmp_path / "one" / name).stat().st_mtime_ns for name in names}
    prepare_statements(sources, tmp_path / "one" / "examples", tmp_path / "one" / "tuning", lambda: steps.append(1))
    assert len(steps) == 2 * sum(counts)
    for name in names:
        assert (tmp_path / "one" / name).stat().st_mtime_ns == before[name]
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_theories_for_tuning_are_never_those_to_learn_from(tmp_path: Path) -> None:
    sources = parsed(seed=7, theories=30, tuning_theories=10, statements=100)
    prepare_statements(sources, tmp_path / "examples", tmp_path / "tuning", lambda: None)
    learned, tuning = (list(read_examples(tmp_path / name / "theories.jsonl.gz")) for name in ("examples", "tuning"))
    assert learned == list(theories(range(7, 37), sources))
    assert tuning == list(theories(range(TUNING_SEEDS, TUNING_SEEDS + 10), sources))
    assert not {one.context for one in learned} & {one.context for one in tuning}
    last = parsed(seed=TUNING_SEEDS - 5, theories=5)
    assert last.seed + last.theories == TUNING_SEEDS
    for seed, count in ((TUNING_SEEDS - 5, 6), (1, TUNING_SEEDS), (TUNING_SEEDS + 1, 0)):
        with pytest.raises(ConfigError, match="seed and theories"):
            parsed(seed=seed, theories=count)


def test_examples_of_other_sources_are_not_taken_for_these(tmp_path: Path) -> None:
    prepare_statements(parsed(theories=2), tmp_path / "examples", tmp_path / "tuning", lambda: None)
    for changes in ({"depth": 1}, {"mixes": ["de"]}, {"seed": 2}, {"theories": 3}):
        with pytest.raises(ConfigError, match="other sources"):
            prepare_statements(parsed(**{"theories": 2, **changes}), tmp_path / "examples", tmp_path / "tuning", print)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"nonsense": 1}, "sources: unknown field nonsense"),
        ({"theories": "many"}, r"sources: theories: .* valid integer, not 'many'"),
        ({"mixes": "en"}, r"sources: mixes: .* valid list, not 'en'"),
        ({"mixes": [1]}, "sources: mixes"),
        ({"mixes": []}, "sources: mixes"),
        ({"mixes": ["tlh"]}, "'tlh' is not a language"),
        ({"mixes": ["en-de-fr"]}, "en-de-fr"),
        ({"switched": ["en-"]}, "'en-' is not a language"),
        ({"depth": 6}, r"depth: .* less than or equal to 5, not 6"),
        ({"depth": -1}, "depth"),
        ({"statements": 0}, "statements"),
        ({"theories": -1}, "theories"),
        ({"tuning_theories": -1}, "tuning_theories"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_is_unknown_or_cannot_be_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parsed(**changes)


def test_files_and_tables_that_are_missing_or_others_are_named(data: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        list(leaps(leap_sources(data, leap_of_thought=["nowhere.jsonl"])))
    with pytest.raises(ConfigError, match=r"en-sw\.tsv is missing"):
        list(leaps(leap_sources(data, switched=["en-sw"])))
    (data / "other.jsonl").write_text('{"id": "a", "statement": "Bees fly."}\n')
    with pytest.raises(ConfigError, match=r"leap_of_thought: .*other\.jsonl, line 1"):
        list(leaps(leap_sources(data, leap_of_thought=["other.jsonl"])))
    record = {"id": "a", "lang": "en", "statement": "Bees fly.", "facts": [], "implicit_rule": None, "answer": True}
    (data / "other.jsonl").write_text("".join(json.dumps({**record, "id": f"a{n}"}) + "\n" for n in range(9)))
    with pytest.raises(ConfigError, match=r"other\.jsonl: not a statement of LeapOfThought: Bees fly"):
        list(islice(leaps(leap_sources(data, leap_of_thought=["other.jsonl"])), 1))


def test_the_command_trains_a_reader_of_statements_and_q_cross(data: Path, tmp_path: Path) -> None:
    text = write_text(tmp_path / "text")
    subwords = train_subwords(text_files([text / "parallel"], [text / "raw"]), 600, characters=50_000)
    write_encoder(tmp_path / "encoder", subwords, max_length=512)
    shared: dict[str, Any] = {"steps": 2, "warm_up": 1, "checkpoint_every": 1, "report_every": 1}
    shared["encoder"] = str(tmp_path / "encoder")
    masked = shared | {"parallel": ["text/parallel"], "tokens": 64, "length": 32}
    head = masked | {"parallel": [str(text / "parallel")], "trains": "head"}
    train_cross_query(CrossQueryTraining.parse(head), tmp_path / "head")
    masked["task"] = "cross_query"
    for name, table in (
        ("cross", masked | {"trains": "cross", "head": str(tmp_path / "head")}),
        ("statements", shared | {
            "task": "statements", "examples": str(tmp_path / "examples"), "tuning": str(tmp_path / "tuning"),
            "cross": str(tmp_path / "cross" / "model"), "length": 480, "first_layer": 0, "tokens": 480, "rank": 0,
            "tuning_examples": 4, "sources": {
                "theories": 6, "tuning_theories": 2, "depth": 1, "mixes": ["en", "en-de"],
                "leap_of_thought": ["leaps.jsonl.gz"], "tables": str(data / "tables"), "switched": ["en-de"],
            },
        }),
    ):  # fmt: skip
        done = command(tmp_path, name, table)
        assert done.returncode == 0, done.stderr
        assert "curves" in done.stderr
    kinds = [json.loads((tmp_path / name / "model" / "config.json").read_text()) for name in ("cross", "statements")]
    assert [kind["model_type"] for kind in kinds] == ["cross_query", "statements"]
    assert len(list(read_examples(tmp_path / "examples" / "leap_of_thought.jsonl.gz"))) == 120


def command(folder: Path, name: str, table: dict[str, Any]) -> Any:
    """Run a training as configured by a table."""
    own = {key: value for key, value in table.items() if not isinstance(value, dict)}
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in own.items())
    for key in table.keys() - own.keys():
        text += f"[{key}]\n" + "".join(f"{inner} = {json.dumps(value)}\n" for inner, value in table[key].items())
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return dragoman(
        "train", "qa", "--config", folder / f"{name}.toml", "--data", folder, "--output", folder / name, "--threads", 1
    )


def test_the_command_says_in_a_line_what_is_wrong(data: Path, tmp_path: Path) -> None:
    text = {"examples": str(tmp_path / "examples"), "tuning": str(tmp_path / "tuning")}
    for number, (table, said) in enumerate(
        [
            ({"task": "riddles"}, "task: 'riddles' is not one of spans, statements, cross_query"),
            ({"task": ["statements"]}, "task: ['statements'] is not one of"),
            ({"task": "statements", **text, "sources": 3}, "sources: "),
            ({"task": "statements", **text, "sources": {"nonsense": 1}}, "sources: unknown field nonsense"),
            ({"task": "cross_query", "parallel": ["x"], "trains": "head", "sources": {}}, "sources: cross_query"),
            ({"task": "statements", "dropped": 0.4, **text}, "dropped"),
            (
                {"task": "statements", **text, "encoder": str(SMALL), "length": 64, "first_layer": 0},
                "holds no examples",
            ),
        ]
    ):
        done = command(tmp_path, f"wrong{number}", table)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr and "Traceback" not in done.stderr
        assert done.stderr.strip().splitlines()[-1].startswith("dragoman: ")
