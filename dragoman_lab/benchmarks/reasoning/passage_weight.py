"""What the order of search should count when answers of several passages are compared, on tuning questions of XQuAD.

    python -m dragoman_lab.benchmarks.reasoning.passage_weight --model dragoman/reasoning/weights/answers --data DATA \\
        --work runs/permissive --permissive --data-dir runs/qa/service --output runs/qa/passages.json

Asks the service for the best passages of each question, as `benchmarks.reasoning.xquad_retrieved` does, in all pairs of
languages; reads each passage, and keeps its best answers with their scores in the output. Of the answers of all
passages that one is given whose score, less the weight times how many passages search put before its own, is highest.
Prints F1 by weights, and with `--fit` writes the best weight, `per_rank`, into the calibration of the reader.

Also prints how true the reader's probabilities are after retrieval, of the best five passages where they have the
question's own one, and of the best five others: `no answer is said`, where its probability is at least one half, and
`likelier than the best one`, by which no answer is `found`.
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
from dragoman.reasoning.question_answering import ANSWERS, Answer, Calibration, Request, answer_requests
from dragoman_lab.benchmarks.reasoning.calibration import NO_ANSWER, write
from dragoman_lab.benchmarks.reasoning.xquad_qa import LANGUAGES, documents, xquad
from dragoman_lab.benchmarks.reasoning.xquad_retrieved import reading
from dragoman_lab.benchmarks.search.measuring import check_complete
from dragoman_lab.evaluation.benchmark import SPLITS
from dragoman_lab.evaluation.search_client import SearchClient
from dragoman_lab.reasoning.answers import f1
from dragoman_lab.reasoning.calibration import RIGHT

PASSAGES = 5
WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 100.0)
HEADINGS = ("no answer, mean", "it is said", "likelier than the best one", "best answer, mean", "it is right")
Asked = dict[str, Any]
"""A question's `source` and `target` language, the place of its own passage (None: not found), the subwords of each
passage (`lengths`), and of each answer the place of its passage, its score and its F1. One passage more is kept than is
read, for where the own one is removed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="the reader")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps trained tables")
    parser.add_argument("--output", type=Path, required=True, help="file of the answers, which is read where it exists")
    parser.add_argument("--data-dir", type=Path, help="data directory of the service, kept; default: a temporary one")
    parser.add_argument("--languages", default=LANGUAGES)
    parser.add_argument("--split", choices=SPLITS, default="tune")
    parser.add_argument("--questions", type=int, default=12, help="of each pair, at even distances")
    parser.add_argument("--permissive", action="store_true", help="train tables on data with permissive licences alone")
    parser.add_argument("--dictionaries", action="store_true", help="train no tables: those of dictionaries alone")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    if options.fit and options.split != "tune":
        parser.error("--fit: the weight is fitted on --split tune")
    torch.set_num_threads(options.threads)
    if not options.output.exists():
        asked = answer_pairs(options, options.languages.split(","))
        with atomic_file(options.output) as unfinished:
            unfinished.write_text(json.dumps(asked) + "\n", encoding="utf-8")
    asked = json.loads(options.output.read_text(encoding="utf-8"))
    shares = {weight: by_weight(asked, weight) for weight in WEIGHTS}
    show(asked, shares)
    show_probabilities(asked, SpanScorer(options.model).calibration)
    if options.fit:
        best = max(WEIGHTS, key=lambda weight: shares[weight]["all"])
        write(options.model, read_json(options.model / CONFIG).get("calibration", {}) | {"per_rank": best})


def answer_pairs(options: argparse.Namespace, languages: list[str]) -> list[Asked]:
    """Each question of each pair of languages with the answers of its passages."""
    folder = options.data / "xquad_r"
    questions, _ = xquad(folder, languages, options.split, options.questions)
    scorer = SpanScorer(options.model)
    entries: list[Asked] = []
    with reading(options, languages, "dictionaries" if options.dictionaries else "both") as client:
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
    hits = client.ask(asked, [collection], PASSAGES + 1, {"query_language": source}, f"{source}-{target}")
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
    lengths = [len(encoded.ids) for encoded in scorer.encoder.subwords([request.context for request in requests])]
    asked: dict[str, Asked] = {
        key: {
            "own": ranked.index(para) if (para := questions[target][key]["para"]) in ranked else None,
            "lengths": [],
            "answers": [],
        }
        for key, ranked in passages.items()
    }
    for (key, _, _), length in zip(places, lengths, strict=True):
        asked[key]["lengths"].append(length)
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
    read = [answer for answer in answers if answer[0] < PASSAGES]
    return 100 * max(read, key=lambda answer: answer[1] - weight * answer[0])[2] if read else 0.0


def remove_own(entry: Asked) -> Asked:
    """The question without its own passage: those behind it move up."""
    gone = entry["own"]
    if gone is None:
        return entry
    answers = [[place - (place > gone), score, share] for place, score, share in entry["answers"] if place != gone]
    lengths = [length for place, length in enumerate(entry["lengths"]) if place != gone]
    return entry | {"own": None, "answers": answers, "lengths": lengths}


def probabilities(entry: Asked, calibration: Calibration) -> tuple[float, float, bool]:
    """Of the passages that are read: the probability of the best answer and of none, and whether the best is right."""
    texts: list[list[Answer]] = [[] for _ in entry["lengths"][:PASSAGES]]
    for place, score, share in entry["answers"]:
        if place < PASSAGES:
            texts[place].append(Answer("", 0, int(share >= RIGHT), score))  # the end only says which are right
    ranked = [answer for _, answer in calibration.rank(texts)]
    each, none = calibration.probabilities(ranked, sum(entry["lengths"][:PASSAGES]))
    return (each[0], none, ranked[0].end == 1) if ranked else (0.0, none, False)


def show_probabilities(asked: Sequence[Asked], calibration: Calibration) -> None:
    """Print the means of the probabilities, and how often no answer is said, with the own passages and without them."""
    with_own = [entry for entry in asked if entry["own"] is not None and entry["own"] < PASSAGES]
    table = Table("own passage", "questions", *HEADINGS, title="probabilities after retrieval, %")
    for name, entries in (("read", with_own), ("removed", [remove_own(entry) for entry in with_own])):
        figures = np.array([probabilities(entry, calibration) for entry in entries]).reshape(-1, 3)
        best_one, none, right = figures.T
        columns = (none, none >= NO_ANSWER, none > best_one, best_one, right)
        table.add_row(name, str(len(entries)), *(f"{100 * float(column.mean()):.1f}" for column in columns))
    Console().print(table)


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
