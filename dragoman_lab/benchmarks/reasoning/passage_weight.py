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
from dragoman.reasoning.question_answering import ANSWERS, Request, answer_requests
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
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if not options.output.exists():
        asked = answer_pairs(options, options.languages.split(","))
        with atomic_file(options.output) as unfinished:
            unfinished.write_text(json.dumps(asked) + "\n", encoding="utf-8")
    asked = json.loads(options.output.read_text(encoding="utf-8"))
    shares = {weight: by_weight(asked, weight) for weight in WEIGHTS}
    show(asked, shares)
    if options.fit:
        best = max(WEIGHTS, key=lambda weight: shares[weight]["all"])
        write(options.model, read_json(options.model / CONFIG).get("calibration", {}) | {"per_rank": best})


def answer_pairs(options: argparse.Namespace, languages: list[str]) -> list[Asked]:
    """Each question of each pair of languages with the answers of its passages."""
    folder = options.data / "xquad_r"
    questions, _ = xquad(folder, languages, "tune", options.questions)
    scorer = SpanScorer(options.model)
    entries: list[Asked] = []
    with reading(options, languages) as client:
        for target in languages:
            texts = documents(folder, "paragraph", target)
            for source in languages:
                passages = retrieve_passages(client, questions[source], source, target, texts)
                entries += [
                    asked | {"source": source, "target": target}
                    for asked in of_pair(scorer, questions, source, target, texts, passages)
                ]
            Console().print(f"paragraphs in {target}: {len(entries)} questions")
    return entries


def retrieve_passages(
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
    places = [(key, place, passage) for key, ranked in passages.items() for place, passage in enumerate(ranked)]
    requests = [Request(questions[source][key]["text"], texts[passage], source != target) for key, _, passage in places]
    asked: dict[str, Asked] = {
        key: {"own": ranked.index(para) if (para := questions[target][key]["para"]) in ranked else None, "answers": []}
        for key, ranked in passages.items()
    }
    for (key, place, _), answers in zip(places, answer_requests(scorer, requests, ANSWERS), strict=True):
        reference = questions[target][key]["answer"]
        asked[key]["answers"] += [[place, answer.score, f1(answer.text, [reference], target)] for answer in answers]
    return list(asked.values())


def by_weight(asked: Sequence[Asked], weight: float) -> dict[str, float]:
    """F1 in percent of the best answers: of all pairs, within a language, and across languages."""
    values = np.array([best(entry["answers"], weight) for entry in asked])
    same = np.array([entry["source"] == entry["target"] for entry in asked])
    return {"all": values.mean(), "same": values[same].mean(), "across": values[~same].mean()}


def best(answers: Sequence[tuple[int, float, float]], weight: float) -> float:
    """F1 in percent of the answer that has the highest score less the weight times its passage's place."""
    return 100 * max(answers, key=lambda answer: answer[1] - weight * answer[0])[2] if answers else 0.0


def show(asked: Sequence[Asked], shares: Mapping[float, Mapping[str, float]]) -> None:
    """Print where the own passages stand, and F1 by weights."""
    places = [entry["own"] for entry in asked]
    Console().print({place: f"{100 * places.count(place) / len(places):.1f}%" for place in (*range(PASSAGES), None)})
    table = Table("weight", *next(iter(shares.values())), title=f"F1 of {len(asked)} questions")
    for weight, row in shares.items():
        table.add_row(f"{weight:g}", *(f"{score:.1f}" for score in row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
