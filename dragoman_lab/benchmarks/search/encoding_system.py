"""One system of `dragoman_lab/benchmarks/search/encoding_speed.py`, in a separate process and optionally environment.

    python -m dragoman_lab.benchmarks.search.encoding_system ours FOLDER

FOLDER has the model as Hugging Face folder and the texts. Commands are read from standard input, responses are written
to standard output, both as JSON lines. The first is the name of the system, or its missing package. Then follow of each
run the seconds for all passages, the milliseconds of each query, and the peak of resident memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dragoman_lab.benchmarks.memory import mebibytes

Encode = Callable[[Sequence[str], str], Any]
"""Unit vectors (texts, width) of texts of a kind, query or passage."""


def ours(options: argparse.Namespace) -> Encode:
    """Ours as in the service, without HTTP: from the package's own file."""
    import torch

    from dragoman.backbone.loading import load_encoder
    from dragoman.backbone.sentences import SentenceEncoder

    dtype = None if options.dtype is None else getattr(torch, options.dtype)
    return SentenceEncoder(load_encoder("e5-small"), dtype=dtype).encode


def sentence_transformers(options: argparse.Namespace) -> Encode:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(options.folder / "model"), device="cpu")

    def encode(texts: Sequence[str], kind: str) -> Any:
        prefixed = [f"{kind}: {text}" for text in texts]
        return model.encode(prefixed, batch_size=options.batch_size, show_progress_bar=False)

    return encode


def infinity(options: argparse.Namespace) -> Encode:
    """Infinity's engine without HTTP server and warm-up, with all texts at once."""
    from infinity_emb import AsyncEngineArray, EngineArgs

    arguments = EngineArgs(
        model_name_or_path=str(options.folder / "model"),
        engine="torch",
        device="cpu",
        dtype="float32",
        model_warmup=False,
        batch_size=options.batch_size,
        bettertransformer=False,
    )
    loop = asyncio.new_event_loop()
    engine = AsyncEngineArray.from_args([arguments])[0]
    loop.run_until_complete(engine.astart())

    def encode(texts: Sequence[str], kind: str) -> Any:
        vectors, _ = loop.run_until_complete(engine.embed(sentences=[f"{kind}: {text}" for text in texts]))
        return vectors

    return encode


SYSTEMS = {"ours": ours, "sentence_transformers": sentence_transformers, "infinity_emb": infinity}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("system", choices=sorted(SYSTEMS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--batch-size", type=int, default=32, help="of the others")
    parser.add_argument("--dtype", help="ours: float32, bfloat16 or int8; default: the fastest here")
    options = parser.parse_args()
    responses = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries must not mix with responses
    try:
        import torch

        if options.threads:
            torch.set_num_threads(options.threads)
        package = "dragoman" if options.system == "ours" else options.system
        version = getattr(__import__(package), "__version__", "")
        started = time.perf_counter()
        encode = SYSTEMS[options.system](options)
    except ModuleNotFoundError as fault:
        send(responses, {"missing": fault.name})
        return
    about = {"system": f"{package} {version}".strip(), "torch": torch.__version__}
    send(responses, about | {"load_seconds": time.perf_counter() - started, **memory()})
    texts = json.loads((options.folder / "texts.json").read_text(encoding="utf-8"))
    for line in sys.stdin:
        send(responses, time_run(encode, texts, **json.loads(line)))
    os._exit(0)  # Infinity's threads never end


def time_run(encode: Encode, texts: dict[str, list[str]], vectors: bool = False) -> dict[str, Any]:
    """One run: all passages, then each query by itself; with ``vectors`` also the vectors of some passages."""
    begun, used = time.perf_counter(), time.process_time()
    passage_vectors = encode(texts["passages"], "passage")
    seconds, cpu = time.perf_counter() - begun, time.process_time() - used
    milliseconds = []
    for query in texts["queries"]:
        begun = time.perf_counter()
        encode([query], "query")
        milliseconds.append((time.perf_counter() - begun) * 1000)
    result = {"seconds": seconds, "cpu_seconds": cpu, "milliseconds": milliseconds, **memory()}
    if vectors:
        result["vectors"] = [[float(component) for component in row] for row in passage_vectors[:100]]
    return result


def memory() -> dict[str, float]:
    """Resident memory now and its peak, MiB (Linux)."""
    return {"rss": mebibytes("self"), "peak": mebibytes("self", "VmHWM")}


def send(responses: Any, what: dict[str, Any]) -> None:
    print(json.dumps(what), file=responses, flush=True)


if __name__ == "__main__":
    main()
