"""The shorter words inside words."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.indexes.analysis.compounds import COMPOUNDING
from dragoman.indexes.analysis.parts import LONGEST, parts
from dragoman.lexicon.text.folding import fold

UNSPACED = ("ja", "km", "lo", "my", "th", "zh")


def parts_of(language: str, word: str) -> tuple[str, ...]:
    split = parts(language)
    assert split is not None
    return split(fold(word, language))


@pytest.mark.parametrize(
    ("language", "part", "word"),
    [
        ("zh", "大学", "北京大学"),
        ("zh", "北京", "北京大学"),
        ("zh", "人民", "中华人民共和国"),
        ("zh", "车", "火车"),
        ("ja", "空港", "成田空港"),
        ("ja", "ゲーム", "テレビゲーム"),
        ("ja", "金", "お金"),
        ("th", "น้ำมัน", "น้ำมันเบนซิน"),
        ("th", "เบนซิน", "น้ำมันเบนซิน"),
        ("th", "วิทยาลัย", "มหาวิทยาลัย"),
        ("km", "ភាសា", "ភាសាខ្មែរ"),
        ("km", "ខ្មែរ", "ភាសាខ្មែរ"),
        ("lo", "ລາວ", "ພາສາລາວ"),
        ("my", "ဘာသာ", "မြန်မာဘာသာ"),
        ("my", "ဆေး", "ဆေးရုံ"),
        ("de", "Versicherung", "Krankenversicherung"),
        ("de", "Haus", "Krankenhäuser"),
        ("de", "Krankenhaus", "Krankenhausversicherung"),
        ("nl", "huis", "ziekenhuis"),
        ("nl", "kantoor", "belastingkantoren"),
        ("sv", "försäkring", "sjukförsäkringar"),
        ("nb", "forsikring", "sykeforsikringen"),
        ("da", "forsikring", "sygeforsikringen"),
        ("fi", "asema", "lentoasemalla"),
    ],
)
def test_word_in_a_longer_one_is_a_part(language: str, part: str, word: str) -> None:
    assert fold(part, language) in parts_of(language, word)


@pytest.mark.parametrize(
    ("language", "substring", "word"),
    [
        ("zh", "华人", "中华人民共和国"),
        ("zh", "京大", "北京大学"),
        ("zh", "中国", "发展中国家"),
        ("ja", "言", "言っ"),
        ("ja", "京都", "東京都庁"),
        ("ja", "イン", "スペイン"),
        ("th", "กา", "การ"),
        ("th", "สาม", "สามารถ"),
        ("km", "សាខ្មែរ", "ភាសាខ្មែរ"),
        ("my", "မာဘာသာ", "မြန်မာဘာသာ"),
        ("de", "Schaft", "Mannschaft"),
        ("de", "Tisch", "romantische"),
        ("de", "Sorte", "Bildungsorte"),
        ("de", "Tand", "verstanden"),
        ("nl", "ring", "reservering"),
    ],
)
def test_accidental_substring_is_no_part(language: str, substring: str, word: str) -> None:
    assert fold(substring, language) not in parts_of(language, word)


def test_other_languages_have_no_parts() -> None:
    assert parts("fr") is None
    assert parts("bo") is None


_LETTERS = {
    "ja": "成田空港東京都庁食べ物おごテレビゲームー",
    "km": "ភាសាខ្មែរលារៀន",
    "lo": "ພາສາລາວໂຮງຮຽນ",
    "my": "မြန်မာဘာသာကျောင်းသား",
    "th": "น้ำมันเบนซิกรเา",
    "zh": "中华人民共和国北京大学生火车站",
}


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(UNSPACED))
def test_a_part_is_a_substring_and_never_the_word(data: st.DataObject, language: str) -> None:
    word = fold(data.draw(st.text(_LETTERS[language], min_size=1, max_size=LONGEST)), language)
    found = parts_of(language, word)
    assert found == parts_of(language, word)
    assert len(set(found)) == len(found)
    assert all(part and part in word and part != word for part in found)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(COMPOUNDING)), st.text("abcdefghijklmnorstuv", min_size=1, max_size=60))
def test_a_compound_part_begins_as_the_word_does_at_its_place(language: str, word: str) -> None:
    found = parts_of(language, word)
    assert found == parts_of(language, word)
    assert all(len(part) >= 4 and part[:2] in word and part != word for part in found)


@pytest.mark.parametrize("language", [*UNSPACED, *sorted(COMPOUNDING)])
def test_work_for_a_word_is_bounded(language: str) -> None:
    alphabet = _LETTERS.get(language, "stadthausen")
    parts_of(language, alphabet)
    begun = time.perf_counter()
    for letters in [*(a + b for a, b in pairwise(alphabet)), alphabet, alphabet[0]]:
        parts_of(language, (letters * LONGEST)[:LONGEST])
        assert parts_of(language, (letters * LONGEST)[: LONGEST + 1]) == ()
    assert time.perf_counter() - begun < 5
