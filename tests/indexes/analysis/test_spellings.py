"""How names in Latin letters are looked for in other scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.indexes.analysis.japanese_names import japanese_forms, sound_of
from dragoman.indexes.analysis.spellings import MOST, likely_skeletons, most_alike
from dragoman.indexes.analysis.transliteration import skeletons

NAMES = [
    ("ar", "riyadh", "الرياض"),
    ("bn", "washington", "ওয়াশিংটন"),
    ("el", "berlin", "βερολινο"),
    ("el", "obama", "ομπαμα"),
    ("fa", "clinton", "کلینتون"),
    ("he", "netanyahu", "נתניהו"),
    ("hi", "clinton", "क्लिंटन"),
    ("ja", "clinton", "クリントン"),
    ("ko", "clinton", "클린턴"),
    ("ru", "hitler", "гитлер"),
    ("th", "washington", "วอชิงตัน"),
    ("uk", "hitler", "гітлер"),
    ("ur", "karachi", "کراچی"),
    ("zh", "wuji", "无忌"),
]


@pytest.mark.parametrize(("language", "name", "word"), NAMES)
def test_a_name_is_like_itself_in_another_script(language: str, name: str, word: str) -> None:
    assert skeletons(word) & set(likely_skeletons(name, language))
    assert [other for other, _ in most_alike(name, [word, "x"], language)] == [word]


@given(st.text(max_size=20), st.sampled_from(["el", "he", "ja", "ko", "ru", "xx", "zh"]))
def test_a_word_has_its_own_skeletons_and_a_few_others(word: str, language: str) -> None:
    forms = likely_skeletons(word, language)
    assert set(forms[:2]) >= skeletons(word) and len(set(forms)) == len(forms) <= MOST
    assert all(set(form) <= set("pfktslrmn") and len(form) > 1 for form in forms)


def test_forms_of_names_are_listed_by_their_sound_in_any_order() -> None:
    assert japanese_forms(("osamu", "tezuka")) == japanese_forms(("tezuka", "osamu")) == ("手塚治虫",)
    assert japanese_forms(("tōkyō",)) == japanese_forms(("tokyo",)) == ("東京",)
    assert "クリントン" in japanese_forms(("clinton",))
    assert "治虫" in japanese_forms(("osamu",))


@given(st.lists(st.text(max_size=8), max_size=4).map(tuple))
def test_what_is_no_name_has_no_form(words: tuple[str, ...]) -> None:
    forms = japanese_forms(words)
    assert forms == japanese_forms(words[::-1]) and all(forms)
    assert sound_of(words) or not forms
