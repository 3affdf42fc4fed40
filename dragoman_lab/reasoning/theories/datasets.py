"""Public sets of statements to judge by a context, read from files of JSON, one record a line, plain or gzip.

Labels are True and False; None is that of statements which the context leaves open (FOLIO has some).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.files.streams import StreamFault, file_parts, lines, unpack

LONGEST = 1 << 20
"""Bytes of a line."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """A statement, or a question to answer with yes or no, with the context to judge it by."""

    id: str
    context: str
    statement: str
    label: bool | None
    depth: int | None = None
    language: str = "en"
    support: tuple[tuple[int, int], ...] | None = None
    """The place in the context of the sentence that supports what is said or denied; none if one speaks against it.

    None where this is not known.
    """


def pararule_plus(path: Path) -> Iterator[Example]:
    """PARARULE-Plus: theories like those of RuleTaker, in a closed world."""
    yield from _examples(path, _pararule_plus)


def pronto_qa(path: Path) -> Iterator[Example]:
    """ProntoQA, with a depth: how many rules the given proof applies."""
    yield from _examples(path, _pronto_qa)


def logical_deduction(path: Path) -> Iterator[Example]:
    """LogicalDeduction of BIG-bench: each option of a question is a statement, and one of them is true."""
    yield from _examples(path, _logical_deduction)


def leap_of_thought(path: Path, *, implicit: bool | None = None) -> Iterator[Example]:
    """LeapOfThought, with the facts as context; all statements are as published, that is, not negated.

    Args:
        implicit: whether the rule "A wine is an alcohol" is left out of the context, to be known by oneself; None takes
            all, True those where it is left out, False the others.
    """
    yield from _examples(path, lambda record: _leap_of_thought(record, implicit))


def folio(path: Path) -> Iterator[Example]:
    """FOLIO: premises and a conclusion, which may be neither true nor false."""
    yield from _examples(path, _folio)


def strategy_qa(path: Path) -> Iterator[Example]:
    """StrategyQA, with its facts as context."""
    yield from _examples(path, _strategy_qa)


def negate_half(examples: Iterable[Example], seed: int) -> Iterator[Example]:
    """Examples of LeapOfThought of which about a half, by the seed, are negated and have the other label.

    Raises:
        ValueError: a statement in a form that LeapOfThought does not have.
    """
    for example in examples:
        if random.Random(f"negation {seed} {example.id}").random() < 0.5:
            yield example
        else:
            label = None if example.label is None else not example.label
            yield replace(example, statement=negate(example.statement), label=label)


def negate(statement: str) -> str:
    """The negation of a statement of LeapOfThought, in words as its facts have them: "A wine does not have a xylem."

    Raises:
        ValueError: a statement of another form.
    """
    begun = statement.split(" ")
    for at, word in enumerate(begun[2:], 2):
        if word in _NEGATIONS:
            return " ".join([*begun[:at], _NEGATIONS[word], *begun[at + 1 :]])
    raise ValueError(f"not a statement of LeapOfThought: {statement}")


_NEGATIONS = {"is": "is not", "has": "does not have", "desires": "does not desire"}


def _examples(path: Path, examples_of: Callable[[Record], Iterable[Example]]) -> Iterator[Example]:
    """What a reader makes of each record.

    Raises:
        ValueError: a line that is too long, not JSON or not of the set's form; the message names file and line.
    """
    line_number = 0
    try:
        for line_number, content in lines(unpack(file_parts(path)), LONGEST):
            if content is None:
                raise ValueError(f"longer than {LONGEST} bytes")
            record = json.loads(content)
            if not isinstance(record, dict):
                raise ValueError("not an object")
            for example in list(examples_of(record)):
                yield _validate(example if example.id else replace(example, id=str(line_number)))
    except StreamFault as error:
        raise ValueError(f"{path}, after line {line_number}: {error}") from error
    except KeyError as error:
        raise ValueError(f"{path}, line {line_number}: {error} is missing or has an unknown value") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}, line {line_number}: {error}") from error


def _validate(example: Example) -> Example:
    for text in (example.id, example.context, example.statement, example.language):
        if not isinstance(text, str):
            raise ValueError(f"text is wanted, not {text!r}")
    return example


def _pararule_plus(record: Record) -> Iterator[Example]:
    for question in record["questions"]:
        label, depth = _truth(question["answer"]), int(question["qdep"])
        yield Example(question["id"], record["context"], question["text"], label, depth, record["lang"])


def _pronto_qa(record: Record) -> Iterator[Example]:
    _, asked, statement = record["question"].partition("true or false?")
    if not asked:
        raise ValueError("the question does not ask what is true or false")
    # The explanation names the first fact, then a rule and what follows in turn.
    depth = len(record["explanation"]) // 2
    label = {"A": True, "B": False}[record["answer"]]
    yield Example(record["id"], record["context"], statement.strip(), label, depth, record["lang"])


def _logical_deduction(record: Record) -> Iterator[Example]:
    options = [option.partition(") ") for option in record["options"]]
    if record["answer"] not in [letter for letter, _, _ in options]:
        raise ValueError("the answer is none of the options")
    for letter, _, statement in options:
        label = letter == record["answer"]
        yield Example(f"{record['id']}.{letter}", record["context"], statement, label, language=record["lang"])


def _leap_of_thought(record: Record, implicit: bool | None) -> Iterator[Example]:
    if implicit is None or implicit == (record["implicit_rule"] is None):
        label, context = _truth(record["answer"]), _join(record["facts"])
        language, support = record["lang"], _support(record)
        yield Example(record["id"], context, record["statement"], label, language=language, support=support)


def _support(record: Record) -> tuple[tuple[int, int], ...] | None:
    """Where a fact of LeapOfThought says of the class what the statement says of its member, "A tree has a leaf"."""
    if "property" not in record:
        return None
    member, kind = record["statement_triple"]["subject"], record["property"]["subject"]
    same = f"A {kind}" + record["statement"].removeprefix(f"A {member}")
    at = 0
    for fact in map(str.strip, record["facts"]):
        if fact in (same, negate(same)):
            return ((at, at + len(fact)),) if fact == same else ()
        at += len(fact) + 1
    return None


def _folio(record: Record) -> Iterator[Example]:
    label = {"True": True, "False": False, "Uncertain": None, "Unknown": None}[record["label"]]
    # Records of the validation set have no id, and get the number of their line.
    name = f"{record['story_id']}.{record['example_id']}" if "story_id" in record else ""
    yield Example(name, _join(record["premises"]), record["conclusion"].strip(), label, language=record["language"])


def _strategy_qa(record: Record) -> Iterator[Example]:
    label = _truth(record["answer"])
    yield Example(record["id"], _join(record["facts"]), record["question"], label, language=record["language"])


def _join(sentences: object) -> str:
    if not isinstance(sentences, list):
        raise ValueError(f"a list of sentences is wanted, not {sentences!r}")
    return " ".join(sentence.strip() for sentence in sentences)


def _truth(answer: object) -> bool:
    if not isinstance(answer, bool):
        raise ValueError(f"true or false is wanted, not {answer!r}")
    return answer
