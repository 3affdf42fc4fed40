"""The tests of `statement_tables`: the same statements with context and statement in each pair of languages."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.backbone.products import autocast
from dragoman.files.atomic import atomic_file
from dragoman.reasoning.deltas import load_about, load_structured
from dragoman.reasoning.statements import MODEL_TYPE, StatementHead, StatementReader
from dragoman_lab.benchmarks.reasoning.statement_runs import METHODS, Plan, Say, cross_query
from dragoman_lab.evaluation.qa_examples import Switch
from dragoman_lab.evaluation.statement_examples import leap, statements
from dragoman_lab.reasoning.examples import Example
from dragoman_lab.reasoning.pair_queries import PairQueries
from dragoman_lab.reasoning.statements import accuracies, judge
from dragoman_lab.reasoning.theories import generate
from dragoman_lab.reasoning.theories.datasets import leap_of_thought, negate_half

TEST_SEEDS = 2_000_000
"""Theories of tests begin at this seed; those for training and tuning stay below."""
DEPTH = 3
STATEMENTS = 8
"""Of each theory of a test."""
TESTS = {"theories": ["theories"], "leap": ["leap, rule to be known", "leap, rule given"]}
Cell = tuple[str, str]
"""The languages of context and statement."""
ExampleMaker = Callable[[Cell], list[Example]]
Cells = dict[str, Mapping[str, float]]


def cells_of(languages: Sequence[str]) -> Iterator[Cell]:
    """English alone, then for each other language X: X alone, en-X and X-en."""
    yield "en", "en"
    for language in languages:
        yield from ((language, language), ("en", language), (language, "en"))


def name_of(cell: Cell) -> str:
    return cell[0] if cell[0] == cell[1] else "-".join(cell)


def theory_test(count: int) -> ExampleMaker:
    """Statements of depths 0 to 3 of `count` theories that no training sees."""

    def build(cell: Cell) -> list[Example]:
        seeds = range(TEST_SEEDS, TEST_SEEDS + count)
        return [example for seed in seeds for example in statements(generate(seed, DEPTH), seed, *cell, STATEMENTS)]

    return build


def leap_test(plan: Plan, implicit: bool, count: int) -> ExampleMaker:
    """The first `count` statements of LeapOfThought's dev of one kind, half of them negated, word by word."""
    path = plan.data_folder / "leapofthought" / "dev.jsonl.gz"
    records = list(negate_half(leap_of_thought(path, implicit=implicit), 1))[:count]
    switch = Switch(plan.tables, plan.languages)

    def build(cell: Cell) -> list[Example]:
        return [leap(record, *cell, switch, random.Random(f"test {record.id}")) for record in records]

    return build


def tests_of(plan: Plan, kind: str, theories: int, leaps: int) -> dict[str, ExampleMaker]:
    """What makes the examples of each test of a kind."""
    if kind == "theories":
        return {"theories": theory_test(theories)}
    return {name: leap_test(plan, implicit, leaps) for name, implicit in zip(TESTS[kind], (True, False), strict=True)}


def load_reader(folder: Path) -> tuple[StatementReader, bool]:
    """A trained reader, and whether it reads rows in two languages with Q_cross."""
    about = load_about(folder, MODEL_TYPE)
    head = StatementHead(int(about["width"]))
    model = StatementReader(load_structured(folder, about, head, "cpu"))
    model.head = head
    return model.eval(), bool(about["structured"])


def pairs_of(plan: Plan, method: str, model: StatementReader, say: Say) -> Callable[[str], None]:
    """What changes Q_cross to that of English and a language; for methods without one of each pair, nothing."""
    if METHODS[method].cross != "pair":
        return lambda language: None
    folders = {language: cross_query(plan, language, say) for language in plan.languages}
    pairs = PairQueries(model.encoder, folders[plan.languages[0]])
    return lambda language: pairs.take(folders[language])


def measure_cells(
    plan: Plan, method: str, folder: Path, tests: Mapping[str, ExampleMaker], options: Any, say: Say
) -> dict[str, Cells]:
    """Accuracies by test and cell of a trained reader; they are kept beside it.

    Raises:
        SystemExit: if they were measured with other options.
    """
    path = folder.parent / "tested.json"
    saved: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"options": options, "cells": {}}
    if saved["options"] != options:
        raise SystemExit(f"{path}: was measured with {saved['options']}, not {options}: remove the file")
    cells: dict[str, Cells] = {test: saved["cells"].get(test, {}) for test in tests}
    missing = [(test, cell) for test in tests for cell in cells_of(plan.languages) if name_of(cell) not in cells[test]]
    if not missing:
        return cells
    model, structured = load_reader(folder)
    take = pairs_of(plan, method, model, say)
    for test, cell in missing:
        take(next((language for language in cell if language != "en"), plan.languages[0]))
        cells[test][name_of(cell)] = measure_accuracies(model, tests[test](cell), structured)
        say(f"{folder.parent.name}: {test}, {name_of(cell)}: {cells[test][name_of(cell)]['accuracy']:.1f}")
        with atomic_file(path) as unfinished:
            unfinished.write_text(json.dumps({"options": options, "cells": saved["cells"] | cells}, indent=1))
    return cells


def measure_accuracies(model: StatementReader, examples: Sequence[Example], structured: bool) -> Mapping[str, float]:
    """Accuracies in percent, in the precision that is the fastest here, as in training."""
    with autocast("cpu"):
        return accuracies(judge(model, examples, structured), examples)
