"""One system of `dragoman_lab/benchmarks/reranking/throughput.py`, in a separate process and optionally environment.

    python -m dragoman_lab.benchmarks.reranking.system ours FOLDER

FOLDER has the model and the pairs. Commands are read from standard input, responses are written to standard output,
both as JSON lines: first the name of the system, or its missing package; then the seconds of each requested run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

PACKAGES = {"ours": "dragoman", "forward": "dragoman", "late": "dragoman", "cross-encoder": "sentence_transformers",
            "infinity": "infinity_emb", "matrix": "dragoman"}  # fmt: skip

Lists = list[dict[str, Any]]
"""Queries, each with its documents and the translations of its words."""


def ours(options: argparse.Namespace, lists: Lists) -> Callable[[], list[float]]:
    """Ours, from texts to scores as in the service without HTTP; --mat adds words, links and two MAT layers."""
    from dragoman.ranking.scoring import Scorer
    from dragoman_lab.benchmarks.reranking.model import mart_of, read_list

    scorer = Scorer(mart_of(options.folder / "model", options.mat, options.device), options.tokens, dtype(options))

    def run() -> list[float]:
        rows = [row for candidate_list in lists for row in read_list(scorer, candidate_list, options.mat)]
        return scorer.scores(rows)

    return run


def forward(options: argparse.Namespace, lists: Lists) -> Callable[[], list[float]]:
    """Ours, from prepared subwords: the model alone."""
    from dragoman.ranking.scoring import Scorer
    from dragoman_lab.benchmarks.reranking.model import mart_of, read_list

    scorer = Scorer(mart_of(options.folder / "model", options.mat, options.device), options.tokens, dtype(options))
    rows = [row for candidate_list in lists for row in read_list(scorer, candidate_list, options.mat)]
    return lambda: scorer.scores(rows)


def late(options: argparse.Namespace, lists: Lists) -> Callable[[], list[float]]:
    """The default reranker over e5, from texts to scores as in the service without HTTP, with links."""
    from dragoman.ranking.about import LATE
    from dragoman.ranking.scoring import load_scorer
    from dragoman_lab.benchmarks.reranking.model import read_list

    scorer, _ = load_scorer(LATE, options.device)

    def run() -> list[float]:
        rows = [row for candidate_list in lists for row in read_list(scorer, candidate_list, True)]
        return scorer.scores(rows)

    return run


def cross_encoder(options: argparse.Namespace, lists: Lists) -> Callable[[], list[float]]:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(options.folder / "model"), device=options.device, model_kwargs={"dtype": dtype(options)})
    pairs = [
        (candidate_list["query"], document) for candidate_list in lists for document in candidate_list["documents"]
    ]
    settings = {"activation_fn": torch.nn.Identity(), "show_progress_bar": False}

    def run() -> list[float]:
        return model.predict(pairs, batch_size=options.batch_size, **settings).tolist()  # type: ignore[no-any-return]

    return run


def infinity(options: argparse.Namespace, lists: Lists) -> Callable[[], list[float]]:
    """Infinity's engine without HTTP server and warm-up, with all queries at once."""
    from infinity_emb import AsyncEngineArray, EngineArgs

    chosen = {"dtype": "bfloat16"} if options.bf16 else {"dtype": "float32"}
    arguments = EngineArgs(
        model_name_or_path=str(options.folder / "model"),
        engine="torch",
        device=options.device,
        model_warmup=False,
        **chosen,
    )
    loop = asyncio.new_event_loop()
    engine = AsyncEngineArray.from_args([arguments])[0]
    loop.run_until_complete(engine.astart())

    async def score(candidate_list: dict[str, Any]) -> list[float]:
        ranked, _ = await engine.rerank(
            query=candidate_list["query"], docs=candidate_list["documents"], raw_scores=True
        )
        values = {each.index: float(each.relevance_score) for each in ranked}
        return [values[index] for index in range(len(values))]

    async def score_all() -> list[list[float]]:
        return await asyncio.gather(*map(score, lists))

    return lambda: [score for scores in loop.run_until_complete(score_all()) for score in scores]


def matrix(options: argparse.Namespace, lists: Lists) -> Callable[[], list[float]]:
    """Products of square matrices with the fastest kernel, to measure the operations per second."""
    from dragoman.backbone.products import Product

    size = options.matrix
    a, b = (torch.randn(size, size, device=options.device).to(dtype(options)) for _ in range(2))
    product = Product(b, None)

    def run() -> list[float]:
        for _ in range(options.products):
            product(a)
        return []

    return run


def dtype(options: argparse.Namespace) -> torch.dtype:
    return torch.bfloat16 if options.bf16 else torch.float32


SYSTEMS = {
    "ours": ours,
    "forward": forward,
    "late": late,
    "cross-encoder": cross_encoder,
    "infinity": infinity,
    "matrix": matrix,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("system", choices=sorted(SYSTEMS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--mat", action="store_true", help="ours: two MAT layers")
    parser.add_argument("--tokens", type=int, help="ours: padded tokens of a batch")
    parser.add_argument("--batch-size", type=int, default=32, help="cross-encoder: pairs of a batch")
    parser.add_argument("--matrix", type=int, default=2048)
    parser.add_argument("--products", type=int, default=10)
    options = parser.parse_args()
    responses = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries must not mix with responses
    if options.threads:
        torch.set_num_threads(options.threads)
    package = PACKAGES[options.system]
    try:
        version = getattr(__import__(package), "__version__", "")
        run = SYSTEMS[options.system](options, json.loads((options.folder / "pairs.json").read_text()))
    except ModuleNotFoundError as fault:
        send(responses, {"missing": fault.name})
        return
    send(responses, {"system": f"{package} {version}".strip(), "torch": torch.__version__})
    for line in sys.stdin:
        if "batch_size" in (command := json.loads(line)):
            options.batch_size = command["batch_size"]
        send(responses, time_run(run, options.device))
    os._exit(0)  # Infinity's threads never end


def time_run(run: Callable[[], list[float]], device: str) -> dict[str, Any]:
    started, used = time.perf_counter(), time.process_time()
    scores = run()
    if device != "cpu":
        torch.cuda.synchronize()
    return {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - used, "scores": scores}


def send(responses: Any, what: dict[str, Any]) -> None:
    print(json.dumps(what), file=responses, flush=True)


if __name__ == "__main__":
    main()
