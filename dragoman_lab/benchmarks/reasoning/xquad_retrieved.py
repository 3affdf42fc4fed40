"""Answers on XQuAD after retrieval: question language against document language, beside the best sentence of search.

    python -m dragoman_lab.benchmarks.reasoning.xquad_retrieved --model runs/qa/spans/model --data DATA \
        --work runs/search \\
        --output runs/qa/retrieved

Starts `dragoman serve` with the reader and the tables between English and each language, trained once as in
`benchmarks/retrieval/first_stage.py` and kept in the work folder. All paragraphs of XQuAD-R, those of tuning and test
articles alike, are one collection for each language; `POST /v1/qa` searches it by the default method and reads the
best. The questions of `--split` are asked to each language, with their own language given. F1 and exact match (`f1`,
`exact`) are those of `benchmarks/reasoning/xquad_qa.py`, for the best answer; `found` is the share of questions whose
own paragraph was among those that were read. The baseline (`sentence_f1`, `sentence_exact`) answers with the best hit
of `POST /v1/search`, by the default method as well, over all sentences of the same paragraphs.

Writes `report.json` and heat maps as PNG, and prints the tables; all figures are in percent. Pairs that the output
folder has are not asked again, so an interrupted run can go on. `--data-dir` keeps tables, collections and embeddings
for the next run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from dragoman_lab.benchmarks.reasoning.xquad_qa import LANGUAGES, agreement, documents, heat_maps, summary, xquad
from dragoman_lab.benchmarks.retrieval.first_stage import Knowledge
from dragoman_lab.benchmarks.search.measuring import check_complete
from dragoman_lab.benchmarks.search.quality import tables_of
from dragoman_lab.evaluation.benchmark import SPLITS
from dragoman_lab.evaluation.search_client import SearchClient, open_search_client

MEASURES = ("f1", "exact", "found", "sentence_f1", "sentence_exact")
Cells = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True)
class Xquad:
    """The questions by language and id, and all paragraphs and sentences by unit and language."""

    questions: dict[str, dict[str, dict[str, Any]]]
    documents: dict[str, dict[str, dict[str, str]]]


def main() -> None:
    """Ask all pairs of languages, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="the reader")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps trained tables")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, help="data directory of the service, kept; default: a temporary one")
    parser.add_argument("--languages", default=LANGUAGES)
    parser.add_argument("--split", choices=SPLITS, default="tune")
    parser.add_argument("--questions", type=int, default=0, help="of each pair, at even distances; 0: all")
    parser.add_argument("--permissive", action="store_true", help="train only on data with permissive licences")
    arguments = parser.parse_args()
    languages = arguments.languages.split(",")
    folder = arguments.data / "xquad_r"
    questions, _ = xquad(folder, languages, arguments.split, arguments.questions)
    units = ("paragraph", "sentence")
    test_set = Xquad(
        questions, {unit: {language: documents(folder, unit, language) for language in languages} for unit in units}
    )
    cells = measure_pairs(arguments, test_set, languages)
    about = {
        "split": arguments.split,
        "questions": len(questions[languages[0]]),
        "documents": {
            unit: {language: len(texts[language]) for language in languages}
            for unit, texts in test_set.documents.items()
        },
        "model": str(arguments.model),
        "environment": {name: setting for name, setting in os.environ.items() if name.startswith("DRAGOMAN_")},
    }
    write_report(arguments.output, about, cells, languages)


def measure_pairs(arguments: argparse.Namespace, test_set: Xquad, languages: list[str]) -> Cells:
    """The figures of each pair, asked unless the output folder has it of an earlier run with the same questions."""
    asked = {
        "split": arguments.split,
        "questions": len(test_set.questions[languages[0]]),
        "model": str(arguments.model),
    }
    pairs = [(source, target) for target in languages for source in languages]
    folder = arguments.output / "pairs"
    folder.mkdir(parents=True, exist_ok=True)
    cells: Cells = {source: {} for source in languages}
    with contextlib.ExitStack() as opened:
        client = None
        for index, (source, target) in enumerate(pairs, 1):
            path = folder / f"{source}-{target}.json"
            saved = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            if saved.get("asked") != asked:
                client = client or opened.enter_context(reading(arguments, languages))
                saved = {"asked": asked, "figures": pair(client, test_set, source, target)}
                path.write_text(json.dumps(saved) + "\n", encoding="utf-8")
                print(f"{index} of {len(pairs)}, {source}-{target}: {format_figures(saved['figures'])}", flush=True)  # noqa: T201
            cells[source][target] = saved["figures"]
    return cells


def reading(
    arguments: argparse.Namespace, languages: list[str], knowledge: Knowledge = "both"
) -> contextlib.AbstractContextManager[SearchClient]:
    """A client of a new service with the reader and the tables between English and each language."""
    foreign = [language for language in languages if language != "en"]
    tables = tables_of(arguments.data, foreign, arguments.work, arguments.permissive, knowledge)
    settings = {"DRAGOMAN_READER": str(arguments.model)}
    return open_search_client(None, tables, data_dir=arguments.data_dir, settings=settings)


def pair(client: SearchClient, test_set: Xquad, source: str, target: str) -> dict[str, float]:
    """The figures of questions in one language over documents in one, in percent, and the seconds.

    Raises:
        BenchmarkError: an answer was degraded: the figures would be others.
    """
    rows = test_set.questions[target]
    texts = {key: row["text"] for key, row in test_set.questions[source].items()}
    paragraphs, sentences = (
        client.collection(f"xquad-{unit}-{target}", target, unit_texts[target])
        for unit, unit_texts in test_set.documents.items()
    )
    begun = time.perf_counter()
    title = f"{source}-{target}"
    readings = client.read(texts, [paragraphs], {"question_language": source}, title)
    check_complete(readings, title)
    hits = client.ask(texts, [sentences], 1, {"query_language": source}, title)
    check_complete(hits, title)
    of = test_set.documents["sentence"][target]
    best = [of[next(iter(hits.run[key]))] if hits.run[key] else "" for key in rows]
    references = [row["answer"] for row in rows.values()]
    figures = agreement([readings.texts[key] for key in rows], references, target)
    figures["found"] = 100 * float(np.mean([row["para"] in readings.passages[key] for key, row in rows.items()]))
    figures |= {f"sentence_{name}": score for name, score in agreement(best, references, target).items()}
    return figures | {"seconds": time.perf_counter() - begun, "seconds_reading": readings.seconds}


def format_figures(figures: Mapping[str, float]) -> str:
    """The figures of a pair in one line."""
    text = ", ".join(f"{name} {figures[name]:.1f}" for name in MEASURES)
    return f"{text}; {figures['seconds']:.1f} s, reading {figures['seconds_reading']:.1f} s"


def write_report(folder: Path, about: Mapping[str, Any], cells: Cells, languages: list[str]) -> None:
    """Write `report.json` and the heat maps; print the tables and the means."""
    pairs = [cells[source][target] for source in languages for target in languages]
    baseline = {
        source: {target: {name: row[target][f"sentence_{name}"] for name in ("f1", "exact")} for target in languages}
        for source, row in cells.items()
    }
    report = {
        **about,
        "means": {name: float(np.mean([figures[name] for figures in pairs])) for name in MEASURES},
        "reader": summary(cells, languages),
        "sentence": summary(baseline, languages),
        "pairs": cells,
    }
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    heat_maps(cells, languages, MEASURES, folder)
    Console().print({name: report[name] for name in ("means", "reader", "sentence")})


if __name__ == "__main__":
    main()
