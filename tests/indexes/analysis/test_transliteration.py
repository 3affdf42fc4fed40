from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.indexes import IndexedDocument, LuceneIndex
from dragoman.indexes.analysis.transliteration import LEAST_SIMILARITY, romanise, similarity, skeletons
from dragoman.lexicon.text.tokens import PlainAnalysis

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
def test_a_name_matches_itself_in_another_script(latin: str, other: str) -> None:
    assert skeletons(latin) & skeletons(other)
    assert similarity(latin, other) >= LEAST_SIMILARITY


@pytest.mark.parametrize(("first", "second"), [("tesla", "москва"), ("luther", "катер"), ("water", "вода")])
def test_other_words_do_not_match(first: str, second: str) -> None:
    assert not skeletons(first) & skeletons(second) or similarity(first, second) < LEAST_SIMILARITY


def test_numbers_have_no_sound() -> None:
    assert not skeletons("1979") and not skeletons("internet2")


@given(st.text(max_size=12), st.text(max_size=12))
def test_similarity_is_symmetric_and_bounded(first: str, second: str) -> None:
    assert similarity(first, second) == similarity(second, first)
    assert 0 <= similarity(first, second) <= 1
    assert similarity(first, first) == 1
    assert romanise(first).isascii()
    assert all(set(form) <= set("pfktslrmn") for form in skeletons(first))


def test_an_index_finds_its_terms_by_their_sound(tmp_path: Path) -> None:
    texts = ["Никола Тесла изобрёл", "теслу видели", "город Джексонвилл", "тусил", "тесла"]
    with LuceneIndex(tmp_path) as index:
        documents = [IndexedDocument(key, "ru", text) for key, text in enumerate(texts)]
        index.add(documents, {"ru": PlainAnalysis("ru")})
        assert index.sounding("ru", "tesla") == []
        index.refresh()
        assert index.sounding("ru", "tesla") == [("тесла", 1.0), ("теслу", 0.8), ("тусил", 0.6)]
        assert [term for term, _ in index.sounding("ru", "jacksonville")] == ["джексонвилл"]
        assert index.sounding("ru", "москва") == index.sounding("de", "tesla") == index.sounding("ru", "1979") == []
