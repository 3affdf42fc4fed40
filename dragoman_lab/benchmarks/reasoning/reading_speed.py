"""Questions with given paragraphs a second: through the service, and by the reader alone in one process.

    python -m dragoman_lab.benchmarks.reasoning.reading_speed --model runs/qa/spans/model --data DATA/xquad_r \
        --threads 2

The questions are XQuAD's of `--split`, at even distances, in all languages in turn, each with its own paragraph: in the
question's language (`one language`), or in the next one of the list (`two languages`, structured attention). Both
languages are given. `reader` reads all in one call of `question_answering.answer_requests`, for the rate, and then each
by itself, for the latency. `service` is `dragoman serve` in a process of its own, with `POST /v1/qa` from `--clients`
at a time, who ask the questions over and over for `--seconds`; it has as many threads. Subwords are those of the
rows that are read, with the special ones. Memory is the resident peak: of this process after reading, with the reader's
weights, and of each process of the service at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from dragoman.reasoning.inference import SpanScorer
from dragoman.reasoning.question_answering import AnswerExtraction, Request, answer_requests
from dragoman_lab.benchmarks.load.throughput import ask
from dragoman_lab.benchmarks.memory import below, mebibytes
from dragoman_lab.benchmarks.reasoning.xquad_qa import LANGUAGES, xquad
from dragoman_lab.evaluation.benchmark import SPLITS
from dragoman_lab.evaluation.serving import post, serve_temporarily

WARM_UP = 8
"""Questions asked before any is timed."""


@dataclass(frozen=True)
class Question:
    """A question, its paragraph, and their languages."""

    text: str
    context: str
    source: str
    target: str

    @property
    def body(self) -> dict[str, str]:
        """What is sent to `POST /v1/qa`."""
        languages = {"question_language": self.source, "context_language": self.target}
        return {"question": self.text, "context": self.context, **languages}

    @property
    def request(self) -> Request:
        """What is given to the reader."""
        return Request(self.text, self.context, self.source != self.target)


def main() -> None:
    """Print the rates, the latencies and the memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="the folder xquad_r")
    parser.add_argument("--output", type=Path, help="folder for report.json")
    parser.add_argument("--languages", default=LANGUAGES)
    parser.add_argument("--split", choices=SPLITS, default="tune")
    parser.add_argument("--questions", type=int, default=220, help="different ones of each kind; 0: all")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20.0, help="of the service, for each kind")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    languages = arguments.languages.split(",")
    kinds = {
        name: questions(arguments.data, languages, arguments.split, arguments.questions, shift)
        for name, shift in (("one language", 0), ("two languages", 1))
    }
    scorer = SpanScorer(arguments.model)
    subwords = {name: subwords_of(scorer, asked) for name, asked in kinds.items()}
    rows = [{"by": "reader", "kind": kind, **of_reader(scorer, asked, subwords[kind])} for kind, asked in kinds.items()]
    memory = {"reader": mebibytes("self", "VmHWM")}
    settings = {"DRAGOMAN_READER": str(arguments.model), "DRAGOMAN_TORCH_THREADS": str(arguments.threads)}
    others = set(below(os.getpid()))  # what else this process has started has no part in the service
    with serve_temporarily(settings=settings) as client:
        for kind, asked in kinds.items():
            figures = of_service(client, asked, subwords[kind], arguments.clients, arguments.seconds)
            rows.append({"by": "service", "kind": kind, **figures})
        for index, process in enumerate((child for child in below(os.getpid()) if child not in others), 1):
            memory[f"service, process {index}"] = mebibytes(process, "VmHWM")
    report(arguments, rows, memory)


def questions(folder: Path, languages: list[str], split: str, count: int, shift: int) -> list[Question]:
    """Questions in all languages in turn, each with its paragraph in the language that comes `shift` later."""
    by_language, paragraphs = xquad(folder, languages, split, count)
    asked = []
    for index, key in enumerate(by_language[languages[0]]):
        source, target = (languages[(index + further) % len(languages)] for further in (0, shift))
        asked.append(
            Question(by_language[source][key]["text"], paragraphs[by_language[target][key]["para"]], source, target)
        )
    return asked


def subwords_of(scorer: SpanScorer, asked: Sequence[Question]) -> list[int]:
    """The subwords that are read for each question, in all its rows."""
    counts = [0] * len(asked)
    for part in AnswerExtraction(scorer.encoder, [question.request for question in asked]).parts:
        counts[part.request] += len(part.row.ids)
    return counts


def of_reader(scorer: SpanScorer, asked: Sequence[Question], subwords: Sequence[int]) -> dict[str, float]:
    """The rate of all questions in one call, and the latency of each by itself."""
    requests = [question.request for question in asked]
    answer_requests(scorer, requests[:WARM_UP])
    begun = time.perf_counter()
    answer_requests(scorer, requests)
    seconds = time.perf_counter() - begun
    milliseconds = []
    for request in requests:
        begun = time.perf_counter()
        answer_requests(scorer, [request])
        milliseconds.append((time.perf_counter() - begun) * 1000)
    return figures_of(len(asked), sum(subwords), seconds, milliseconds)


def of_service(
    client: httpx.Client, asked: Sequence[Question], subwords: Sequence[int], clients: int, seconds: float
) -> dict[str, float]:
    """The rate and the latency of questions asked over and over by several clients."""
    for question in asked[:WARM_UP]:
        post(client, "/v1/qa", json=question.body)
    answered = ask(f"{client.base_url}/v1/qa", [question.body for question in asked], clients, seconds)
    count = len(answered["milliseconds"])
    read_subwords = sum(subwords[index % len(subwords)] for index in range(count))
    return figures_of(count, read_subwords, answered["seconds"], answered["milliseconds"])


def figures_of(count: int, subwords: int, seconds: float, milliseconds: Sequence[float]) -> dict[str, float]:
    """Rates a second, and the median and the 95th percentile of the latency in milliseconds."""
    median, p95 = np.percentile(milliseconds, [50, 95]).tolist()
    return {
        "questions": count,
        "questions_per_second": count / seconds,
        "subwords_per_second": subwords / seconds,
        "median": median,
        "p95": p95,
    }


def report(arguments: argparse.Namespace, rows: list[dict[str, Any]], memory: dict[str, float]) -> None:
    """Print the table and the memory, and write them where that is asked for."""
    title = f"{arguments.threads} threads, {arguments.clients} clients of the service"
    table = Table("", "", "questions", "questions/s", "subwords/s", "median, ms", "p95, ms", title=title)
    for row in rows:
        rates = [f"{row['questions_per_second']:.1f}", f"{row['subwords_per_second']:,.0f}"]
        table.add_row(
            row["by"], row["kind"], str(row["questions"]), *rates, *(f"{row[x]:.0f}" for x in ("median", "p95"))
        )
    Console(width=100).print(table)
    for name, peak in memory.items():
        Console().print(f"peak of resident memory, {name}: {peak:,.0f} MiB")
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        content = {"threads": arguments.threads, "clients": arguments.clients, "rows": rows, "peak_mebibytes": memory}
        (arguments.output / "report.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
