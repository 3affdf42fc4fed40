from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman_lab.reasoning.theories import datasets
from dragoman_lab.reasoning.theories.datasets import Example, negate, negate_half

Reader = Callable[[Path], Iterator[Example]]
Record = dict[str, Any]

PARARULE: Record = {
    "id": "D2-1",
    "lang": "en",
    "context": "Ida is old. All old people are wise.",
    "questions": [
        {"id": "D2-1.1", "text": "Ida is wise.", "answer": True, "qdep": "2"},
        {"id": "D2-1.2", "text": "Ida is not wise.", "answer": False, "qdep": "2"},
    ],
}
PRONTO: Record = {
    "id": "P1",
    "lang": "en",
    "context": "Every blip is blue. Ida is a blip.",
    "question": "Is the following statement true or false? Ida is blue.",
    "options": ["A) True", "B) False"],
    "answer": "A",
    "explanation": ["Ida is a blip.", "Every blip is blue.", "Ida is blue."],
}
DEDUCTION: Record = {
    "id": "L1",
    "lang": "en",
    "context": "The cup is left of the jug.",
    "question": "Which of the following is true?",
    "options": ["A) The cup is the leftmost.", "B) The jug is the leftmost."],
    "answer": "A",
}
LEAP: Record = {
    "id": "T1",
    "lang": "en",
    "statement": "A oak has a leaf.",
    "facts": ["A tree has a leaf.", "A stone does not have a leaf."],
    "implicit_rule": None,
    "answer": True,
}
FOLIO: Record = {
    "language": "en",
    "story_id": 4,
    "example_id": 12,
    "conclusion": "Ida swims. ",
    "premises": ["All ducks swim. ", "Ida is a duck."],
    "label": "True",
}
STRATEGY: Record = {
    "id": "S1",
    "language": "en",
    "question": "Could a duck cross a pond?",
    "answer": True,
    "facts": ["Ducks swim.", "Ponds are small."],
}


