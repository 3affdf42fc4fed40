"""Jobs of questions: the method of their searches is chosen when they are sent; and a reader that raises."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from torch import Tensor

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.models import model_host
from dragoman.engine.search.dense_stage import DenseStage
from dragoman.engine.settings import Settings
from dragoman.reasoning.inference import SpanScorer
from dragoman.service.app import create_app
from dragoman.service.jobs.job_executor import JobExecutor
from tests.support.backbones import tiny_reader
from tests.support.errorbody import check_error
from tests.support.job_client import NDJSON, finished, job, read, submit
from tests.support.modelling import WordEncoder, standing_in
from tests.support.serving import wait_for

pytestmark = pytest.mark.slow

DOCUMENTS = [{"id": "v", "text": "Der Vulkan spuckt Asche."}, {"id": "h", "text": "Schiffe im Hafen."}]
QUESTION = {"question": "Wo ist Asche?", "question_language": "de"}
Opened = Callable[[], AbstractContextManager[TestClient]]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start the service, each time on the same data, with a real reader and a stand-in for the encoder."""
    load_reader = model_host.LOADERS["reader"]
    settings = Settings.load(
        data_dir=tmp_path / "data",
        reader=str(tiny_reader(tmp_path / "reader")),
        embed="always",
        encoder="words",
        rerank="never",
    )
    with standing_in(monkeypatch, WordEncoder()):
        monkeypatch.setitem(model_host.LOADERS, "reader", load_reader)
        yield lambda: TestClient(create_app(settings))


def upload(client: TestClient) -> None:
    client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
    lines = "\n".join(map(json.dumps, DOCUMENTS))
    client.post("/v1/collections/de/documents", content=lines, headers=NDJSON).raise_for_status()
    wait_for(lambda: client.get("/v1/collections/de").json()["embeddings"]["state"] == "complete")


def by_meaning(passages: Sequence[dict[str, Any]]) -> bool:
    """Whether hits were found by `hybrid`, which has a dense score for each, or else by `psq`, which has none."""
    assert passages
    dense = {one["scores"].get("dense") is not None for one in passages}
    assert len(dense) == 1
    return dense.pop()


def test_all_questions_of_a_job_are_searched_for_by_one_method(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened() as client:
        upload(client)
        flipping = cycle([True, False])
        monkeypatch.setattr(DenseStage, "complete", lambda self, collections: next(flipping))
        for expected in (True, False):
            lines: list[dict[str, Any]] = [{"custom_id": f"q{n}", **QUESTION} for n in range(9)]
            lines.insert(4, {"custom_id": "context", **QUESTION, "context": "Die Asche ist im Hafen."})
            id = submit(client, [*lines, lines[0] | {"custom_id": "no", "collections": ["no"]}], "qa")
            assert finished(client, id)["counts"] == {"total": 11, "completed": 10, "failed": 1}
            found = {one["custom_id"]: one["response"] for one in read(client, id, "results")}
            assert "passages" not in found.pop("context")
            assert [by_meaning(one["passages"]) for one in found.values()] == [expected] * 9
            assert "no collection named 'no'" in str(read(client, id, "errors"))


@pytest.mark.parametrize("complete", [True, False])
def test_a_restart_does_not_change_the_method_of_a_job(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, complete: bool
) -> None:
    lines = [{"custom_id": f"q{n}", **QUESTION, "collections": ["de"]} for n in range(3)]
    with opened() as client, monkeypatch.context() as patch:
        upload(client)
        patch.setattr(DenseStage, "complete", lambda self, collections: complete)
        patch.setattr(JobExecutor, "work", lambda self, lines: ([], Unavailable("held up")))
        id = submit(client, lines, "qa")
        wait_for(lambda: "held up" in str(job(client, id)["message"]))
    monkeypatch.setattr(DenseStage, "complete", lambda self, collections: not complete)
    with opened() as client:
        assert finished(client, id)["counts"] == {"total": 3, "completed": 3, "failed": 0}
        found = [one["response"]["passages"] for one in read(client, id, "results")]
        assert [by_meaning(one) for one in found] == [complete] * 3
        (asked,) = {by_meaning(client.post("/v1/qa", json=QUESTION).json()["passages"])}
        assert asked is not complete


def test_a_line_may_not_name_what_only_a_job_keeps(opened: Opened) -> None:
    with opened() as client:
        upload(client)
        id = submit(client, [{"custom_id": "q", **QUESTION, "method": "psq"}], "qa")
        assert finished(client, id)["counts"]["failed"] == 1
        assert "method" in str(read(client, id, "errors"))
        check_error(client.post("/v1/qa", json=QUESTION | {"method": "psq"}), 422, "method")


def test_a_reader_that_raises_leaves_passages_and_fails_contexts_and_lines(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def scores(self: SpanScorer, rows: Sequence[Any], bilingual: Sequence[bool]) -> list[Tensor]:
        raise RuntimeError("a kernel is missing")

    over = QUESTION | {"context": "Die Asche ist im Hafen."}
    with opened() as client:
        upload(client)
        with monkeypatch.context() as patch:
            patch.setattr(SpanScorer, "scores", scores)
            response = client.post("/v1/qa", json=QUESTION)
            assert response.status_code == 200
            found = response.json()
            hits = client.post("/v1/search", json={"query": QUESTION["question"], "query_language": "de", "top_k": 5})
            assert found["passages"] == hits.json()["hits"] != []
            assert found["answers"] == [] and found["no_answer"] is None
            (degraded,) = [one for one in found["degraded"] if one["stage"] == "qa"]
            assert degraded["reason"].startswith("no passage was read: the reader failed")
            assert "a kernel is missing" not in response.text
            assert "a kernel is missing" in caplog.text
            check_error(client.post("/v1/qa", json=over), 500, "the reader failed")
            lines = [{"custom_id": "documents", **QUESTION}, {"custom_id": "context", **over}]
            id = submit(client, lines, "qa")
            assert finished(client, id)["counts"] == {"total": 2, "completed": 0, "failed": 2}
            for error in read(client, id, "errors"):
                assert error["error"]["status"] == 500 and "the reader failed" in error["error"]["message"]
        assert client.post("/v1/qa", json=over).json()["answers"]
        assert client.post("/v1/qa", json=QUESTION).json()["answers"]
