"""A client of a running service: collections with opaque ids, and searches with what the service said of each."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
from rich.progress import Progress

from dragoman.service.api.search import DEGRADED_HEADER
from dragoman.service.core.trec import TREC_TYPE
from dragoman.service.evaluation.benchmark import TableFile, checked, post, serve_temporarily, wait_for_embeddings
from dragoman.service.evaluation.test_collection import BenchmarkError

CLIENTS = 2
"""Requests at a time."""
STALLED_SECONDS = 600.0
"""How long the embeddings of a collection may make no progress."""
POLL_SECONDS = 0.5


@dataclass(slots=True)
class Answers:
    """The answers to all queries of one task.

    ``run`` has the hits' scores by query and original document id, in the order of the service. ``methods``,
    ``languages`` (as the service understood the query) and ``degraded`` (``stage: reason``) count answers.
    """

    run: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: float = 0.0
    milliseconds: list[float] = field(default_factory=list)
    methods: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    degraded: Counter[str] = field(default_factory=Counter)


class SearchClient:
    """Uploads documents and asks queries over HTTP.

    Documents are sent as id and text alone, and an id is a digest of the document's own, so that neither a title in
    another language nor an id shared by translations can be found.
    """

    def __init__(self, client: httpx.Client, *, embeddings: bool) -> None:
        """With ``embeddings``, searches wait until all documents of a collection have one, however old the service."""
        self.client, self.embeddings = client, embeddings
        self._originals: dict[str, dict[str, str]] = {}
        self._prefix = uuid.uuid4().hex[:8]

    def collection(self, name: str, language: str, documents: Mapping[str, str]) -> str:
        """The name of a collection of these documents, ready to be searched; it is uploaded once.

        Raises:
            BenchmarkError: documents were rejected or cannot be embedded.
        """
        sent = f"{self._prefix}-{name}".lower()
        if sent not in self._originals:
            keys = {opaque(f"{language} {key}"): key for key in documents}
            post(self.client, "/v1/collections", json={"name": sent, "language": language})
            lines = [json.dumps({"id": key, "text": documents[original]}) for key, original in keys.items()]
            answer = post(
                self.client,
                f"/v1/collections/{sent}/documents",
                content="\n".join(lines).encode(),
                headers={"Content-Type": "application/x-ndjson"},
            ).json()
            if answer["rejected"]:
                raise BenchmarkError(f"documents were rejected, the first: {answer['rejected'][0]}")
            self._wait(sent)
            self._originals[sent] = keys
        return sent

    def _wait(self, collection: str) -> None:
        """Return when every document that can have an embedding has one.

        Raises:
            BenchmarkError: documents failed, or nothing happened for ``STALLED_SECONDS``.
        """
        embedded, since = -1, time.monotonic()
        while True:
            state = checked(self.client.get(f"/v1/collections/{collection}")).json().get("embeddings")
            if state is None:  # embeddings that come with the first dense search
                if self.embeddings:
                    wait_for_embeddings(self.client, collection)
                return
            if state["failed"]:
                raise BenchmarkError(f"{collection}: {state['failed']} documents could not be embedded")
            if state["state"] == "complete":
                return
            if state["embedded"] != embedded:
                embedded, since = state["embedded"], time.monotonic()
            elif time.monotonic() - since > STALLED_SECONDS:
                raise BenchmarkError(f"{collection}: embedding stopped at {embedded} of {state['total']} documents")
            time.sleep(POLL_SECONDS)

    def ask(
        self,
        queries: Mapping[str, str],
        collections: Sequence[str],
        top_k: int,
        fields: Mapping[str, Any],
        title: str,
        *,
        trec: bool = False,
    ) -> Answers:
        """Search for every query with nothing but its text, the collections, ``top_k`` and ``fields``.

        With ``trec`` the answers are runs without snippets, faster where there are many hits; ``methods`` and
        ``languages`` stay empty then.
        """
        answers = Answers()

        def asked(query: str) -> tuple[str, dict[str, Any], float]:
            request = {"query": queries[query], "collections": list(collections), "top_k": top_k, **fields}
            begun = time.perf_counter()
            if trec:
                answer = _of_run(post(self.client, "/v1/search", json=request, headers={"Accept": TREC_TYPE}))
            else:
                answer = post(self.client, "/v1/search", json=request).json()
            return query, answer, (time.perf_counter() - begun) * 1000

        originals = {key: original for name in collections for key, original in self._originals[name].items()}
        begun = time.perf_counter()
        with Progress(transient=True) as progress, ThreadPoolExecutor(CLIENTS) as clients:
            for query, answer, spent in progress.track(
                clients.map(asked, queries), total=len(queries), description=title
            ):
                answers.run[query] = {originals[hit["id"]]: float(hit["score"]) for hit in answer["hits"]}
                answers.milliseconds.append(spent)
                if not trec:
                    answers.methods[answer.get("method", "unknown")] += 1
                    answers.languages[answer["query"]["language"]] += 1
                answers.degraded.update({f"{one['stage']}: {one['reason']}" for one in answer["degraded"]})
        answers.seconds = time.perf_counter() - begun
        return answers

    def close(self) -> None:
        """Delete the collections."""
        for name in self._originals:
            checked(self.client.delete(f"/v1/collections/{name}"))


def _of_run(response: httpx.Response) -> dict[str, Any]:
    """The hits of a TREC run and its degraded stages, as in a JSON answer."""
    hits = [{"id": fields[2], "score": fields[4]} for fields in map(str.split, response.text.splitlines())]
    return {"hits": hits, "degraded": json.loads(response.headers.get(DEGRADED_HEADER, "[]"))}


def opaque(key: str) -> str:
    """An id that tells nothing of ``key``."""
    return hashlib.sha256(key.encode()).hexdigest()[:24]


@contextlib.contextmanager
def searching(url: str | None, tables: Sequence[TableFile], *, embeddings: bool = False) -> Iterator[SearchClient]:
    """A client of the service at ``url``, or of a new one with ``tables``, whose data is removed at the end.

    A service at ``url`` is searched with the tables that it has; its collections of this client are deleted.
    """
    if url is None:
        with serve_temporarily(tables) as http:
            yield SearchClient(http, embeddings=embeddings)
        return
    with httpx.Client(base_url=url, timeout=600) as http:
        client = SearchClient(http, embeddings=embeddings)
        try:
            yield client
        finally:
            client.close()
