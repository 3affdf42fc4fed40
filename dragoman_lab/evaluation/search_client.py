"""A client of a running service: collections with opaque ids, and searches with what the service said of each."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
from rich.progress import Progress

from dragoman.engine.core.trec import TREC_TYPE
from dragoman.service.http.middleware import DEGRADED_HEADER
from dragoman_lab.evaluation.benchmark import BenchmarkError
from dragoman_lab.evaluation.serving import TableFile, post, require_success, serve_temporarily

CLIENTS = 2
"""Requests at a time."""
STALLED_SECONDS = 600.0
"""How long the embeddings of a collection may make no progress."""
POLL_SECONDS = 0.5


@dataclass(slots=True)
class QueryRecord:
    """The time of all queries of one task, and how many answers were degraded (``stage: reason``)."""

    seconds: float = 0.0
    milliseconds: list[float] = field(default_factory=list)
    degraded: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Answers(QueryRecord):
    """The hits of all queries of one task.

    ``run`` has the hits' scores by query and original document id, in the order of the service. ``methods`` and
    ``languages`` (as the service understood the query) count answers.
    """

    run: dict[str, dict[str, float]] = field(default_factory=dict)
    reranked: dict[str, dict[str, float]] = field(default_factory=dict)
    """The scores of the reranker alone, of the hits that have one."""
    methods: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Readings(QueryRecord):
    """The best answer to each question, empty where there is none, and the original ids of the passages read."""

    texts: dict[str, str] = field(default_factory=dict)
    passages: dict[str, list[str]] = field(default_factory=dict)


class SearchClient:
    """Uploads documents and asks queries over HTTP.

    Documents are sent as id and text alone, and an id is a digest of the document's own. So neither a title in another
    language nor an id shared by translations can be found.
    """

    def __init__(self, client: httpx.Client, *, embeddings: bool, reuse: bool = False) -> None:
        """With ``embeddings``, searches wait until all documents of a collection have one, however old the service.

        With ``reuse``, the service may have the collections of an earlier client: the same documents are found again.
        """
        self.client, self.embeddings = client, embeddings
        self._originals: dict[str, dict[str, str]] = {}
        self._prefix = None if reuse else uuid.uuid4().hex[:8]

    def collection(self, name: str, language: str, documents: Mapping[str, str]) -> str:
        """The name of a collection of these documents, ready to be searched; it is uploaded once.

        Raises:
            BenchmarkError: documents were rejected or cannot be embedded.
        """
        prefix = self._prefix or opaque(json.dumps([language, *documents.items()]))[:8]
        sent = f"{prefix}-{name}".lower()
        if sent not in self._originals:
            keys = {opaque(f"{language} {key}"): key for key in documents}
            response = self.client.get(f"/v1/collections/{sent}")
            if response.status_code == HTTPStatus.NOT_FOUND:
                response = post(self.client, "/v1/collections", json={"name": sent, "language": language})
            if require_success(response).json()["documents"] != len(keys):
                self._upload(sent, {key: documents[original] for key, original in keys.items()})
            self._wait(sent)
            self._originals[sent] = keys
        return sent

    def _upload(self, collection: str, documents: Mapping[str, str]) -> None:
        lines = [json.dumps({"id": key, "text": text}) for key, text in documents.items()]
        answer = post(
            self.client,
            f"/v1/collections/{collection}/documents",
            content="\n".join(lines).encode(),
            headers={"Content-Type": "application/x-ndjson"},
        ).json()
        if answer["rejected"]:
            raise BenchmarkError(f"documents were rejected, the first: {answer['rejected'][0]}")

    def _wait(self, collection: str) -> None:
        """Return when every document that can have an embedding has one.

        Raises:
            BenchmarkError: documents failed, or nothing happened for ``STALLED_SECONDS``.
        """
        embedded, since = -1, time.monotonic()
        while True:
            state = require_success(self.client.get(f"/v1/collections/{collection}")).json().get("embeddings")
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

        def search(text: str) -> dict[str, Any]:
            request = {"query": text, "collections": list(collections), "top_k": top_k, **fields}
            if trec:
                return _of_run(post(self.client, "/v1/search", json=request, headers={"Accept": TREC_TYPE}))
            return dict(post(self.client, "/v1/search", json=request).json())

        originals = self._originals_of(collections)
        for query, answer in _each(queries, search, answers, title):
            hits = {hit["id"].rpartition("/")[2]: float(hit["score"]) for hit in answer["hits"]}  # a run of several
            answers.run[query] = {originals[id]: score for id, score in hits.items()}  # collections has them before it
            if not trec:
                scores = {originals[hit["id"]]: hit["scores"]["rerank"] for hit in answer["hits"]}
                answers.reranked[query] = {id: score for id, score in scores.items() if score is not None}
                answers.methods[answer.get("method", "unknown")] += 1
                answers.languages[answer["query"]["language"]] += 1
        return answers

    def read(
        self, questions: Mapping[str, str], collections: Sequence[str], fields: Mapping[str, Any], title: str
    ) -> Readings:
        """Ask every question with nothing but its text, the collections and ``fields``."""
        readings = Readings()

        def ask_question(text: str) -> dict[str, Any]:
            request = {"question": text, "collections": list(collections), **fields}
            return dict(post(self.client, "/v1/qa", json=request).json())

        originals = self._originals_of(collections)
        for question, answer in _each(questions, ask_question, readings, title):
            readings.texts[question] = answer["answers"][0]["text"] if answer["answers"] else ""
            readings.passages[question] = [originals[hit["id"]] for hit in answer["passages"]]
        return readings

    def original(self, collection: str, id: str) -> str:
        """The document's own id, by which it was given to :meth:`collection`."""
        return self._originals[collection][id]

    def _originals_of(self, collections: Sequence[str]) -> dict[str, str]:
        return {key: original for name in collections for key, original in self._originals[name].items()}

    def close(self) -> None:
        """Delete the collections."""
        for name in self._originals:
            require_success(self.client.delete(f"/v1/collections/{name}"))


