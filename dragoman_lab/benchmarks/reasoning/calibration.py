"""How true the probabilities of a reader are: of answers on XQuAD, of statements on four sets.

    python -m dragoman_lab.benchmarks.reasoning.calibration --model dragoman/reasoning/weights/answers \
        --data DATA --split test
    python -m dragoman_lab.benchmarks.reasoning.calibration --model dragoman/reasoning/weights/statements \
        --data DATA --split test

Answers: questions over one text and over five, as often with the text that answers as without it. `best answer right`
is the share of best answers that agree with the reference (F1 of at least one half), `answered` that of texts which
have the answer; beside each stands the mean probability, and the expected calibration error over ten bins. Statements:
generated theories, LeapOfThought (facts with the rule), FOLIO and StrategyQA, as many of each.

With `--fit` the calibration is fitted on what is read (`--split tune` alone), and written into the folder of the model.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from dragoman.backbone.checkpoints import CONFIG, read_json
from dragoman.files.atomic import atomic_file
from dragoman.reasoning.inference import SpanScorer, StatementScorer
from dragoman.reasoning.statements import MODEL_TYPE as STATEMENTS
from dragoman_lab.evaluation.qa_examples import tuning_examples
from dragoman_lab.evaluation.statement_examples import TUNING_SEEDS, StatementSources, theories
from dragoman_lab.reasoning.calibration import calibration_of, fit_slope, read_questions
from dragoman_lab.reasoning.examples import Example
from dragoman_lab.reasoning.statements import rows_of
from dragoman_lab.reasoning.theories.datasets import Example as Record
from dragoman_lab.reasoning.theories.datasets import folio, leap_of_thought, negate_half, strategy_qa

LANGUAGES = "ar,de,el,en,es,hi,ru,th,tr,vi,zh"
BINS = 10
TEST_THEORIES = 2_000_000
Labelled = tuple[list[float], list[bool]]
"""Probabilities, and whether what they are of is so."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", choices=("tune", "test"), default="tune")
    parser.add_argument("--examples", type=int, default=220, help="questions, or statements of each set")
    parser.add_argument("--languages", default=LANGUAGES, help="of the questions")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args(arguments)
    if given.fit and given.split != "tune":
        parser.error("--fit: a calibration is fitted on --split tune")
    torch.set_num_threads(given.threads)
    of_statements = read_json(given.model / CONFIG)["model_type"] == STATEMENTS
    found = judged(given) if of_statements else answered(given)
    table = Table("", "number", "so, %", "mean probability, %", "calibration error, %", title=given.split)
    for name, (values, labels) in found.items():
        shares = (np.mean(labels), np.mean(values), calibration_error(values, labels))
        table.add_row(name, str(len(values)), *(f"{100 * float(one):.1f}" for one in shares))
    Console().print(table)


def answered(given: argparse.Namespace) -> dict[str, Labelled]:
    """The probabilities of best answers, and of texts having one."""
    examples = list(tuning_examples(given.data / "xquad_r", given.languages.split(","), given.examples, 1, given.split))
    scorer = SpanScorer(given.model)
    readings = read_questions(scorer, examples)
    calibration = scorer.calibration
    if given.fit:
        calibration = replace(calibration_of(readings), per_rank=calibration.per_rank)  # of `passage_weight`
        write(given.model, asdict(calibration))
    found: dict[str, Labelled] = {}
    for one in readings:
        each, none = calibration.probabilities(one.answers, one.length)
        texts = "one text" if one.texts == 1 else "several texts"
        noted(found, f"{texts}: answered", 1 - none, one.answered)
        if each:
            noted(found, f"{texts}: best answer right", each[0], one.right[0])
    return found


def judged(given: argparse.Namespace) -> dict[str, Labelled]:
    """The probabilities of the labels that are given to statements, and whether they are right."""
    scorer = StatementScorer(given.model)
    logits, labels, kinds = [], [], []
    for kind, examples in statement_sets(given.data, given.split, given.examples).items():
        for example, row in zip(examples, rows_of(scorer.encoder, examples), strict=True):
            logits.append(scorer.judge([row], [example.bilingual])[0].logit)
            labels.append(bool(example.label))
            kinds.append(kind)
    if given.fit:
        write(given.model, {"slope": fit_slope(np.array(logits), np.array(labels))})
        scorer = StatementScorer(given.model)
    found: dict[str, Labelled] = {}
    for kind, logit, label in zip(kinds, logits, labels, strict=True):
        true = scorer.probability(logit)
        noted(found, kind, max(true, 1 - true), (true >= 0.5) == label)
    return found


def statement_sets(data: Path, split: str, count: int) -> dict[str, list[Example]]:
    """So many statements of each set; of theories in all pairs of languages."""
    tune, reasoning = split == "tune", data / "reasoning"
    first = TUNING_SEEDS if tune else TEST_THEORIES
    sources = StatementSources(mixes=["en", "*", "en-*", "*-en", "*-*"], depth=3)
    leaps = leap_of_thought(
        data / "leapofthought" / ("train_part.jsonl.gz" if tune else "dev.jsonl.gz"), implicit=False
    )
    part = "train" if tune else "validation"
    return {
        "theories": list(islice(theories(range(first, first + count), sources), count)),
        "LeapOfThought": list(islice(_examples(negate_half(leaps, 1)), count)),
        "FOLIO": list(islice(_examples(folio(reasoning / f"folio_{part}.jsonl.gz")), count)),
        "StrategyQA": list(
            islice(_examples(strategy_qa(reasoning / f"strategyqa_{'train' if tune else 'dev'}.jsonl.gz")), count)
        ),
    }


def _examples(records: Iterator[Record]) -> Iterator[Example]:
    for one in records:
        if one.label is not None:
            yield Example(one.statement, one.context, one.language, one.language, [], one.label, known=False)


def noted(found: dict[str, Labelled], name: str, value: float, label: bool) -> None:
    values, labels = found.setdefault(name, ([], []))
    values.append(value)
    labels.append(label)


def calibration_error(values: Sequence[float], labels: Sequence[bool]) -> float:
    """The mean difference of probability and share over ten bins of probabilities, by how many each holds."""
    probabilities, shares = np.array(values), np.array(labels, float)
    places = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    gaps = [abs(float((probabilities - shares)[places == one].sum())) for one in range(BINS)]
    return sum(gaps) / len(probabilities)


def write(folder: Path, calibration: dict[str, Any]) -> None:
    """Write a calibration into the configuration of a reader, whole or not at all."""
    about = read_json(folder / CONFIG)
    with atomic_file(folder / CONFIG) as unfinished:
        unfinished.write_text(json.dumps(about | {"calibration": calibration}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
