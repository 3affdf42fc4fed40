"""Reranking throughput of Dragoman, sentence-transformers' CrossEncoder and Infinity, on the same weights and pairs.

    python -m dragoman_lab.benchmarks.reranking.throughput [--cross-encoder PYTHON] [--infinity PYTHON] [--bf16] \
        [--threads 2]
    python -m dragoman_lab.benchmarks.reranking.throughput --device cuda --shape bert-base --bf16 --queries 64

Uses a BERT with random weights, or multilingual-e5-small (`--shape e5-small`), and queries with documents of 8 to 400
subwords. Each system runs in a separate process with its own interpreter. In each round each system scores all pairs
once, from texts to scores, in float32 and with `--bf16` also in bfloat16. CrossEncoder and Infinity run with their
defaults, CrossEncoder also with its best batch size. Beside e5 runs `late`, over the same weights and in the precision
of the service. Prints a table of medians over the rounds; ratios are medians of the ratios of each round. Scores must
agree, but for those of `late`, which does not read query and document together.

Rates are pairs and subwords per second (with special tokens, without padding). The share of the matrix rate is the
number of operations of all matrix products and attention for these subwords, divided by the operations of a product of
square matrices in the same time.
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
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.backbone.pretrained import e5
from dragoman_lab.benchmarks.reranking.model import SHAPES, make_lists, write_model

BATCH_SIZES = (8, 16, 64)
REFERENCE = "CrossEncoder"
LATE = "late, the default reranker"
SQUARES = {"cpu": (2048, 5), "cuda": (8192, 10)}
"""Size of the square matrices, and number of products per run."""


@dataclass
class System:
    """A process that scores all pairs on request."""

    name: str
    process: subprocess.Popen[str]
    about: dict[str, Any] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)

    def run(self, **request: Any) -> dict[str, Any]:
        """One run's seconds and scores.

        Raises:
            RuntimeError: if the process has ended.
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
    command = [python, "-m", "dragoman_lab.benchmarks.reranking.system", *arguments]
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
    options = parse_options()
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary)
        write_model(folder / "model", options.shape)
        lists = make_lists(options.queries, options.documents, 8, options.longest)
        (folder / "pairs.json").write_text(json.dumps(lists))
        systems = [stack.enter_context(start_system(*arguments)) for arguments in plan(options, folder)]
        ready = [system for system in systems if "missing" not in system.about]
        for system in ready:
            system.run()  # warm-up of kernels, caches and clocks
        for system in ready:
            if system.name.endswith(", best batch"):
                best = min(BATCH_SIZES, key=lambda size, system=system: system.run(batch_size=size)["seconds"])  # type: ignore[misc]
                system.run(batch_size=best)
                system.name = system.name.replace("best batch", f"batches of {best}")
        for round_index in range(options.rounds):
            turn = round_index % len(ready)
            for system in ready[turn:] + ready[:turn]:
                system.runs.append(system.run())
            print(f"round {round_index + 1} of {options.rounds}", file=sys.stderr)  # noqa: T201
        report(options, systems, lengths(folder, lists))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="minilm")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--bf16", action="store_true", help="also in bfloat16")
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--documents", type=int, default=64, help="of each query")
    parser.add_argument("--longest", type=int, default=400, help="subwords of the longest document; the shortest has 8")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=None, help="of each system; default: torch's own")
    parser.add_argument("--tokens", type=int, default=None, help="padded tokens of our batches")
    parser.add_argument("--cross-encoder", default=sys.executable, metavar="PYTHON", help="with sentence-transformers")
    parser.add_argument("--infinity", default=sys.executable, metavar="PYTHON", help="with infinity-emb[torch]")
    parser.add_argument("--ours-alone", action="store_true")
    return parser.parse_args()


def plan(options: argparse.Namespace, folder: Path) -> list[tuple[str, str, list[str]]]:
    """The systems: name, interpreter and arguments of the process."""
    common = [str(folder), "--device", options.device]
    common += ["--threads", str(options.threads)] if options.threads else []
    budget = ["--tokens", str(options.tokens)] if options.tokens else []
    size, count = SQUARES[options.device]
    square = ["--matrix", str(size), "--products", str(count)]
    systems = []
    for precision in [[], ["--bf16"]] if options.bf16 else [[]]:
        suffix, end = " bf16" if precision else "", [*common, *precision]
        systems += [
            (f"matrix product{suffix}", sys.executable, ["matrix", *end, *square]),
            (f"ours{suffix}", sys.executable, ["ours", *end, *budget]),
            (f"ours, MAT{suffix}", sys.executable, ["ours", *end, *budget, "--mat"]),
            (f"ours, model alone{suffix}", sys.executable, ["forward", *end, *budget]),
        ]
        if options.shape == e5.NAME and not precision:
            systems.append((LATE, sys.executable, ["late", *end]))
        if not options.ours_alone:
            systems += [
                (f"{REFERENCE}{suffix}", options.cross_encoder, ["cross-encoder", *end]),
                (f"{REFERENCE}{suffix}, best batch", options.cross_encoder, ["cross-encoder", *end]),
                (f"Infinity{suffix}", options.infinity, ["infinity", *end]),
            ]
    return systems


