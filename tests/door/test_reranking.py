"""What a search asks of the reranker, and when it is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dragoman
from dragoman.door.database import Database
from dragoman.engine.core.errors import InvalidRequest, Unavailable
from dragoman.engine.models import model_host

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with dragoman.open(embed="on_demand", rerank="never") as opened:
        opened.collection("empty", language="de")
        opened.collection("news", language="de").add([{"id": "1", "text": "Der Hund schläft."}])
        yield opened


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The loads of the reranker, each of which fails."""
    tried: list[str] = []

    def fail(*_: Any) -> Any:
        tried.append("reranker")
        raise Unavailable("the reranker is not there")

    monkeypatch.setitem(model_host.LOADERS, "reranker", fail)
    return tried


@pytest.mark.parametrize("collection", ["empty", "news"])
@pytest.mark.parametrize("rerank", [{}, {"model": "late"}])
def test_without_hits_no_reranker_is_loaded(
    db: Database, loads: list[str], collection: str, rerank: dict[str, Any]
) -> None:
    results = db.search("Vulkan", collections=[collection], query_language="de", method="psq", rerank=rerank)
    assert (results.hits, results.degraded, loads) == ([], [], [])


@pytest.mark.parametrize(("collection", "tried"), [("empty", 0), ("news", 1)])
def test_a_reranker_that_there_is_not_is_refused_even_where_none_can_be_loaded(
    db: Database, loads: list[str], collection: str, tried: int
) -> None:
    with pytest.raises(InvalidRequest, match=r"rerank\.model: there is no reranker named 'other'; there is 'late'"):
        db.search("Hund", collections=[collection], query_language="de", method="psq", rerank={"model": "other"})
    assert len(loads) == tried


def test_with_hits_a_reranker_that_cannot_be_loaded_is_told(db: Database, loads: list[str]) -> None:
    results = db.search("Hund", query_language="de", method="psq", rerank={"model": "late"})
    assert [hit.id for hit in results] == ["1"] and len(loads) == 1
    assert "the reranker is not there" in results.degraded[0].reason
