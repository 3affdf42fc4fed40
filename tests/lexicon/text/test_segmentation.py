"""Segmentation of scripts without spaces: longest match, and mapping of folded runs back to the text."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.text.folding import fold
from dragoman.lexicon.text.segmentation import LongestMatch, by_character, segment_run
from dragoman.lexicon.text.tokens import words

VOCABULARY = ["北京", "北京大学", "大学生", "生活", "サーバー", "น้ำ", "น้ำแข็ง", "แข็ง", "ab", "北 京"]
runs = st.text(st.sampled_from("北京大学生活サーバが"), min_size=1, max_size=12)
thai = st.text(st.sampled_from("นำแข็ง้กา"), min_size=1, max_size=12)


def cut(run: str, vocabulary: list[str] = VOCABULARY) -> list[str]:
    return [run[start:end] for start, end in LongestMatch(vocabulary)(run)]


def plain(run: str) -> list[str]:
    """Greedy longest match of ideographs over a list of words."""
    found = []
    while run:
        matches = [word for word in VOCABULARY if run.startswith(word) and not run[len(word) :].startswith("ー")]
        word = max(matches, key=len, default="")
        if not word:
            word = run[0]
            while run[len(word) : len(word) + 1] == "ー":
                word += "ー"
        found.append(word)
        run = run[len(word) :]
    return found


@given(runs.filter(lambda run: not run.startswith("ー")))
def test_longest_match_agrees_with_a_plain_search(run: str) -> None:
    assert cut(run) == plain(run)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("北京大学生活", ["北京大学", "生活"]),
        ("大北京学", ["大", "北京", "学"]),
        ("サーバーが", ["サーバー", "が"]),
        ("น้ำแข็ง", ["น้ำแข็ง"]),
        ("กานน้ำกา", ["กาน", "น้ำ", "กา"]),
        ("กา", ["กา"]),
    ],
)
def test_longest_match(run: str, expected: list[str]) -> None:
    assert cut(run) == expected


def test_no_word_ends_before_a_combining_mark() -> None:
    assert cut("กิก", ["ก"]) == ["กิ", "ก"]
    assert cut("ッー", ["ッ"]) == ["ッー"]


@given(runs | thai)
def test_every_segmentation_covers_the_run(run: str) -> None:
    for spans in (by_character(run), LongestMatch(VOCABULARY)(run), LongestMatch([])(run)):
        assert [spans[0][0], spans[-1][1]] == [0, len(run)]
        assert all(one[1] == other[0] for one, other in pairwise(spans))
        assert all(start < end for start, end in spans)


@given(st.text(st.sampled_from("がごｶﾞゴか\u3099語ー\u200d北น้ำ\u0e4d\u0e32"), max_size=12))
def test_words_map_back_to_whole_characters(rest: str) -> None:
    text = "語" + rest
    for run in (text, unicodedata.normalize("NFD", text)):
        spans = segment_run(run, "ja", lambda folded: [(i, i + 1) for i in range(len(folded))])
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        assert "".join(fold(run[a:b], "ja") for a, b in spans) == fold(run, "ja")


def test_uncovered_text_is_no_word() -> None:
    assert [t.word for t in words("北京大学", "zh", lambda run: [(2, 4)])] == ["大学"]


def test_a_table_vocabulary_segments_a_text() -> None:
    tokens = words("我在北京大学，喝น้ำแข็ง", "zh", LongestMatch(VOCABULARY))
    assert [(t.word, t.start, t.end) for t in tokens] == [
        ("我", 0, 1),
        ("在", 1, 2),
        ("北京大学", 2, 6),
        ("喝", 7, 8),
        ("น้ำแข็ง", 8, 15),
    ]