def lengths(folder: Path, lists: list[dict[str, Any]]) -> list[int]:
    """The number of subwords of each pair, with special tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "model" / "tokenizer.json"))
    pairs = [
        (candidate_list["query"], document) for candidate_list in lists for document in candidate_list["documents"]
    ]
    return [len(encoding.ids) for encoding in tokenizer.encode_batch(pairs)]


def operations(shape: str, sizes: Sequence[int]) -> float:
    """Operations of all matrix products and attention, for rows without padding."""
    hyperparameters = SHAPES[shape]
    width, layers = hyperparameters["hidden_size"], hyperparameters["num_hidden_layers"]
    weights = 4 * width**2 + 2 * width * hyperparameters["intermediate_size"]
    return float(layers * sum(2 * weights * size + 4 * width * size**2 for size in sizes))


def report(options: argparse.Namespace, systems: list[System], sizes: list[int]) -> None:
    """Print a table, and the differences of scores."""
    quarters = [int(quartile) for quartile in np.percentile(sizes, [0, 25, 50, 75, 100])]
    print(  # noqa: T201
        f"{options.shape}, {options.device}, {options.queries} queries x {options.documents} documents, pairs of "
        f"{quarters[0]} to {quarters[-1]} subwords (quartiles {', '.join(map(str, quarters[1:-1]))}), "
        f"{sum(sizes):,} in all; medians of {options.rounds} rounds\n\n"
        "| | pairs/s | subwords/s | times CrossEncoder | by CPU time | of the matrix rate |\n|---|---|---|---|---|---|"
    )
    by_name = {system.name: system for system in systems}
    for system in systems:
        if system.runs and not system.name.startswith("matrix"):
            print(row(options, system, by_name, sizes))  # noqa: T201
    for system in systems:
        if "missing" in system.about:
            print(f"{system.name}: not measured, {system.about['missing']} is not installed")  # noqa: T201
        elif system.name.startswith("matrix"):
            print(f"{system.name}: {statistics.median(rates(options, system)) / 1e9:,.0f} GFLOP/s")  # noqa: T201
    versions = {f"{system.about['system']} (torch {system.about['torch']})" for system in systems if system.runs}
    print(*sorted(versions), sep="\n")  # noqa: T201
    print(agreement(by_name))  # noqa: T201


def row(options: argparse.Namespace, system: System, systems: dict[str, System], sizes: list[int]) -> str:
    """A system's line of the table; ratios are against CrossEncoder's defaults in the same precision."""
    suffix = " bf16" if " bf16" in system.name else ""
    middle = statistics.median(run["seconds"] for run in system.runs)
    reference = systems.get(f"{REFERENCE}{suffix}")
    ratios = [
        f"{statistics.median(b[unit] / a[unit] for a, b in zip(system.runs, reference.runs, strict=True)):.2f}"
        if reference and reference.runs
        else ""
        for unit in ("seconds", "cpu_seconds")
    ]
    if options.device == "cuda":
        ratios[1] = ""
    work = operations(options.shape, sizes)
    share = statistics.median(
        work / run["seconds"] / rate
        for run, rate in zip(system.runs, rates(options, systems[f"matrix product{suffix}"]), strict=True)
    )
    shown = "" if system.name == LATE else f"{share:.0%}"
    return (
        f"| {system.name} | {len(sizes) / middle:,.0f} | {sum(sizes) / middle:,.0f} | {' | '.join(ratios)} | {shown} |"
    )


def rates(options: argparse.Namespace, product: System) -> list[float]:
    """Operations per second of the square products in each round."""
    size, count = SQUARES[options.device]
    return [count * 2.0 * size**3 / run["seconds"] for run in product.runs]


def agreement(systems: dict[str, System]) -> str:
    """The differences of our scores from other systems', and of ours in bfloat16 from float32.

    Raises:
        SystemExit: if ours differ from CrossEncoder's by more than rounding errors.
    """
    scores = {name: np.array(system.runs[0]["scores"]) for name, system in systems.items() if system.runs}
    ours, lines = scores["ours"], [f"scores: standard deviation {scores['ours'].std():.3f}"]
    for other in (REFERENCE, "Infinity", "ours, model alone", "ours bf16", f"{REFERENCE} bf16"):
        if other in scores:
            lines.append(f"{other} against ours: at most {np.abs(ours - scores[other]).max():.1e} apart")
    if REFERENCE in scores and np.abs(ours - scores[REFERENCE]).max() > 1e-3 * max(1.0, float(np.abs(ours).max())):
        raise SystemExit("\n".join([*lines, "the same weights gave different scores"]))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
