"""A minimal FastAPI endpoint over the search engine, the baseline of `dragoman_lab/benchmarks/load/throughput.py`.

    python -m dragoman_lab.benchmarks.load.bare_endpoint DATA_DIR

It has no limits, request ids, metrics, error handling or strict body parsing, as in FastAPI's tutorial.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.service.server import _listen
from dragoman.store.collections.service import CollectionInfo


def bare_app(runtime: Runtime) -> FastAPI:
    """An application with search and the state of the indexes."""
    app = FastAPI()

    @app.post("/v1/search", response_model_exclude_unset=True)
    def search(body: SearchQuery) -> SearchResponse:
        return runtime.search.search(body, "")

    @app.get("/v1/collections")
    def collections() -> dict[str, list[dict[str, Any]]]:
        return {"collections": [_state(runtime, info) for info in runtime.collections.all()]}

    return app


def _state(runtime: Runtime, info: CollectionInfo) -> dict[str, Any]:
    coverage = runtime.dense.coverage(info.key)
    complete = coverage is not None and coverage.missing == 0
    return {
        "name": info.name,
        "index": {"state": info.index_state},
        "embeddings": {"state": "complete" if complete else "building"},
    }


def main() -> None:
    """Serve on a free port until stopped; print the address to standard error."""
    runtime = Runtime(Settings.load(data_dir=Path(sys.argv[1]), rerank="never"))
    runtime.start()
    try:
        with _listen("127.0.0.1", 0) as listener:
            print(f"listens on http://127.0.0.1:{listener.getsockname()[1]}/", file=sys.stderr, flush=True)  # noqa: T201
            config = uvicorn.Config(bare_app(runtime), log_config=None, access_log=False, server_header=False)
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        runtime.close()


if __name__ == "__main__":
    main()
