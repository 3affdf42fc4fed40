"""What a user would build instead: sentence-transformers, faiss and bm25s with score fusion, behind FastAPI.

    PYTHON peer_server.py FOLDER LANGUAGE

PYTHON is an interpreter with these packages; Dragoman is not imported. FOLDER has the encoder in its folder `model`,
and `documents.json`, texts by id. The first line of standard output is JSON: the address, and what was chosen.

Each part is set up as its documentation recommends. Waiting queries are encoded and searched as one batch, by one
thread, and torch and faiss have all processors. bm25s has its numba backend, stop words and Snowball's stemmer of the
language, where there are such. The encoder computes in the fastest of float32, bfloat16 and, if it is installed,
OpenVINO, by its time for single queries. Scores of each ranking are scaled to 0..1 over its best hundred. Those of the
vectors are added with the request's `weight`, those of the words with what is left of 1, as vector databases do.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import sys
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bm25s
import faiss
import numpy as np
import Stemmer
import torch
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer

DEPTH = 100
BATCH = 32
"""Most queries that are encoded together, and the passages of a batch: the default of sentence-transformers."""
_TIMED = 12
_STEMMERS = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hi": "hindi", "it": "italian", "nl": "dutch", "pt": "portuguese", "ru": "russian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip


class PeerQuery(BaseModel):
    """A search."""

    query: str
    top_k: int = 10
    weight: float = 0.5


class PeerTexts(BaseModel):
    """Texts to encode in float32, each as a query."""

    texts: list[str]


@dataclass
class Waiting:
    """A search that waits for its batch."""

    query: PeerQuery
    answer: asyncio.Future[dict[str, Any]] = field(default_factory=asyncio.Future)


def load_encoders(folder: Path) -> tuple[dict[str, SentenceTransformer], dict[str, float]]:
    """The encoder in each format that is there, and the milliseconds of a query with each."""
    loaded = {}
    for name, options in {
        "torch float32": {},
        "torch bfloat16": {"model_kwargs": {"dtype": torch.bfloat16}},
        "openvino": {"backend": "openvino"},
    }.items():
        with suppress(Exception):  # a package that is not installed, or a processor without the format
            loaded[name] = SentenceTransformer(str(folder), device="cpu", **options)
    return loaded, {name: _time(encoder) for name, encoder in loaded.items()}


def _time(encoder: SentenceTransformer) -> float:
    times = []
    for index in range(_TIMED):
        begun = time.perf_counter()
        encoder.encode([f"query: where is the city number {index}"], show_progress_bar=False)
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


class Pipeline:
    """The index of the documents: vectors and words."""

    def __init__(self, folder: Path, language: str) -> None:
        encoders, self.milliseconds = load_encoders(folder / "model")
        self.format = min(self.milliseconds, key=self.milliseconds.__getitem__)
        self.encoder, self.reference = encoders[self.format], encoders["torch float32"]
        documents = json.loads((folder / "documents.json").read_text(encoding="utf-8"))
        self.ids, self.texts = list(documents), list(documents.values())
        vectors = self.encode(self.texts, "passage")
        self.vectors = faiss.IndexFlatIP(vectors.shape[1])
        self.vectors.add(vectors)
        exact = self.reference.encode([f"passage: {text}" for text in self.texts[:BATCH]], show_progress_bar=False)
        self.cosine = float((exact * vectors[:BATCH]).sum(1).min())
        """The least cosine of a passage's vectors in the format that was chosen and in float32."""
        name = _STEMMERS.get(language)
        self.stemmer = Stemmer.Stemmer(name) if name in Stemmer.algorithms() else None
        self.stopwords: str | list[str] = []
        with suppress(ValueError):  # a language without a list
            bm25s.tokenize([""], stopwords=language, show_progress=False)
            self.stopwords = language
        self.words = bm25s.BM25(backend="numba")
        self.words.index(self._tokens(self.texts), show_progress=False)

    def encode(self, texts: Sequence[str], kind: str) -> Any:
        """Unit vectors in float32."""
        prefixed = [f"{kind}: {text}" for text in texts]
        vectors = self.encoder.encode(prefixed, batch_size=BATCH, show_progress_bar=False, convert_to_tensor=True)
        return vectors.float().cpu().numpy()

    def _tokens(self, texts: Sequence[str]) -> Any:
        return bm25s.tokenize(list(texts), stopwords=self.stopwords, stemmer=self.stemmer, show_progress=False)

    def search(self, queries: Sequence[PeerQuery]) -> list[dict[str, Any]]:
        """The answers to a batch of queries."""
        texts = [query.query for query in queries]
        depth = min(DEPTH, len(self.ids))
        near, positions = self.vectors.search(self.encode(texts, "query"), depth)
        matches, scores = self.words.retrieve(self._tokens(texts), k=depth, show_progress=False)
        return [
            self._fuse(query, *rankings)
            for query, *rankings in zip(queries, near, positions, scores, matches, strict=True)
        ]

    def _fuse(self, query: PeerQuery, near: Any, positions: Any, scores: Any, matches: Any) -> dict[str, Any]:
        fused: dict[int, float] = {}
        for ranking, places, weight in ((near, positions, query.weight), (scores, matches, 1 - query.weight)):
            spread = float(ranking.max() - ranking.min())
            scaled = (ranking - ranking.min()) / spread if spread else np.zeros(len(ranking))
            for place, score in zip(places.tolist(), scaled.tolist(), strict=True):
                fused[place] = fused.get(place, 0.0) + weight * score
        best = sorted(fused, key=fused.__getitem__, reverse=True)[: query.top_k]
        return {"hits": [{"id": self.ids[place], "score": fused[place], "text": self.texts[place]} for place in best]}


