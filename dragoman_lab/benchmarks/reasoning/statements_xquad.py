"""Statements over paragraphs of XQuAD-R: how many are labelled, and how many of the labels are right.

    python -m dragoman_lab.benchmarks.reasoning.statements_xquad --data DATA --split tune --fit
    python -m dragoman_lab.benchmarks.reasoning.statements_xquad --data DATA --split test

Statements are made by `dragoman_lab/evaluation/xquad_statements.py`, in eleven languages, half of them with the text in
another language, English one of both. They are judged as `POST /v1/qa` judges a `statement` by a `context`, with the
dictionaries of English and each language that `benchmarks/retrieval/first_stage.py` makes in the work folder; nothing
is trained. `labelled` is the share that is called true or false, `right` the share of those that are so, and `recall`
the share of true and false statements that are called so. What is compared is kept in the output folder, so that an
interrupted run can go on.

With `--fit` (`--split tune` alone) what judges is fitted on articles a000 to a011, and written into the package.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from dragoman.engine.qa.judging.evidence import Features
from dragoman.engine.qa.judging.judge import Comparison, Judge, decide
from dragoman.engine.qa.judging.rules import RULES, Ruling
from dragoman.engine.qa.judging.weights import Weights, load_weights
from dragoman.engine.qa.judging.words import Linker
from dragoman.engine.qa.texts import SourceText
from dragoman.engine.settings import Settings
from dragoman.reasoning.shipped import WEIGHTS
from dragoman.store.library import Library
from dragoman.store.tables.changes import Upload
from dragoman_lab.benchmarks.retrieval.first_stage import make_tables
from dragoman_lab.evaluation.serving import TableFile
from dragoman_lab.evaluation.xquad_statements import LANGUAGES, XquadStatement, read_statements
from dragoman_lab.reasoning.judgements import Labelled, fit_logistic, fit_rules

FOLDER = WEIGHTS / "judge"
Record = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/permissive"), help="folder that keeps the dictionaries")
    parser.add_argument("--output", type=Path, default=Path("runs/statements-xquad"))
    parser.add_argument("--split", choices=("tune", "test"), default="tune")
    parser.add_argument("--statements", type=int, default=100, help="of each language with itself")
    parser.add_argument("--offset", type=int, default=0, help="with another one, other questions are taken")
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--right", type=float, default=0.87, help="share of labels that thresholds aim at")
    parser.add_argument("--show", type=int, default=0, help="statements to print, to be read by eye")
    options = parser.parse_args()
    if options.fit and options.split != "tune":
        parser.error("--fit: what judges is fitted on --split tune")
    options.output.mkdir(parents=True, exist_ok=True)
    languages = options.languages.split(",")
    statements = list(
        read_statements(options.data / "xquad_r", options.split, options.statements, languages, options.offset)
    )
    records = compare_all(options, statements)
    if options.fit:
        write_weights(records, options.right)
    report(records, options)


def compare_all(options: argparse.Namespace, statements: Sequence[XquadStatement]) -> list[Record]:
    """What is compared of each statement, as the output folder keeps it."""
    path = options.output / f"{options.split}.jsonl"
    records: dict[str, Record] = {}
    if path.exists():
        records = {record["id"]: record for record in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    missing = [statement for statement in statements if statement.id not in records]
    if missing:
        foreign = [language for language in options.languages.split(",") if language != "en"]
        tables = [
            table
            for language in foreign
            for table in make_tables(options.data, language, options.work / "tables", True, "dictionaries")
        ]
        library = Library(
            Settings.from_defaults(
                data_dir=options.output / "data", embed="on_demand", rerank="never", ner_tagger="off"
            )
        )
        try:
            library.start(serving=False)
            for table in tables:
                add_table(library, table)
            judge = Judge(library.models, 600.0)
            with path.open("a", encoding="utf-8") as lines:
                for count, statement in enumerate(missing, 1):
                    record = compare(library, judge, statement)
                    records[statement.id] = record
                    lines.write(json.dumps(record, ensure_ascii=False) + "\n")
                    if count % 100 == 0:
                        print(f"{count} of {len(missing)}", flush=True)  # noqa: T201
        finally:
            library.close()
    return [records[statement.id] for statement in statements]


def add_table(library: Library, table: TableFile) -> None:
    """Upload a table, unless the data directory has it."""
    name = table.path.stem.replace(".", "-")
    if name not in library.search.snapshot.names:
        upload = Upload(name, table.source, table.target, weight=table.weight, activate=True)
        library.tables.upload(upload, iter([table.path.read_bytes()]))


def compare(library: Library, judge: Judge, statement: XquadStatement) -> Record:
    """One statement beside its text."""
    linker = Linker(library.search.analysis, library.search.snapshot)
    text = SourceText(statement.text, statement.text_language)
    comparison = judge.compare(statement.statement, statement.language, [text], linker)
    sentence = comparison.sentence
    return {
        **{name: part for name, part in asdict(statement).items() if name != "text"},
        "across": statement.across,
        "stands": statement.stands,
        "rule": None if comparison.ruling is None else asdict(comparison.ruling),
        "features": None if comparison.features is None else comparison.features.array().round(5).tolist(),
        "opposed": comparison.opposed,
        "sentence": "" if sentence is None else statement.text[sentence.start : sentence.end],
    }


def write_weights(records: Sequence[Record], least_right: float) -> None:
    """Fit on what no rule decided, and write the package's weights."""
    about = {
        "model_type": "judgement",
        "name": "judge",
        "world": "open",
        "languages": list(LANGUAGES),
        "rules": fit_rules(
            [
                (record["rule"]["rule"], record["rule"]["label"] == record["label"])
                for record in records
                if record["rule"]
            ],
            RULES,
        ),
    }
    for name, across in (("same", False), ("across", True)):
        about[name] = fit_logistic(
            [
                Labelled(np.array(record["features"]), record["label"], article(record), record["opposed"])
                for record in records
                if record["features"] is not None and record["rule"] is None and record["across"] == across
            ],
            least_right,
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "config.json").write_text(json.dumps(about) + "\n", encoding="utf-8")


