"""Cross-lingual first-stage retrieval over REST, from and to English.

    python -m dragoman_lab.benchmarks.retrieval.first_stage --data DATA --output runs/first_stage

Trains a table per language pair on DATA/parallel and DATA/research_only/parallel, converts DATA/dictionaries, uploads
both, and evaluates human translation (BM25), SMT and PSQ on XQuAD-R sentences and paragraphs, Swahili questions over
English passages (AfriQA) and FLORES sentences. `--knowledge` makes tables of parallel text or of dictionaries alone.
XQuAD-R's questions are those for tuning, or with `--split test` the others. Existing tables and reports in the output
folder are kept, so an interrupted run can be resumed; `summary.md` has the results.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from dragoman.engine.tables.training.table_training import train_table
from dragoman_lab.evaluation import evaluation
from dragoman_lab.evaluation.benchmark import SPLITS, Split, load_benchmark
from dragoman_lab.evaluation.serving import TableFile, serve_temporarily

XQUAD = ("de", "es", "ru", "zh", "ar", "el", "hi", "th", "tr", "vi")
Row = tuple[str, dict[str, Any]]
Knowledge = Literal["both", "parallel", "dictionaries"]
MEASURE = "MAP@100"
STATISTICAL, DICTIONARY = 0.7, 0.3


def dictionary_pairs(data_folder: Path, language: str) -> Iterator[tuple[str, str]]:
    """(English, foreign) pairs of the dictionaries of both directions."""
    for name, english in ((f"en-{language}", 0), (f"{language}-en", 1)):
        path = data_folder / "dictionaries" / f"{name}.tsv.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as stream:
                for line in stream:
                    fields = line.rstrip("\n").split("\t")
                    yield fields[english], fields[1 - english]


def make_tables(
    data_folder: Path, language: str, folder: Path, permissive: bool, knowledge: Knowledge = "both"
) -> list[TableFile]:
    """The trained table and the dictionary of English and one language; missing ones are created.

    The trained table learns from the dictionary too, unless `knowledge` is parallel text alone; of dictionaries alone
    nothing is trained.
    """
    trained, dictionary = folder / f"en-{language}.tsv", folder / f"en-{language}.dictionary.tsv"
    folder.mkdir(parents=True, exist_ok=True)
    roots = [data_folder / "parallel"] + ([] if permissive else [data_folder / "research_only" / "parallel"])
    parallel = [root / f"{language}-en" for root in roots if (root / f"{language}-en").is_dir()]
    pairs = list(dict.fromkeys(dictionary_pairs(data_folder, language))) if knowledge != "parallel" else []
    if pairs and not dictionary.exists():
        dictionary.write_text("".join(f"{english}\t{foreign}\n" for english, foreign in pairs), encoding="utf-8")
    dictionaries = [TableFile(dictionary, "en", language, weight=DICTIONARY)] if pairs else []
    if knowledge == "dictionaries":
        return dictionaries
    if not trained.exists():
        report = train_table(parallel, "en", language, trained, dictionaries=[dictionary] if pairs else [])
        (folder / f"en-{language}.json").write_text(json.dumps(report.as_dict(), indent=1, default=str))
    return [TableFile(trained, "en", language, weight=STATISTICAL), *dictionaries]


def tasks(data_folder: Path, language: str) -> Iterator[tuple[str, tuple[str, str, str], str | None]]:
    """The tasks of one language: benchmark, (source, target, unit), name of the query file."""
    if language in XQUAD:
        for source, target in (("en", language), (language, "en")):
            for unit in ("sentence", "paragraph"):
                yield "xquad_r", (source, target, unit), None
    if language == "sw":
        yield "afriqa", ("sw", "en", "passage"), "sw.open"
    if language in ("sw", "so"):
        for source, target in (("en", language), (language, "en")):
            yield "flores200", (source, target, "sentence"), None


def evaluate(
    data_folder: Path, language: str, output: Path, split: Split, permissive: bool, knowledge: Knowledge = "both"
) -> Iterator[Row]:
    """The benchmark's name and report of every task of one language; tasks with a report are not run again."""
    tables = make_tables(data_folder, language, output / "tables", permissive, knowledge)
    with contextlib.ExitStack() as stack:
        client = None
        for benchmark, (source, target, unit), queries in tasks(data_folder, language):
            folder = output / split / f"{benchmark}-{unit}-{source}-{target}"
            if not (folder / "report.json").exists():
                client = client or stack.enter_context(serve_temporarily(tables))
                task = load_benchmark(data_folder / benchmark, source, target, unit, queries, split=split)
                systems = ("smt", "psq") if benchmark == "flores200" else ("bm25", "smt", "psq")
                evaluation.run_task(client, task, systems, folder)
            yield benchmark, json.loads((folder / "report.json").read_text())


def main() -> None:
    """Run missing tasks and write the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--languages", default=",".join([*XQUAD, "sw", "so"]))
    parser.add_argument("--split", choices=SPLITS, default="tune", help="of XQuAD-R's questions")
    parser.add_argument("--permissive", action="store_true", help="train only on data with permissive licences")
    parser.add_argument("--knowledge", choices=get_args(Knowledge), default="both", help="what tables are made of")
    parser.add_argument("--tables-only", action="store_true", help="only create the tables, without evaluation")
    arguments = parser.parse_args()
    rows: list[Row] = []
    if arguments.tables_only:
        folder = arguments.output / "tables"
        for language in arguments.languages.split(","):
            make_tables(arguments.data, language, folder, arguments.permissive, arguments.knowledge)
        return
    for language in arguments.languages.split(","):
        for row in evaluate(
            arguments.data, language, arguments.output, arguments.split, arguments.permissive, arguments.knowledge
        ):
            rows.append(row)
            (arguments.output / arguments.split / "summary.md").write_text(summary(rows), encoding="utf-8")
    print(summary(rows))  # noqa: T201


def summary(rows: list[Row]) -> str:
    """A Markdown table of MAP@100 with PSQ's share of human translation."""
    lines = [
        "| benchmark | unit | direction | queries | SMT | PSQ | human translation, BM25 | PSQ / human | p (PSQ, SMT) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for benchmark, report in rows:
        systems = report["systems"]
        psq, smt = systems["psq"][MEASURE], systems["smt"][MEASURE]
        human = systems.get("bm25", {}).get(MEASURE)
        lines.append(
            f"| {benchmark} | {report['unit']} | {report['source']} to {report['target']} | {report['queries']} "
            f"| {smt:.4f} | {psq:.4f} | {'-' if human is None else f'{human:.4f}'} "
            f"| {'-' if human is None else f'{psq / human:.1%}'} | {report['p_values']['smt against psq']:.1g} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
