"""Titles as they are completed, against a plain list of them, in every database."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert

from dragoman.lexicon.text.beginnings import LONGEST_TITLE, begin_key, title_key
from dragoman.store.database import Store
from dragoman.store.documents.titles import complete_titles
from dragoman.store.models import Collection, Document

LETTERS = "aAàb ,„ßя"
TITLES = st.lists(st.tuples(st.text(LETTERS, min_size=1, max_size=5), st.booleans(), st.booleans()), max_size=60)


def fill(store: Store, titles: Sequence[tuple[str, bool, bool]]) -> None:
    """Two collections; of each title whether it is in the other one, and whether its document is deleted."""
    with store.write() as session:
        session.execute(delete(Document))
        session.execute(delete(Collection))
        session.add_all([Collection(id=id, name=f"c{id}", language="de") for id in (1, 2)])
        session.flush()
        rows = [
            {
                "collection_id": 2 if other else 1,
                "id": str(place),
                "language": "de",
                "title": title,
                "title_key": title_key(title, "de"),
                "text": "",
                "generation": 1,
                "deleted": deleted,
            }
            for place, (title, other, deleted) in enumerate(titles)
        ]
        if rows:
            session.execute(insert(Document), rows)


@hypothesis_settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(titles=TITLES, typed=st.text(LETTERS, min_size=1, max_size=3), most=st.integers(1, 40))
def test_titles_are_those_that_begin_so(
    store: Store, titles: list[tuple[str, bool, bool]], typed: str, most: int
) -> None:
    fill(store, titles)
    begun = begin_key(typed, "de")
    expected: dict[str, str] = {}
    for title, other, deleted in titles:
        key = title_key(title, "de")
        if key is not None and begun and key.startswith(begun) and not (other or deleted):
            expected.setdefault(key, title)
    assert complete_titles(store, 1, begun, most) == [expected[key] for key in sorted(expected)][:most]


def test_a_title_of_many_documents_hides_no_other(store: Store) -> None:
    fill(store, [("Asche", False, False)] * 100 + [("Asche über Island", False, False)])
    assert complete_titles(store, 1, "as", 10) == ["Asche", "Asche über Island"]


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("„Über allem“", "uber allem“"),
        ("  ÇA  va ", "ca va"),
        ("...", None),
        ("", None),
        (None, None),
        ("x" * (LONGEST_TITLE + 1), None),
        ("x" * LONGEST_TITLE, "x" * 200),
    ],
)
def test_a_title_is_folded_and_begins_with_a_letter(title: str | None, key: str | None) -> None:
    assert title_key(title, "de") == key


def test_a_space_at_the_end_of_what_is_typed_counts() -> None:
    assert (begin_key("Der ", "de"), begin_key(" ", "de"), begin_key("der", "de")) == ("der ", "", "der")