def _each(
    texts: Mapping[str, str], ask: Callable[[str], dict[str, Any]], record: QueryRecord, title: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The answer to each text by its key, several asked at a time, their times and faults in ``record``."""

    def time_request(key: str) -> tuple[str, dict[str, Any], float]:
        begun = time.perf_counter()
        return key, ask(texts[key]), (time.perf_counter() - begun) * 1000

    begun = time.perf_counter()
    with Progress(transient=True) as progress, ThreadPoolExecutor(CLIENTS) as clients:
        for key, answer, spent in progress.track(clients.map(time_request, texts), total=len(texts), description=title):
            record.milliseconds.append(spent)
            record.degraded.update({f"{stage['stage']}: {stage['reason']}" for stage in answer["degraded"]})
            yield key, answer
    record.seconds = time.perf_counter() - begun


def _of_run(response: httpx.Response) -> dict[str, Any]:
    """The hits of a TREC run and its degraded stages, as in a JSON answer."""
    hits = [{"id": fields[2], "score": fields[4]} for fields in map(str.split, response.text.splitlines())]
    return {"hits": hits, "degraded": json.loads(response.headers.get(DEGRADED_HEADER, "[]"))}


def wait_for_embeddings(client: httpx.Client, collection: str) -> None:
    """Search until every document has its embedding, so that measured searches do not wait for any.

    Raises:
        BenchmarkError: the documents cannot be embedded.
    """
    request = {"query": "?", "query_language": "en", "collections": [collection], "top_k": 1, "method": "dense"}
    while True:
        response = client.post("/v1/search", json=request)
        message = response.json().get("message", "")
        if response.status_code == 503 and "has an embedding yet" in message:
            continue
        missing = [
            stage["reason"] for stage in require_success(response).json()["degraded"] if stage["stage"] == "dense"
        ]
        if not missing:
            return
        if any("could not be embedded" in reason for reason in missing):
            raise BenchmarkError("; ".join(missing))


def opaque(key: str) -> str:
    """An id that tells nothing of ``key``."""
    return hashlib.sha256(key.encode()).hexdigest()[:24]


@contextlib.contextmanager
def open_search_client(
    url: str | None,
    tables: Sequence[TableFile],
    *,
    embeddings: bool = False,
    data_dir: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator[SearchClient]:
    """A client of the service at ``url``, or of a new one with ``tables``, whose data is removed at the end.

    A service at ``url`` is searched with the tables that it has; its collections of this client are deleted. A new one
    has ``settings``, as environment variables, and keeps its data in ``data_dir`` if that is given.
    """
    if url is None:
        with serve_temporarily(tables, data_dir, settings) as http:
            yield SearchClient(http, embeddings=embeddings, reuse=data_dir is not None)
        return
    with httpx.Client(base_url=url, timeout=600) as http:
        client = SearchClient(http, embeddings=embeddings)
        try:
            yield client
        finally:
            client.close()