def article(record: Record) -> str:
    """The article that a statement is about."""
    return str(record["article"])


def verdict(record: Record, weights: Weights) -> tuple[str, float]:
    """The label that a statement gets, and its probability."""
    ruling = None if record["rule"] is None else Ruling(record["rule"]["label"], record["rule"]["rule"])
    features = None if record["features"] is None else Features(*record["features"])
    judged = decide(Comparison(record["across"], None, ruling, features, record["opposed"]), weights)
    return judged.label, judged.probability


def report(records: Sequence[Record], options: argparse.Namespace) -> None:
    """Print the shares, by what statements were made of and by languages, and write them into the output folder."""
    weights = load_weights(FOLDER)
    for record in records:
        record["given"], record["probability"] = verdict(record, weights)
    groups: dict[str, list[Record]] = {"all": list(records)}
    groups["all but those that stand in the text"] = [record for record in records if not record["stands"]]
    for name, across in (("one language", False), ("two languages", True)):
        rows = [record for record in records if record["across"] == across]
        groups[name] = rows
        for form in ("question", "sentence"):
            groups[f"{name}: made of a {form}"] = [record for record in rows if record["form"] == form]
        for label in ("true", "false", "unknown"):
            groups[f"{name}: {label}"] = [record for record in rows if record["label"] == label]
    for language in LANGUAGES:
        groups[f"text in {language}"] = [record for record in records if record["text_language"] == language]
    for rule in RULES:
        groups[f"rule: {rule}"] = [record for record in records if record["rule"] and record["rule"]["rule"] == rule]
    table = Table("", "statements", "labelled, %", "right, %", "recall, %", title=options.split)
    figures = {name: shares(rows) for name, rows in groups.items() if rows}
    for name, (count, *percents) in figures.items():
        table.add_row(name, str(int(count)), *("" if np.isnan(each) else f"{each:.1f}" for each in percents))
    Console().print(table)
    (options.output / f"{options.split}.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    for record in records[:: max(1, len(records) // options.show)] if options.show else ():
        fields = ("label", "given", "language", "text_language", "statement", "sentence")
        print(" | ".join(str(record[name]) for name in fields))  # noqa: T201


def shares(records: Iterable[Record]) -> tuple[float, float, float, float]:
    """How many there are, and in percent: labelled, right of those, and true and false ones that are called so."""
    rows = list(records)
    labelled = [row for row in rows if row["given"] != "unknown"]
    stated = [row for row in rows if row["label"] != "unknown"]
    return (
        len(rows),
        100 * len(labelled) / len(rows),
        _percent([row["given"] == row["label"] for row in labelled]),
        _percent([row["given"] == row["label"] for row in stated]),
    )


def _percent(right: Sequence[bool]) -> float:
    return 100 * float(np.mean(right)) if right else float("nan")


if __name__ == "__main__":
    main()
