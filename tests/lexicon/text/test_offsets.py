from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.text.offsets import Utf16
from tests.support.offsets import cut

TEXTS = st.text(
    st.sampled_from("aé水🌋👩\u200d👧𠮷𝒳\U0010ffff\uffff ") | st.characters(exclude_categories=["Cs"]), max_size=40
)


@given(pieces=st.lists(TEXTS, max_size=4), data=st.data())
def test_places_in_code_units_cut_the_same_part(pieces: list[str], data: st.DataObject) -> None:
    text, counted = "".join(pieces), Utf16(*pieces)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    assert cut(text, counted.of(start), counted.of(end)) == text[start:end]
    assert counted.of(len(text)) == len(text.encode("utf-16-le")) // 2
    spans = [SimpleNamespace(start=start, end=end), SimpleNamespace(start=end, end=len(text))]
    counted.count(spans)
    assert [cut(text, span.start, span.end) for span in spans] == [text[start:end], text[end:]]


def test_half_a_pair_is_one_unit() -> None:
    assert [Utf16("a\ud83cb🌋c").of(place) for place in range(6)] == [0, 1, 2, 3, 5, 6]
