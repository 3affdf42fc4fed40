"""First-stage retrieval across languages, over REST, from and to English.

    python benchmarks/first_stage.py --data DATA --output runs/first_stage

trains a table per language pair from DATA/parallel and DATA/research_only/parallel, converts DATA/dictionaries,
uploads both, and evaluates human translation (BM25), SMT and PSQ on XQuAD-R sentences and paragraphs, Swahili
questions over English passages (AfriQA) and FLORES sentences. Tables and reports that are already in the output
folder are kept, so an interrupted run goes on where it stopped; `summary.md` holds the result.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman.service import evaluation
from dragoman.service.evaluation import TableFile
from dragoman.service.training import train_table

XQUAD = ("ar", "de", "el", "es", "hi", "ru", "th", "tr", "vi", "zh")
TUNING = r"para=-a0(0\d|1[01])-"
"""XQuAD-R questions of the articles a000 to a011 are for tuning."""
MEASURE = "MAP@100"
STATISTICAL, DICTIONARY = 0.7, 0.3


def dictionary_pairs(data: Path, language: str) -> Iterator[tuple[str, str]]:
    """(English, foreign) pairs of the dictionaries of both directions."""
    for name, english in ((f"en-{language}", 0), (f"{language}-en", 1)):
        path = data / "dictionaries" / f"{name}.tsv.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as stream:
                for line in stream:
                    fields = line.rstrip("\n").split("\t")
                    yield fields[english], fields[1 - english]


def make_tables(data: Path, language: str, folder: Path, permissive: bool) -> list[TableFile]:
    """The trained table and the dictionary of English and one language, made unless they are there."""
    trained, dictionary = folder / f"en-{language}.tsv", folder / f"en-{language}.dictionary.tsv"
    folder.mkdir(parents=True, exist_ok=True)
    roots = [data / "parallel"] + ([] if permissive else [data / "research_only" / "parallel"])
    parallel = [root / f"{language}-en" for root in roots if (root / f"{language}-en").is_dir()]
    pairs = list(dict.fromkeys(dictionary_pairs(data, language)))
    if pairs and not dictionary.exists():
        dictionary.write_text("".join(f"{english}\t{foreign}\n" for english, foreign in pairs), encoding="utf-8")
    if not trained.exists():
        report = train_table(parallel, "en", language, trained, dictionaries=[dictionary] if pairs else [])
        (folder / f"en-{language}.json").write_text(json.dumps(report.as_dict(), indent=1, default=str))
    found = [TableFile(trained, "en", language, weight=STATISTICAL)]
    return found + ([TableFile(dictionary, "en", language, weight=DICTIONARY)] if pairs else [])


def tasks(data: Path, languages: list[str]) -> Iterator[dict[str, Any]]:
    """Every task as the arguments of :func:`dragoman.service.evaluation.run`."""
    for language in languages:
        if language in XQUAD:
            for source, target in (("en", language), (language, "en")):
                for unit in ("sentence", "paragraph"):
                    yield {"data": data / "xquad_r", "source": source, "target": target, "unit": unit}
        if language == "sw":
            yield {
                "data": data / "afriqa",
                "source": "sw",
                "target": "en",
                "unit": "passage",
                "queries": "sw.open",
            }
        if language in ("sw", "so"):
            for source, target in (("en", language), (language, "en")):
                yield {"data": data / "flores200", "source": source, "target": target, "unit": "sentence"}


def main() -> None:
    """Run what is missing and write the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--languages", default=",".join([*XQUAD, "sw", "so"]))
    parser.add_argument("--split", choices=("test", "tune", "all"), default="test")
    parser.add_argument("--permissive", action="store_true", help="train on the permissive half alone")
    arguments = parser.parse_args()
    choice: dict[str, Any] = {"test": {"without": TUNING}, "tune": {"only": TUNING}, "all": {}}[arguments.split]
    rows = []
    for task in tasks(arguments.data, arguments.languages.split(",")):
        language = task["target"] if task["source"] == "en" else task["source"]
        tables = make_tables(arguments.data, language, arguments.output / "tables", arguments.permissive)
        parallel_text = task["data"].name == "flores200"
        name = f"{task['data'].name}-{task['unit']}-{task['source']}-{task['target']}"
        folder = arguments.output / arguments.split / name
        if (folder / "report.json").exists():
            report = json.loads((folder / "report.json").read_text())
        else:
            systems = ("smt", "psq") if parallel_text else ("bm25", "smt", "psq")
            report = evaluation.run(
                **task,
                systems=systems,
                output=folder,
                tables=tables,
                **(choice if task["data"].name == "xquad_r" else {}),
            )
        rows.append((task, report))
        (arguments.output / arguments.split / "summary.md").write_text(summary(rows), encoding="utf-8")
    print(summary(rows))  # noqa: T201


def summary(rows: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """A Markdown table of MAP@100 with PSQ's share of human translation."""
    lines = [
        "| benchmark | unit | direction | queries | SMT | PSQ | human translation, BM25 | PSQ / human | p (PSQ, SMT) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for task, report in rows:
        systems = report["systems"]
        psq, smt = systems["psq"][MEASURE], systems["smt"][MEASURE]
        human = systems.get("bm25", {}).get(MEASURE)
        lines.append(
            f"| {task['data'].name} | {task['unit']} | {task['source']} to {task['target']} | {report['queries']} "
            f"| {smt:.4f} | {psq:.4f} | {'-' if human is None else f'{human:.4f}'} "
            f"| {'-' if human is None else f'{psq / human:.1%}'} | {report['p_values']['smt against psq']:.1g} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
