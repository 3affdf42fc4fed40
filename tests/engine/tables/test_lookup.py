"""Look-ups by index terms: one side of a table is analysed at a time, and nobody waits long for it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from dragoman.deadline import DeadlinePassed
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.tables import lookup
from dragoman.engine.tables.lookup import TermLookup
from dragoman.engine.tables.views import ActiveVersion
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import PlainAnalysis, Token

TABLE = Table.from_entries("en", "de", [("house", "haus", 1.0, 1.0)])


class Held(PlainAnalysis):
    """An analysis that waits until it may go on."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self.begun, self.free = Event(), Event()

    def tokens(self, text: str) -> list[Token]:
        self.begun.set()
        assert self.free.wait(60)
        return super().tokens(text)


@pytest.fixture
def analysis() -> Iterator[Held]:
    held = Held("en")
    yield held
    held.free.set()


def version(id: int) -> ActiveVersion:
    return ActiveVersion(id, "words", id, "en", "de", "statistical", 1.0, f"checksum {id}")


def test_many_look_ups_are_refused_and_a_change_of_the_tables_waits_for_none(analysis: Held) -> None:
    terms = TermLookup(lambda _: analysis, 60)
    with ThreadPoolExecutor(lookup._WAITING) as threads:
        waiting = [threads.submit(terms.find, version(id), [TABLE], "houses") for id in range(lookup._WAITING)]
        assert analysis.begun.wait(60)
        while terms._places._value:
            pass
        with pytest.raises(Unavailable, match="look-ups wait"):
            terms.find(version(100), [TABLE], "houses")
        assert terms.find(version(100), [TABLE], "house").entries[0].term == "haus", "it needs no index terms"
        terms.keep_only([version(1)], [version(1)])
        analysis.free.set()
        assert [list(one.result().entries) for one in waiting] == [[]] * len(waiting)
    assert {key[0] for key in terms._cache} <= {1}


def test_who_waits_too_long_is_told(analysis: Held) -> None:
    terms = TermLookup(lambda _: analysis, 0.3)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(terms.find, version(1), [TABLE], "houses")
        assert analysis.begun.wait(60)
        with pytest.raises(DeadlinePassed):
            terms.find(version(2), [TABLE], "houses")
        analysis.free.set()
        with pytest.raises(DeadlinePassed):  # as the analysis is checked against it too
            first.result()