def written(folder: Path, *records: object) -> Path:
    path = folder / "set.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("reader", "record", "examples"),
    [
        (
            datasets.pararule_plus,
            PARARULE,
            [
                Example("D2-1.1", PARARULE["context"], "Ida is wise.", True, 2),
                Example("D2-1.2", PARARULE["context"], "Ida is not wise.", False, 2),
            ],
        ),
        (datasets.pronto_qa, PRONTO, [Example("P1", PRONTO["context"], "Ida is blue.", True, 1)]),
        (
            datasets.logical_deduction,
            DEDUCTION,
            [
                Example("L1.A", DEDUCTION["context"], "The cup is the leftmost.", True),
                Example("L1.B", DEDUCTION["context"], "The jug is the leftmost.", False),
            ],
        ),
        (
            datasets.leap_of_thought,
            LEAP,
            [Example("T1", "A tree has a leaf. A stone does not have a leaf.", "A oak has a leaf.", True)],
        ),
        (datasets.folio, FOLIO, [Example("4.12", "All ducks swim. Ida is a duck.", "Ida swims.", True)]),
        (
            datasets.strategy_qa,
            STRATEGY,
            [Example("S1", "Ducks swim. Ponds are small.", "Could a duck cross a pond?", True)],
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_record_s_statements_are_read(
    tmp_path: Path, reader: Reader, record: Record, examples: list[Example]
) -> None:
    assert list(reader(written(tmp_path, record))) == examples


@pytest.mark.parametrize(("label", "read"), [("True", True), ("False", False), ("Unknown", None), ("Uncertain", None)])
def test_a_conclusion_of_folio_may_be_open(tmp_path: Path, label: str, read: bool | None) -> None:
    (example,) = datasets.folio(written(tmp_path, FOLIO | {"label": label}))
    assert example.label is read


def test_a_record_without_an_id_is_called_by_its_line(tmp_path: Path) -> None:
    bare = {key: value for key, value in FOLIO.items() if not key.endswith("_id")}
    assert [example.id for example in datasets.folio(written(tmp_path, bare, bare))] == ["1", "2"]


def test_the_rule_of_leap_of_thought_is_given_or_not(tmp_path: Path) -> None:
    path = written(tmp_path, LEAP, LEAP | {"id": "T2", "implicit_rule": {"subject": "oak", "object": "tree"}})
    assert [example.id for example in datasets.leap_of_thought(path)] == ["T1", "T2"]
    assert [example.id for example in datasets.leap_of_thought(path, implicit=True)] == ["T1"]
    assert [example.id for example in datasets.leap_of_thought(path, implicit=False)] == ["T2"]


@pytest.mark.parametrize(
    ("statement", "negation"),
    [
        ("A oak has a leaf.", "A oak does not have a leaf."),
        ("A oak is part of wood.", "A oak is not part of wood."),
        ("A sea lion desires fish.", "A sea lion does not desire fish."),
    ],
)
def test_statements_of_leap_of_thought_are_negated(statement: str, negation: str) -> None:
    assert negate(statement) == negation


def test_another_statement_cannot_be_negated() -> None:
    with pytest.raises(ValueError, match="not a statement of LeapOfThought: Ducks swim"):
        negate("Ducks swim.")


def test_about_half_is_negated_by_the_seed_with_the_other_label() -> None:
    examples = [Example(str(number), "", "A oak has a leaf.", number % 2 == 0) for number in range(200)]
    made = list(negate_half(examples, 1))
    changed = [before for before, after in zip(examples, made, strict=True) if before != after]
    assert 80 < len(changed) < 120
    for before, after in zip(examples, made, strict=True):
        assert after.statement == ("A oak does not have a leaf." if before in changed else before.statement)
        assert after.label == (before.label != (before in changed))
    assert made == list(negate_half(reversed(examples), 1))[::-1]
    assert made != list(negate_half(examples, 2))


def test_gzip_is_unpacked_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl.gz"
    path.write_bytes(gzip.compress(f"\n{json.dumps(STRATEGY)}\n\n".encode()))
    assert [example.id for example in datasets.strategy_qa(path)] == ["S1"]


@pytest.mark.parametrize(
    ("reader", "record", "why"),
    [
        (datasets.strategy_qa, [STRATEGY], "not an object"),
        (datasets.strategy_qa, STRATEGY | {"answer": "yes"}, "true or false is wanted, not 'yes'"),
        (datasets.strategy_qa, STRATEGY | {"facts": "Ducks swim."}, "a list of sentences is wanted"),
        (datasets.strategy_qa, STRATEGY | {"facts": [1]}, "int"),
        (datasets.strategy_qa, STRATEGY | {"question": None}, "text is wanted, not None"),
        (datasets.strategy_qa, {"id": "S2"}, "'answer' is missing"),
        (datasets.folio, FOLIO | {"label": "Maybe"}, "'Maybe' is missing or has an unknown value"),
        (datasets.pronto_qa, PRONTO | {"question": "What is Ida?"}, "does not ask what is true or false"),
        (datasets.pronto_qa, PRONTO | {"answer": "C"}, "'C'"),
        (datasets.logical_deduction, DEDUCTION | {"answer": "C"}, "none of the options"),
        (datasets.pararule_plus, PARARULE | {"questions": [{"answer": True, "qdep": "deep"}]}, "deep"),
        (datasets.leap_of_thought, {"id": "T2"}, "'implicit_rule'|'answer'"),
    ],
)
def test_a_bad_line_is_named_with_its_file(tmp_path: Path, reader: Reader, record: object, why: str) -> None:
    good = {
        datasets.strategy_qa: STRATEGY,
        datasets.folio: FOLIO,
        datasets.pronto_qa: PRONTO,
        datasets.logical_deduction: DEDUCTION,
        datasets.pararule_plus: PARARULE,
        datasets.leap_of_thought: LEAP,
    }[reader]
    path = written(tmp_path, good, record)
    with pytest.raises(ValueError, match=why) as error:
        list(reader(path))
    assert str(error.value).startswith(f"{path}, line 2: ")


@pytest.mark.parametrize(
    ("facts", "support"),
    [
        ([" A stone does not have a leaf.", "A tree has a leaf. "], ((30, 48),)),
        (["A stone has a leaf.", "A tree does not have a leaf."], ()),
        (["A stone has a leaf.", "A oak is a tree."], None),
    ],
)
def test_a_fact_of_leap_of_thought_supports_what_it_says_of_the_class(
    tmp_path: Path, facts: list[str], support: tuple[tuple[int, int], ...] | None
) -> None:
    triples = {"statement_triple": {"subject": "oak"}, "property": {"subject": "tree"}}
    (found,) = datasets.leap_of_thought(written(tmp_path, LEAP | triples | {"facts": facts}))
    assert found.support == support
    if support:
        assert found.context[slice(*support[0])] == "A tree has a leaf."


def test_text_that_is_no_json_or_no_gzip_is_named_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(b"{}x\n")
    with pytest.raises(ValueError, match=r"set\.jsonl, line 1: "):
        list(datasets.folio(path))
    path.write_bytes(b'"\xff"\n')
    with pytest.raises(ValueError, match=r"set\.jsonl, line 1: "):
        list(datasets.folio(path))
    path.write_bytes(gzip.compress(json.dumps(FOLIO).encode())[:-9])
    with pytest.raises(ValueError, match=r"set\.jsonl, after line "):
        list(datasets.folio(path))


def test_a_line_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "LONGEST", 50)
    with pytest.raises(ValueError, match="line 1: longer than 50 bytes"):
        list(datasets.strategy_qa(written(tmp_path, STRATEGY)))