def application(pipeline: Pipeline) -> FastAPI:
    """The service: searches that arrive while a batch is computed make up the next one."""
    queue: asyncio.Queue[Waiting] = asyncio.Queue()
    computing = ThreadPoolExecutor(1)

    async def serve_batches() -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = [await queue.get()]
            while len(batch) < BATCH and not queue.empty():
                batch.append(queue.get_nowait())
            try:
                answers = await loop.run_in_executor(computing, pipeline.search, [waiting.query for waiting in batch])
            except Exception as fault:
                for waiting in batch:
                    waiting.answer.set_exception(fault)
                continue
            for waiting, answer in zip(batch, answers, strict=True):
                waiting.answer.set_result(answer)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        serving = asyncio.create_task(serve_batches())
        yield
        serving.cancel()

    app = FastAPI(lifespan=lifespan)

    @app.post("/search")
    async def search(query: PeerQuery) -> dict[str, Any]:
        waiting = Waiting(query)
        await queue.put(waiting)
        return await waiting.answer

    @app.post("/encode")
    def encode(body: PeerTexts) -> list[list[float]]:
        prefixed = [f"query: {text}" for text in body.texts]
        vectors: list[list[float]] = pipeline.reference.encode(prefixed, show_progress_bar=False).tolist()
        return vectors

    return app


def main() -> None:
    """Index the documents, print the address, and serve until stopped."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no part of the answer
    torch.set_num_threads(os.cpu_count() or 1)
    pipeline = Pipeline(Path(sys.argv[1]), sys.argv[2])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        about = {
            "url": f"http://127.0.0.1:{listener.getsockname()[1]}",
            "format": pipeline.format,
            "format_cosine": pipeline.cosine,
            "milliseconds": pipeline.milliseconds,
            "stemmer": pipeline.stemmer is not None,
            "stopwords": bool(pipeline.stopwords),
        }
        print(json.dumps(about), file=answers, flush=True)
        config = uvicorn.Config(application(pipeline), log_config=None, access_log=False)
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
