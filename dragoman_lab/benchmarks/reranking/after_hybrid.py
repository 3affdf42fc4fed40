"""Hybrid search and a reranker together: MAP@100 by the reranker's weight and depth, on XQuAD-R's sentences.

    python -m dragoman_lab.benchmarks.reranking.after_hybrid --model runs/mart/e5/model --data DATA \
        --work runs/search \\
        --output runs/mart/after-hybrid
    python -m dragoman_lab.benchmarks.reranking.after_hybrid --model runs/mart/e5/model --data DATA \
        --work runs/search \\
        --output runs/mart/after-hybrid-test --split test --depth 20 --weight .1

Starts `dragoman serve` with the reranker and the tables between English and each language, trained once as in
`benchmarks/retrieval/first_stage.py` and kept in the work folder. Each question is sent to `POST /v1/search`, with
nothing but its collection, for the best 100 hits, and the best of these to `POST /v1/rerank`, for the logits. They are
ordered by hybrid's score + weight * logit. Without `--weight` every weight is shown at every depth up to `--depth`;
with it that one, its p-value against hybrid (two-tailed paired t-test of the questions' means over all directions), and
each direction. Directions that the output folder has are not measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.ranking.about import folder_of
from dragoman_lab.benchmarks.search.measuring import check_complete
from dragoman_lab.benchmarks.search.quality import MAIN, tables_of, tasks
from dragoman_lab.evaluation.benchmark import SPLITS, Benchmark
from dragoman_lab.evaluation.evaluation import DEPTH, paired_p
from dragoman_lab.evaluation.search_client import CLIENTS, SearchClient, open_search_client
from dragoman_lab.evaluation.serving import post
from dragoman_lab.ranking.measuring import average_precision, evenly_spaced_indices

DEPTHS = (10, 20, 50)
WEIGHTS = (0.0, 0.001, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 1.0, 100.0)
"""Of a logit beside hybrid's score; the last one is the reranker alone."""


@dataclass(frozen=True)
class Question:
    """The hits of a question, best first: hybrid's scores, the reranker's logits of the best, and relevance."""

    name: str
    hybrid: list[float]
    logits: list[float]
    relevant: list[bool]
    count: int
    """Relevant documents, found or not."""

    def average_precision(self, weight: float, depth: int) -> float:
        """Of the order by both scores, the hits beyond `depth` following as they are."""
        depth = min(depth, len(self.logits))
        scores = np.array(self.hybrid[:depth]) + weight * np.array(self.logits[:depth])
        order = np.argsort(-scores, kind="stable").tolist()
        relevant = [self.relevant[place] for place in order] + self.relevant[depth:]
        return average_precision(-np.arange(len(relevant), dtype=float), relevant, self.count)


