"""Answers on XQuAD: question language against context language, F1 and exact match with the paragraph given.

    python -m dragoman_lab.benchmarks.reasoning.xquad_qa --model runs/qa/spans/model --data DATA/xquad_r \
        --output runs/qa/xquad

Writes `report.json`, heat maps as PNG, and prints both tables. Questions of `--split tune` (articles a000 to a011) are
what variants are compared on; those of `--split test` are reported. `--questions` takes evenly spaced ones of each pair
of languages, the same in every pair. F1 is that of MLQA: SQuAD's, with the articles of each language left out. Chinese
and Thai are compared by characters, and Thai by words between spaces as well (`by_spaces`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from dragoman.reasoning.inference import SpanScorer
from dragoman.reasoning.question_answering import Request, answer_requests
from dragoman_lab.evaluation.benchmark import SPLITS, json_lines, part_of
from dragoman_lab.reasoning.answers import exact, f1

LANGUAGES = "ar,de,el,en,es,hi,ru,th,tr,vi,zh"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="the folder xquad_r")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--languages", default=LANGUAGES)
    parser.add_argument("--split", choices=SPLITS, default="tune")
    parser.add_argument("--questions", type=int, default=0, help="of each pair of languages; 0: all")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    languages = arguments.languages.split(",")
    questions, paragraphs = xquad(arguments.data, languages, arguments.split, arguments.questions)
    scorer = SpanScorer(arguments.model, arguments.device)
    cells: dict[str, dict[str, dict[str, float]]] = {}
    for target in languages:
        for source in languages:
            cells.setdefault(source, {})[target] = pair(scorer, questions, paragraphs, source, target)
    report = {"split": arguments.split, "questions": len(questions[languages[0]]), "pairs": cells}
    report |= summary(cells, languages)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    heat_maps(cells, languages, ("f1", "exact"), arguments.output)
    Console().print({name: report[name] for name in ("diagonal", "english", "least_share_of_diagonal")})


def xquad(
    folder: Path, languages: list[str], split: str, count: int
) -> tuple[dict[str, dict[str, dict[str, Any]]], dict[str, str]]:
    """The questions by language and id, and the paragraphs by id."""
    questions: dict[str, dict[str, dict[str, Any]]] = {}
    paragraphs: dict[str, str] = {}
    for language in languages:
        rows = json_lines(folder / "queries" / f"{language}.jsonl.gz")
        questions[language] = {row["qid"]: row for row in rows if split == "all" or part_of(row) == split}
        paragraphs |= documents(folder, "paragraph", language)
    common = sorted(set.intersection(*(set(rows) for rows in questions.values())))
    chosen = common if not count else [common[i] for i in np.linspace(0, len(common) - 1, count).astype(int)]
    return {language: {key: rows[key] for key in chosen} for language, rows in questions.items()}, paragraphs


def documents(folder: Path, unit: str, language: str) -> dict[str, str]:
    """All paragraphs or sentences of a language by id, whatever questions there are of them."""
    return {row["id"]: row["text"] for row in json_lines(folder / "corpus" / f"{unit}.{language}.jsonl.gz")}


def pair(
    scorer: SpanScorer,
    questions: dict[str, dict[str, dict[str, Any]]],
    paragraphs: dict[str, str],
    source: str,
    target: str,
) -> dict[str, float]:
    """F1 and exact match of questions in `source` over contexts in `target`, in percent."""
    rows = questions[target]
    requests = [
        Request(questions[source][key]["text"], paragraphs[row["para"]], source != target) for key, row in rows.items()
    ]
    answers = [spans[0].text if spans else "" for spans in answer_requests(scorer, requests, 1)]
    return agreement(answers, [row["answer"] for row in rows.values()], target)


def agreement(answers: Sequence[str], references: Sequence[str], language: str) -> dict[str, float]:
    """Means of F1 and exact match of answers in a language, in percent."""

    def mean(measure: Callable[[str, Sequence[str], str], float], by: str) -> float:
        scores = [measure(answer, [reference], by) for answer, reference in zip(answers, references, strict=True)]
        return 100 * float(np.mean(scores))

    means = {"f1": mean(f1, language), "exact": mean(exact, language)}
    if language == "th":
        means["by_spaces"] = mean(f1, "")
    return means


def summary(cells: dict[str, dict[str, dict[str, float]]], languages: list[str]) -> dict[str, Any]:
    """Means of the diagonal and of pairs with English, and the least of these as a share of the context's diagonal."""
    diagonal = {
        name: float(np.mean([cells[language][language][name] for language in languages])) for name in ("f1", "exact")
    }
    english = [(a, b) for a in languages for b in languages if (a == "en") != (b == "en")]
    if not english:
        return {"diagonal": diagonal, "english": None, "least_share_of_diagonal": None}
    shares = {f"{a}-{b}": cells[a][b]["f1"] / max(cells[b][b]["f1"], 1e-9) for a, b in english}
    least = min(shares, key=lambda name: shares[name])
    mean = float(np.mean([cells[a][b]["f1"] for a, b in english]))
    return {"diagonal": diagonal, "english": mean, "least_share_of_diagonal": {least: shares[least]}}


def heat_maps(
    cells: Mapping[str, Mapping[str, Mapping[str, float]]],
    languages: list[str],
    measures: Sequence[str],
    folder: Path,
) -> None:
    """Print a table of each measure of all pairs, and write its heat map to the folder."""
    for measure in measures:
        values = [[cells[source][target][measure] for target in languages] for source in languages]
        show(values, languages, measure)
        plot(values, languages, measure, folder / f"{measure}.png")


def show(values: list[list[float]], languages: list[str], measure: str) -> None:
    """Print a table, questions in rows."""
    table = Table(measure, *languages)
    for language, row in zip(languages, values, strict=True):
        table.add_row(language, *(f"{score:.1f}" for score in row))
    Console().print(table)


def plot(values: list[list[float]], languages: list[str], measure: str, path: Path) -> None:
    """A heat map, questions in rows."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 6))
    image = axes.imshow(values, vmin=0, vmax=100)
    axes.set_xticks(range(len(languages)), languages)
    axes.set_yticks(range(len(languages)), languages)
    axes.set_xlabel("context")
    axes.set_ylabel("question")
    axes.set_title(measure)
    for y, row in enumerate(values):
        for x, score in enumerate(row):
            axes.text(x, y, f"{score:.0f}", ha="center", va="center", color="white" if score < 60 else "black")
    figure.colorbar(image)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
