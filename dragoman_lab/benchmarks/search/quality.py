"""Search quality as a user has it: `POST /v1/search` with nothing but the query and the collection, over HTTP.

    python -m dragoman_lab.benchmarks.search.quality --data DATA --work runs/search --output runs/search/tune
    python -m dragoman_lab.benchmarks.search.quality --data DATA --work runs/search --output runs/search/sw \
        --benchmark afriqa

Starts `dragoman serve` on a new data directory (or takes `--url`). Uploads the tables of each language and English,
trained once as in `benchmarks/retrieval/first_stage.py` and kept in the work folder. Uploads one collection per
language, whose embeddings are complete before the first query. Each query asks for the best 100 hits; the measure is
MAP@100.

The systems: `default` sends only the query and its collection; `psq` is the first stage alone; `human` is BM25 with the
question as a human put it into the documents' language. The latter two are told the query's language. `--method` adds
ablations, and `--rerank` changes reranking in them and in the default. Tasks that the output folder has are not
measured again, so an interrupted run can go on.

XQuAD-R: from and to English, for five languages, or all ten with `--languages all`. Its questions have two parts:
variants are compared on `--split tune` alone; `--split test` is for the one measurement that is reported. AfriQA:
Swahili questions over English passages. FLORES-200: sentences whose translations are to be found, for any language of
the set.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from dragoman_lab.benchmarks.retrieval.first_stage import XQUAD, Knowledge, make_tables
from dragoman_lab.benchmarks.search.measuring import measure_task, needs_embeddings, systems, write_report
from dragoman_lab.evaluation.benchmark import SPLITS, Benchmark, load_benchmark
from dragoman_lab.evaluation.search_client import open_search_client
from dragoman_lab.evaluation.serving import TableFile

MAIN = ("de", "es", "ru", "zh", "ar")
LANGUAGES = {"xquad_r": ",".join(MAIN), "afriqa": "sw", "flores200": "sw,so"}


def main() -> None:
    """Measure all directions, and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="folder that keeps trained tables; needed without --url")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--url", help="a running service, with its own tables; default: one is started")
    parser.add_argument("--benchmark", choices=LANGUAGES, default="xquad_r")
    parser.add_argument("--languages", help="comma-separated, or all; default: by benchmark")
    parser.add_argument("--unit", choices=("sentence", "paragraph"), default="sentence", help="of XQuAD-R")
    parser.add_argument("--split", choices=SPLITS, default="tune", help="of XQuAD-R's questions")
    parser.add_argument("--systems", default="default,psq,human")
    parser.add_argument("--method", help="ablations, comma-separated, such as hybrid,dense")
    parser.add_argument("--rerank", help="off, or a depth; default: the service's own choice")
    parser.add_argument("--permissive", action="store_true", help="train only on data with permissive licences")
    arguments = parser.parse_args()
    if not arguments.url and not arguments.work:
        parser.error("--work is required without --url")
    languages = choose_languages(arguments.languages, arguments.benchmark)
    chosen = systems(arguments.systems, arguments.method, arguments.rerank)
    tables = [] if arguments.url else tables_of(arguments.data, languages, arguments.work, arguments.permissive)
    rows = []
    with open_search_client(arguments.url, tables, embeddings=needs_embeddings(chosen)) as client:
        for task in tasks(arguments.data, arguments.benchmark, languages, arguments.unit, arguments.split):
            name = f"{arguments.benchmark}-{task.unit}-{task.target}"
            collection = client.collection(name, task.target, task.documents)
            folder = arguments.output / f"{arguments.benchmark}-{task.unit}-{task.source}-{task.target}"
            rows.append(measure_task(folder, client, collection, task, chosen))
            about = {
                "benchmark": arguments.benchmark,
                "split": task.split,
                "environment": {name: setting for name, setting in os.environ.items() if name.startswith("DRAGOMAN_")},
            }
            text = write_report(arguments.output, about, rows)
    print(text)  # noqa: T201


def choose_languages(names: str | None, benchmark: str) -> list[str]:
    """The languages beside English."""
    if names == "all" and benchmark == "xquad_r":
        return list(XQUAD)
    return (names or LANGUAGES[benchmark]).split(",")


def tables_of(
    data_folder: Path, languages: list[str], work: Path, permissive: bool, knowledge: Knowledge = "both"
) -> list[TableFile]:
    """The tables between English and each language, made where the work folder has none."""
    return [
        table
        for language in languages
        for table in make_tables(data_folder, language, work / "tables", permissive, knowledge)
    ]


def tasks(data_folder: Path, benchmark: str, languages: list[str], unit: str, split: str) -> Iterator[Benchmark]:
    """The tasks of a benchmark, those with documents in English last."""
    if benchmark == "afriqa":
        yield load_benchmark(data_folder / benchmark, "sw", "en", "passage", "sw.open")
        return
    part = next(choice for choice in SPLITS if choice == split)
    for source, target in [
        *(("en", language) for language in languages),
        *((language, "en") for language in languages),
    ]:
        task = load_benchmark(data_folder / benchmark, source, target, unit, split=part)
        if benchmark == "flores200":
            task.translated_queries.clear()  # they are the documents
        yield task


if __name__ == "__main__":
    main()
