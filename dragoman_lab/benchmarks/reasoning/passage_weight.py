"""What the order of search should count when answers of several passages are compared, on tuning questions of XQuAD.

    python -m dragoman_lab.benchmarks.reasoning.passage_weight --model dragoman/reasoning/weights/answers --data DATA \\
        --work runs/permissive --permissive --data-dir runs/qa/service --output runs/qa/passages.json

Asks the service for the best passages of each question, as `benchmarks.reasoning.xquad_retrieved` does, in all pairs of
languages; reads each passage, and keeps its best answers with their scores in the output. Of the answers of all
passages that one is given whose score, less the weight times how many passages search put before its own, is highest.
Prints F1 by weights, and with `--fit` writes the best weight, `per_rank`, into the calibration of the reader.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from dragoman.backbone.checkpoints import CONFIG, read_json
from dragoman.files.atomic import atomic_file
from dragoman.reasoning.inference import SpanScorer
from dragoman.reasoning.reading import ANSWERS, Request, read
from dragoman_lab.benchmarks.reasoning.calibration import write
from dragoman_lab.benchmarks.reasoning.xquad_qa import LANGUAGES, documents, xquad
from dragoman_lab.benchmarks.reasoning.xquad_retrieved import reading
from dragoman_lab.benchmarks.search.measuring import check_complete
from dragoman_lab.evaluation.search_client import SearchClient
from dragoman_lab.reasoning.answers import f1

PASSAGES = 5
WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 100.0)
Asked = dict[str, Any]
"""A question's `source` and `target` language, the place of its own passage (None: not found), and of each answer the
place of its passage, its score and its F1."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="the reader")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps trained tables")
    parser.add_argument("--output", type=Path, required=True, help="file of the answers, which is read where it exists")
    parser.add_argument("--data-dir", type=Path, help="data directory of the service, kept; default: a temporary one")
    parser.add_argument("--languages", default=LANGUAGES)
    parser.add_argument("--questions", type=int, default=12, help="of each pair, at even distances")
    parser.add_argument("--permissive", action="store_true", help="train tables on data with permissive licences alone")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--fit", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if not given.output.exists():
        asked = answered(given, given.languages.split(","))
        with atomic_file(given.output) as unfinished:
            unfinished.write_text(json.dumps(asked) + "\n", encoding="utf-8")
    asked = json.loads(given.output.read_text(encoding="utf-8"))
    shares = {weight: by_weight(asked, weight) for weight in WEIGHTS}
    show(asked, shares)
    if given.fit:
        best = max(WEIGHTS, key=lambda weight: shares[weight]["all"])
        write(given.model, read_json(given.model / CONFIG).get("calibration", {}) | {"per_rank": best})


def answered(given: argparse.Namespace, languages: list[str]) -> list[Asked]:
    """Each question of each pair of languages with the answers of its passages."""
    folder = given.data / "xquad_r"
    questions, _ = xquad(folder, languages, "tune", given.questions)
    scorer = SpanScorer(given.model)
    found: list[Asked] = []
    with reading(given, languages) as client:
        for target in languages:
            texts = documents(folder, "paragraph", target)
            for source in languages:
                passages = retrieved(client, questions[source], source, target, texts)
                found += [
                    asked | {"source": source, "target": target}
                    for asked in of_pair(scorer, questions, source, target, texts, passages)
                ]
            Console().print(f"paragraphs in {target}: {len(found)} questions")
    return found


def retrieved(
    client: SearchClient, questions: Mapping[str, Any], source: str, target: str, texts: Mapping[str, str]
) -> dict[str, list[str]]:
    """The best passages of each question, best first."""
    collection = client.collection(f"xquad-paragraph-{target}", target, texts)
    asked = {key: row["text"] for key, row in questions.items()}
    hits = client.ask(asked, [collection], PASSAGES, {"query_language": source}, f"{source}-{target}")
    check_complete(hits, f"{source}-{target}")
    return {key: list(run) for key, run in hits.run.items()}


def of_pair(
    scorer: SpanScorer,
    questions: Mapping[str, Mapping[str, Any]],
    source: str,
    target: str,
    texts: Mapping[str, str],
    passages: Mapping[str, Sequence[str]],
) -> list[Asked]:
    """The answers to each question in its passages."""
    places = [(key, place, passage) for key, own in passages.items() for place, passage in enumerate(own)]
    requests = [Request(questions[source][key]["text"], texts[passage], source != target) for key, _, passage in places]
    asked: dict[str, Asked] = {
        key: {"own": own.index(para) if (para := questions[target][key]["para"]) in own else None, "answers": []}
        for key, own in passages.items()
    }
    for (key, place, _), answers in zip(places, read(scorer, requests, ANSWERS), strict=True):
        reference = questions[target][key]["answer"]
        asked[key]["answers"] += [[place, one.score, f1(one.text, [reference], target)] for one in answers]
    return list(asked.values())


def by_weight(asked: Sequence[Asked], weight: float) -> dict[str, float]:
    """F1 in percent of the best answers: of all pairs, within a language, and across languages."""
    values = np.array([best(one["answers"], weight) for one in asked])
    same = np.array([one["source"] == one["target"] for one in asked])
    return {"all": values.mean(), "same": values[same].mean(), "across": values[~same].mean()}


def best(answers: Sequence[tuple[int, float, float]], weight: float) -> float:
    """F1 in percent of the answer that has the highest score less the weight times its passage's place."""
    return 100 * max(answers, key=lambda one: one[1] - weight * one[0])[2] if answers else 0.0


def show(asked: Sequence[Asked], shares: Mapping[float, Mapping[str, float]]) -> None:
    """Print where the own passages stand, and F1 by weights."""
    own = [one["own"] for one in asked]
    Console().print({place: f"{100 * own.count(place) / len(own):.1f}%" for place in (*range(PASSAGES), None)})
    table = Table("weight", *next(iter(shares.values())), title=f"F1 of {len(asked)} questions")
    for weight, row in shares.items():
        table.add_row(f"{weight:g}", *(f"{value:.1f}" for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
