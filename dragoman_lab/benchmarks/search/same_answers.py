"""Whether two checkouts answer the demo's queries alike: the same hits, order, scores and evidence.

    python -m dragoman_lab.benchmarks.search.same_answers --baseline CHECKOUT

Each checkout loads and serves the demo. Its English queries are asked by every method, without reranking and with the
best ten hits reranked, with ``explain`` and ``gloss``, and with names as a search has them by itself. Numbers
may differ by ``--tolerance``; times and request ids are left out. Precision and threads are fixed.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from dragoman_lab.benchmarks.hostile.service import Service

ROOT = Path(__file__).resolve().parents[3]
_METHODS = (None, "psq", "smt", "none", "dense", "hybrid")
_RERANKS = (False, {"depth": 10})
_LEFT_OUT = frozenset({"request_id", "timings_ms"})


def answers(checkout: Path) -> dict[str, Any]:
    """The answers of a checkout by query, method and reranking."""
    lines = (files("dragoman") / "demo" / "queries.en.jsonl").read_text(encoding="utf-8").splitlines()
    answers_by_title: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        service = Service(
            checkout, Path(folder, "data"), encoder_precision="float32", torch_threads="1", request_seconds="600"
        )
        service.load_demo()
        service.start()
        try:
            with service.client("none") as client:
                service.wait_for_embeddings(client)
                for line, method, rerank in product(lines, _METHODS, _RERANKS):
                    query = json.loads(line)["text"]
                    body = {"query": query, "method": method, "rerank": rerank, "explain": True, "gloss": True}
                    title = f"{query!r} by {method or 'default'}, rerank {json.dumps(rerank)}"
                    answer = client.post("/v1/search", json=body).raise_for_status()
                    answers_by_title[title] = {
                        name: part for name, part in answer.json().items() if name not in _LEFT_OUT
                    }
        finally:
            service.stop()
    return answers_by_title


def difference(before: Any, now: Any, tolerance: float, place: str = "") -> str | None:
    """Where two answers differ first, and how; None if they are alike. Fields that are new do not count."""
    if isinstance(before, dict) and isinstance(now, dict):
        steps = ((before[name], now.get(name), f"{place}.{name}") for name in before)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        steps = (
            (first, second, f"{place}[{index}]") for index, (first, second) in enumerate(zip(before, now, strict=True))
        )
    elif isinstance(before, float) and isinstance(now, float | int):
        return None if math.isclose(before, now, rel_tol=0, abs_tol=tolerance) else f"{place}: {before} is now {now}"
    else:
        return None if before == now else f"{place}: {str(before)[:200]} is now {str(now)[:200]}"
    return next((description for step in steps if (description := difference(*step[:2], tolerance, step[2]))), None)


def main() -> None:
    """Print how many answers are alike, and the first difference of each other one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, required=True, help="the other checkout")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    arguments = parser.parse_args()
    before, now = answers(arguments.baseline.resolve()), answers(ROOT)
    differences = {title: difference(before[title], now[title], arguments.tolerance) for title in before}
    for title, description in differences.items():
        if description is not None:
            print(f"{title}: {description}")  # noqa: T201
    alike = sum(description is None for description in differences.values())
    print(f"{alike} of {len(differences)} answers are alike")  # noqa: T201


if __name__ == "__main__":
    main()
