"""A server with the interface of `peer_server.py` that ranks by words alike, in an environment without its packages."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import torch
import uvicorn
from fastapi import FastAPI, Request

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder


def application(documents: dict[str, str]) -> FastAPI:
    """The service over documents."""
    app = FastAPI()
    sentences = SentenceEncoder(load_encoder("e5-small"), dtype=torch.float32)

    @app.post("/search")
    async def search(request: Request) -> dict[str, Any]:
        body = await request.json()
        words = set(body["query"].lower().split())
        scores = {key: float(len(words & set(text.lower().split()))) for key, text in documents.items()}
        best = sorted(scores, key=scores.__getitem__, reverse=True)[: body["top_k"]]
        if body["weight"] != 0.5:
            best.reverse()
        return {"hits": [{"id": key, "score": -place} for place, key in enumerate(best)]}

    @app.post("/encode")
    async def encode(request: Request) -> list[list[float]]:
        vectors: list[list[float]] = sentences.encode((await request.json())["texts"], "query").tolist()
        return vectors

    return app


def main() -> None:
    """Serve the documents of a folder."""
    documents = json.loads(Path(sys.argv[1], "documents.json").read_text(encoding="utf-8"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        print(json.dumps({"url": url, "format": "words alike", "format_cosine": 1.0}), flush=True)  # noqa: T201
        uvicorn.Server(uvicorn.Config(application(documents), log_config=None)).run(sockets=[listener])


if __name__ == "__main__":
    main()
