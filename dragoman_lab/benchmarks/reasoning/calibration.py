"""How true the probabilities of a reader are: of answers on XQuAD, of statements on four sets.

    python -m dragoman_lab.benchmarks.reasoning.calibration --model dragoman/reasoning/weights/answers \
        --data DATA --split test
    python -m dragoman_lab.benchmarks.reasoning.calibration --model dragoman/reasoning/weights/statements \
        --data DATA --split test

Answers: questions over one text and over five, as often with the text that answers as without it. `best answer right`
is the share of best answers that agree with the reference (F1 of at least one half), `answered` that of texts which
have the answer; beside each stands the mean probability, and the expected calibration error over ten bins. `no answer
is said` is the share whose probability of none is at least one half, of texts with the answer and of those from which
it was removed; `likelier than the best one`, by which an answer is `found`, is that where it exceeds the best answer's.
`said from` has the threshold by which it is said of nine in ten texts without the answer. Statements: generated
theories, LeapOfThought (facts with the rule), FOLIO and StrategyQA.

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
NO_ANSWER = 0.5
"""The probability from which on the page says that there is probably no answer."""
SAID = 0.9
"""The share of texts without the answer of which that shall be said."""
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
    options = parser.parse_args(arguments)
    if options.fit and options.split != "tune":
        parser.error("--fit: a calibration is fitted on --split tune")
    torch.set_num_threads(options.threads)
    of_statements = read_json(options.model / CONFIG)["model_type"] == STATEMENTS
    labelled = measure_statements(options) if of_statements else measure_answers(options)
    table = Table("", "number", "so, %", "mean probability, %", "calibration error, %", title=options.split)
    for name, (values, labels) in labelled.items():
        shares = (np.mean(labels), np.mean(values), calibration_error(values, labels))
        table.add_row(name, str(len(values)), *(f"{100 * float(share):.1f}" for share in shares))
    Console().print(table)


def measure_answers(options: argparse.Namespace) -> dict[str, Labelled]:
    """The probabilities of best answers, and of texts having one."""
    examples = list(
        tuning_examples(options.data / "xquad_r", options.languages.split(","), options.examples, 1, options.split)
    )
    scorer = SpanScorer(options.model)
    readings = read_questions(scorer, examples)
    calibration = scorer.calibration
    if options.fit:
        calibration = replace(calibration_of(readings), per_rank=calibration.per_rank)  # of `passage_weight`
        write(options.model, asdict(calibration))
    labelled: dict[str, Labelled] = {}
    for reading in readings:
        each, none = calibration.probabilities(reading.answers, reading.length)
        texts = "one text" if reading.texts == 1 else "several texts"
        note(labelled, f"{texts}: answered", 1 - none, reading.answered)
        present = "with the answer" if reading.answered else "without the answer"
        note(labelled, f"{texts} {present}: no answer is said", none, none >= NO_ANSWER)
        likely = none > max(each, default=0.0)
        note(labelled, f"{texts} {present}: no answer is likelier than the best one", none, likely)
        if each:
            note(labelled, f"{texts}: best answer right", each[0], reading.right[0])
    for texts in ("one text", "several texts"):
        note_trade(labelled, texts)
    return labelled


def note_trade(labelled: dict[str, Labelled], texts: str) -> None:
    """From the threshold by which no answer is said of nine in ten texts without it: of how many texts with it, too."""
    none: Labelled = ([], [])
    (without, _), (answered, _) = (
        labelled.get(f"{texts} {each} the answer: no answer is said", none) for each in ("without", "with")
    )
    if not without:
        return
    threshold = float(np.quantile(without, 1 - SAID))
    for probability in answered:
        name = f"{texts} with the answer: said from {threshold:.2f} on"
        note(labelled, name, probability, probability >= threshold)


def measure_statements(options: argparse.Namespace) -> dict[str, Labelled]:
    """The probabilities of the labels that are given to statements, and whether they are right."""
    scorer = StatementScorer(options.model)
    logits, labels, kinds = [], [], []
    for kind, examples in statement_sets(options.data, options.split, options.examples).items():
        for example, row in zip(examples, rows_of(scorer.encoder, examples), strict=True):
            logits.append(scorer.judge([row], [example.bilingual])[0].logit)
            labels.append(bool(example.label))
            kinds.append(kind)
    if options.fit:
        write(options.model, {"slope": fit_slope(np.array(logits), np.array(labels))})
        scorer = StatementScorer(options.model)
    labelled: dict[str, Labelled] = {}
    for kind, logit, label in zip(kinds, logits, labels, strict=True):
        true = scorer.probability(logit)
        note(labelled, kind, max(true, 1 - true), (true >= 0.5) == label)
    return labelled


def statement_sets(data_folder: Path, split: str, count: int) -> dict[str, list[Example]]:
    """So many statements of each set; of theories in all pairs of languages."""
    tune, reasoning = split == "tune", data_folder / "reasoning"
    first = TUNING_SEEDS if tune else TEST_THEORIES
    sources = StatementSources(mixes=["en", "*", "en-*", "*-en", "*-*"], depth=3)
    leaps = leap_of_thought(
        data_folder / "leapofthought" / ("train_part.jsonl.gz" if tune else "dev.jsonl.gz"), implicit=False
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
    for record in records:
        if record.label is not None:
            yield Example(
                record.statement, record.context, record.language, record.language, [], record.label, known=False
            )


def note(labelled: dict[str, Labelled], name: str, probability: float, label: bool) -> None:
    values, labels = labelled.setdefault(name, ([], []))
    values.append(probability)
    labels.append(label)


def calibration_error(values: Sequence[float], labels: Sequence[bool]) -> float:
    """The mean difference of probability and share over ten bins of probabilities, by how many each holds."""
    probabilities, shares = np.array(values), np.array(labels, float)
    places = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    gaps = [abs(float((probabilities - shares)[places == place].sum())) for place in range(BINS)]
    return sum(gaps) / len(probabilities)


def write(folder: Path, calibration: dict[str, Any]) -> None:
    """Write a calibration into the configuration of a reader, whole or not at all."""
    about = read_json(folder / CONFIG)
    with atomic_file(folder / CONFIG) as unfinished:
        unfinished.write_text(json.dumps(about | {"calibration": calibration}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
