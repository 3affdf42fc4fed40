import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.indexes.transliteration import LEAST_SIMILARITY, romanised, similarity, skeletons

NAMES = [
    ("tesla", "тесла"),
    ("tesla", "تسلا"),
    ("luther", "لوثر"),
    ("jacksonville", "джексонвилл"),
    ("temujin", "тэмуджин"),
    ("huguenot", "هوغونوت"),
    ("elway", "элвей"),
    ("tesla", "टेस्ला"),
    ("tesla", "τέσλα"),
    ("hubble", "хаббл"),
    ("weber", "вебер"),
]


@pytest.mark.parametrize(("latin", "other"), NAMES)
def test_a_name_meets_itself_in_another_script(latin: str, other: str) -> None:
    assert skeletons(latin) & skeletons(other)
    assert similarity(latin, other) >= LEAST_SIMILARITY


@pytest.mark.parametrize(("first", "second"), [("tesla", "москва"), ("luther", "катер"), ("water", "вода")])
def test_other_words_do_not(first: str, second: str) -> None:
    assert not skeletons(first) & skeletons(second) or similarity(first, second) < LEAST_SIMILARITY


def test_numbers_have_no_sound() -> None:
    assert not skeletons("1979") and not skeletons("internet2")


@given(st.text(max_size=12), st.text(max_size=12))
def test_similarity_is_symmetric_and_bounded(first: str, second: str) -> None:
    assert similarity(first, second) == similarity(second, first)
    assert 0 <= similarity(first, second) <= 1
    assert similarity(first, first) == 1
    assert romanised(first).isascii()
    assert all(set(form) <= set("pfktslrmn") for form in skeletons(first))
