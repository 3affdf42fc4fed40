"""The simple syntax of queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.query.exact.syntax import Parsed, parse
from dragoman.engine.query.exact.wishes import MOST, read_wishes


@pytest.mark.parametrize(
    ("query", "text", "required", "excluded"),
    [
        ("ash cloud", "ash cloud", [], []),
        ('"ash cloud" over', '"ash cloud" over', ["ash cloud"], []),
        ("+ash cloud", " ash cloud", ["ash"], []),
        ("ash -cloud +e-mail", "ash         e-mail", ["e-mail"], ["cloud"]),
        ('ash -"thin cloud" x', "ash               x", [], ["thin cloud"]),
        ('+"ash cloud"', ' "ash cloud"', ["ash cloud"], []),
        ("ash “thin cloud” „dicke Wolke“ «nuage fin»", None, ["thin cloud", "dicke Wolke", "nuage fin"], []),
        ('"ash cloud', '"ash cloud', [], []),
        ("rock + roll - now -- then +- --x", None, [], []),
        ('"" "!" +! -… volcano', None, [], []),
        ("well-known 5+3 C++", None, [], []),
        ('say ("hello there")', None, ["hello there"], []),
        ('5"3 6"', None, [], []),
    ],
)
def test_marks_mean_what_they_do_elsewhere(
    query: str, text: str | None, required: list[str], excluded: list[str]
) -> None:
    assert parse(query) == Parsed(query if text is None else text, required, excluded)


@given(st.text(alphabet=st.sampled_from('ab +-"“”„«»\n.é山'), max_size=60))
def test_every_text_is_a_query_and_what_is_ranked_by_stays_in_its_place(query: str) -> None:
    parsed = parse(query)
    assert len(parsed.text) == len(query)
    assert all(was == now or now == " " for was, now in zip(query, parsed.text, strict=True))
    assert all(text in query and any(map(str.isalnum, text)) for text in [*parsed.required, *parsed.excluded])
    if not {*query} & {*'+-"“„«»'}:
        assert parsed == Parsed(query, [], [])


_WORD = st.text(alphabet="abcé", min_size=1, max_size=5)
_PHRASE = st.lists(_WORD, min_size=1, max_size=3).map(" ".join)


@given(st.lists(st.tuples(st.sampled_from(["", "+", "-", '"', '-"', '+"']), _PHRASE), max_size=8))
def test_parts_are_read_back(parts: list[tuple[str, str]]) -> None:
    parts = [(mark, phrase if '"' in mark else phrase.split(" ")[0]) for mark, phrase in parts]
    parsed = parse(" ".join(f'{mark}{phrase}"' if '"' in mark else mark + phrase for mark, phrase in parts))
    assert parsed.required == [phrase for mark, phrase in parts if mark and "-" not in mark]
    assert parsed.excluded == [phrase for mark, phrase in parts if "-" in mark]
    words = [word for mark, phrase in parts if "-" not in mark for word in phrase.split(" ")]
    assert parsed.text.replace('"', " ").split() == words


def test_plain_text_stays_text() -> None:
    assert read_wishes('+ash -cloud "x"', [], [], simple=False) == ('+ash -cloud "x"', [])


@pytest.mark.parametrize(
    ("query", "must", "field"),
    [("-ash", [], "query:"), ("ash", ["x"] * (MOST + 1), "must:"), ("ash", ["x", "y" * 1001], r"must\[1\]:")],
)
def test_what_cannot_be_answered_is_an_error_of_a_field(query: str, must: list[str], field: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{field}"):
        read_wishes(query, must, [], simple=True)
