from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.answer import as_json
from dragoman.engine.search.response import Contribution, Entity, Gloss, Highlight
from dragoman.engine.search.room import Room, contribution_size, entity_size, gloss_size, highlight_size

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
NUMBER = st.integers(0, 10**7)
SHARE = st.floats(0, 1)


HIGHLIGHTS = st.builds(
    Highlight,
    document_term=TEXT,
    query_term=TEXT,
    start=NUMBER,
    end=NUMBER,
    probability=SHARE,
    table=st.none() | TEXT,
    version=st.none() | NUMBER,
)


@given(HIGHLIGHTS)
def test_a_highlight_takes_no_more_than_is_counted(one: Highlight) -> None:
    assert len(as_json(one)) <= highlight_size(one)


@given(st.builds(Entity, text=TEXT, label=st.sampled_from(["PER", "MISC"]), score=SHARE, start=NUMBER, end=NUMBER))
def test_a_name_takes_no_more_than_is_counted(one: Entity) -> None:
    assert len(as_json(one)) <= entity_size(one)


@given(st.builds(Gloss, start=NUMBER, end=NUMBER, translations=st.lists(TEXT, max_size=3)))
def test_a_gloss_takes_no_more_than_is_counted(one: Gloss) -> None:
    assert len(as_json(one)) <= gloss_size(one)


@given(st.builds(Contribution, query_term=TEXT, tf=SHARE, df=SHARE, idf=SHARE, weight=SHARE, score=SHARE))
def test_a_contribution_takes_no_more_than_is_counted(one: Contribution) -> None:
    assert len(as_json(one)) <= contribution_size(one)


def test_what_has_no_room_is_left_out_and_told() -> None:
    room = Room(10_000)
    room.reserve(2)
    assert room.title(1, "a" * 1_000) == "a" * 1_000
    assert room.fitting("highlights", 1, [1] * 10, lambda one: 400) == [1] * 7
    assert room.all_or_none("contributions", 2, [1] * 10, lambda one: 100) == []
    assert room.short_of("contributions") and room.all_or_none("contributions", 2, [1], lambda one: 1) == []
    assert room.title(2, "a" * 1_000) == "a" * 200
    assert not room.metadata(2, 1_000)
    kinds = ["highlights", "contributions", "titles", "metadata"]
    assert [message.split(":")[0] for message in room.messages()] == kinds
