from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from threading import Thread

import pytest

from dragoman.engine.core.turns import caller
from dragoman.engine.models.queue.ahead import QueriesAhead, QueryAhead, taken_ahead


class Encoder:
    """Notes what is begun together, and for whom."""

    def __init__(self) -> None:
        self.begun: list[tuple[object, list[str]]] = []
        self.futures: dict[str, Future[str]] = {}

    def begin(self, texts: Sequence[str]) -> list[Future[str] | None]:
        self.begun.append((caller(), list(texts)))
        self.futures |= {text: Future() for text in texts}
        return [self.futures[text] for text in texts]

    def query(self, text: str) -> QueryAhead:
        return QueryAhead(text, self.begin)


@pytest.fixture
def encoder() -> Iterator[Encoder]:
    yield Encoder()


def test_queries_of_a_few_searches_are_begun_at_once(encoder: Encoder) -> None:
    queries = QueriesAhead()
    for text in "abc":
        queries.add(encoder.query(text), "key")
    assert encoder.begun == [("key", ["a"]), ("key", ["b"]), ("key", ["c"])]


def test_where_many_wait_their_queries_are_begun_together(encoder: Encoder) -> None:
    queries, waiting = QueriesAhead(), [encoder.query(text) for text in "abcdefg"]
    for query, whose in zip(waiting, ["key", "key", "key", "key", "other", "key", "key"], strict=True):
        queries.add(query, whose)
    assert encoder.begun[3:] == []
    queries.leave(waiting[5])  # its client has left
    assert encoder.begun[3:] == []
    queries.remove(waiting[0])
    assert encoder.begun[3:] == [("key", ["d", "g"]), ("other", ["e"])]
    for query in waiting:
        queries.remove(query)
    queries.add(encoder.query("h"), "key")
    assert encoder.begun[-1] == ("key", ["h"])


def test_a_search_takes_what_was_begun_of_its_text_unless_that_failed(encoder: Encoder) -> None:
    query = encoder.query("a")
    QueriesAhead().add(query, "key")
    with query.offer():
        assert taken_ahead("a") is encoder.futures["a"]
        assert taken_ahead("b") is None
        elsewhere: list[object] = []
        thread = Thread(target=lambda: elsewhere.append(taken_ahead("a")))
        thread.start()
        thread.join()
        assert elsewhere == [None]
        encoder.futures["a"].set_exception(RuntimeError("the worker ended"))
        assert taken_ahead("a") is None
    assert taken_ahead("a") is None


def test_what_no_search_took_is_cancelled_and_what_one_took_is_its_own(encoder: Encoder) -> None:
    queries, left, searched = QueriesAhead(), encoder.query("left"), encoder.query("searched")
    for query in (left, searched):
        queries.add(query, "key")
    queries.remove(searched)
    with searched.offer():
        assert taken_ahead("searched") is encoder.futures["searched"]
    for query in (left, searched):
        queries.leave(query)
    assert encoder.futures["left"].cancelled()
    assert not encoder.futures["searched"].cancelled()


def test_what_is_just_being_begun_when_its_search_ends_is_cancelled(encoder: Encoder) -> None:
    queries = QueriesAhead()

    def begin(texts: Sequence[str]) -> list[Future[str] | None]:
        queries.leave(query)
        return encoder.begin(texts)

    query = QueryAhead("a", begin)
    queries.add(query, "key")
    assert encoder.futures["a"].cancelled()


def test_a_search_does_not_fail_with_the_queries_of_others(caplog: pytest.LogCaptureFixture) -> None:
    def fail(texts: Sequence[str]) -> list[Future[str] | None]:
        raise RuntimeError("no encoder")

    queries, waiting = QueriesAhead(), [QueryAhead(text, fail) for text in "abcde"]
    for query in waiting:
        queries.add(query, "key")
        queries.remove(query)
    with waiting[4].offer():
        assert taken_ahead("e") is None
    assert "queries cannot be encoded ahead" in caplog.text