def main() -> None:
    """Measure what the output folder has not, and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a reranker's folder, or a shipped one")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps trained tables")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, help="data directory of the service, kept; default: a temporary one")
    parser.add_argument("--split", choices=SPLITS, default="tune", help="of XQuAD-R's questions")
    parser.add_argument("--languages", default=",".join(MAIN))
    parser.add_argument("--questions", type=int, help="of each direction, evenly spaced; default: all")
    parser.add_argument("--depth", type=int, default=max(DEPTHS))
    parser.add_argument("--weight", type=float)
    parser.add_argument("--permissive", action="store_true", help="train only on data with permissive licences")
    arguments = parser.parse_args()
    if arguments.split == "test" and arguments.weight is None:
        parser.error("--weight is chosen on tuning questions, and required with --split test")
    languages = arguments.languages.split(",")
    arguments.output.mkdir(parents=True, exist_ok=True)
    tables = tables_of(arguments.data, languages, arguments.work, arguments.permissive)
    directions: dict[str, list[Question]] = {}
    settings = {"DRAGOMAN_RERANKER": arguments.model, "DRAGOMAN_RERANK": "never"}
    with open_search_client(None, tables, embeddings=True, data_dir=arguments.data_dir, settings=settings) as client:
        for task in tasks(arguments.data, "xquad_r", languages, "sentence", arguments.split):
            name = f"{task.source}-{task.target}"
            directions[name] = measure_direction(arguments, client, task, arguments.output / f"{name}.json")
            print(name, f"{_mean(directions[name], 0, 0):.4f}", flush=True)  # noqa: T201
    text = table(directions, arguments.depth) if arguments.weight is None else comparison(directions, arguments)
    (arguments.output / "summary.md").write_text(text + "\n", encoding="utf-8")
    print(text)  # noqa: T201


def measure_direction(
    arguments: argparse.Namespace, client: SearchClient, task: Benchmark, path: Path
) -> list[Question]:
    """A direction's questions; those of an earlier run with the same options, if there are."""
    options = ("model", "split", "questions", "depth", "permissive", "work")
    made_by = {name: str(getattr(arguments, name)) for name in options}
    made_by["weights"] = checksum_of_model(arguments.model)
    made_by["precision"] = os.environ.get("DRAGOMAN_RERANK_PRECISION", "")
    if path.exists() and (saved := json.loads(path.read_text(encoding="utf-8")))["made_by"] == made_by:
        return [Question(**record) for record in saved["questions"]]
    names = [list(task.queries)[place] for place in evenly_spaced_indices(len(task.queries), arguments.questions)]
    queries = {name: task.queries[name] for name in names}
    collection = client.collection(f"xquad_r-sentence-{task.target}", task.target, task.documents)
    title = f"{task.source}-{task.target}"
    answers = client.ask(queries, [collection], DEPTH, {"rerank": False}, title)
    check_complete(answers, title)

    def question(name: str) -> Question:
        hits = answers.run[name]
        best = [task.documents[document_id] for document_id in islice(hits, arguments.depth)]
        scores = logits(client, task.queries[name], best, task.target)
        relevant = {document_id for document_id, grade in task.qrels[name].items() if grade > 0}
        return Question(
            name, list(hits.values()), scores, [document_id in relevant for document_id in hits], len(relevant)
        )

    with ThreadPoolExecutor(CLIENTS) as clients:
        questions = list(clients.map(question, queries))
    saved = {"made_by": made_by, "questions": [asdict(entry) for entry in questions]}
    path.write_text(json.dumps(saved) + "\n", encoding="utf-8")
    return questions


def checksum_of_model(name: str) -> str:
    """Of a reranker's files, so that another model of the same name is measured again."""
    files = sorted(path for path in folder_of(name).rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).hexdigest()


def logits(client: SearchClient, query: str, documents: Sequence[str], language: str) -> list[float]:
    """The reranker's logits of documents, in their order."""
    request: dict[str, Any] = {"query": query, "documents": documents, "document_language": language}
    answer = post(client.client, "/v1/rerank", json=request | {"raw_scores": True}).json()
    scores = {result["index"]: float(result["relevance_score"]) for result in answer["results"]}
    return [scores[place] for place in range(len(documents))]


def table(directions: Mapping[str, Sequence[Question]], deepest: int) -> str:
    """A Markdown table of the mean over the directions by weight and depth."""
    depths = [depth for depth in DEPTHS if depth <= deepest]
    lines = [f"| weight | {' | '.join(f'best {depth}' for depth in depths)} |", "|---" * (len(depths) + 1) + "|"]
    for weight in WEIGHTS:
        means = [np.mean([_mean(questions, weight, depth) for questions in directions.values()]) for depth in depths]
        lines.append(f"| {weight} | {' | '.join(f'{mean:.4f}' for mean in means)} |")
    return "\n".join(lines)


def comparison(directions: Mapping[str, Sequence[Question]], arguments: argparse.Namespace) -> str:
    """A Markdown table of one weight and depth beside hybrid, by direction and in the mean."""
    lines = ["| direction | hybrid | reranked | p |", "|---|---|---|---|"]
    orders: dict[str, list[np.ndarray[Any, Any]]] = {"hybrid": [], "reranked": []}
    for name, questions in directions.items():
        for order, weight in (("hybrid", 0.0), ("reranked", arguments.weight)):
            orders[order].append(
                np.array([question.average_precision(weight, arguments.depth) for question in questions])
            )
        lines.append(_line(name, orders["hybrid"][-1], orders["reranked"][-1]))
    means = [np.mean(values, 0) for values in orders.values()]
    return "\n".join([*lines, _line("mean", *means)])


def _line(name: str, hybrid: np.ndarray[Any, Any], reranked: np.ndarray[Any, Any]) -> str:
    p = f"{paired_p(reranked, hybrid):.2g}" if len(hybrid) > 1 and (reranked != hybrid).any() else ""
    return f"| {name} | {hybrid.mean():.4f} | {reranked.mean():.4f} | {p} |"


def _mean(questions: Sequence[Question], weight: float, depth: int) -> float:
    return float(np.mean([question.average_precision(weight, depth) for question in questions]))


if __name__ == "__main__":
    main()
