"""Word segmentation of scripts without spaces."""

from __future__ import annotations

import time

import pytest

from dragoman.indexes.analysis.segmenters import segmenter
from dragoman.lexicon.text.tokens import words


def cut(text: str, language: str) -> list[str]:
    found = segmenter(language)
    assert found is not None
    return [token.word for token in words(text, language, found[0])]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("km", ["សាលា", "ភ្នំពេញ"]),
        ("lo", ["ພາສາ", "ລາວ"]),
        ("my", ["မြန်မာ", "စကား"]),
        ("th", ["กีฬา", "มหาวิทยาลัย"]),
        ("zh", ["北京大学", "学生"]),
        ("ja", ["成田空港", "へ"]),
    ],
)
def test_a_run_is_cut_into_words(language: str, expected: list[str]) -> None:
    assert cut("".join(expected), language) == expected


def test_offsets_are_code_points_beyond_the_basic_plane() -> None:
    found = segmenter("km")
    assert found is not None
    text = "😀 ភាសាខ្មែរ 😀 សាលា"
    tokens = words(text, "km", found[0])
    assert [text[token.start : token.end] for token in tokens][-1] == "សាលា"


@pytest.mark.parametrize(
    ("language", "text"),
    [("km", "ភាសាខ្មែរគឺជា"), ("km", "ឣ"), ("lo", "ພາສາລາວ"), ("lo", "ຟ"), ("my", "မြန်မာဘာသာစကား"), ("my", "ၐ")],
)
def test_time_grows_with_the_run(language: str, text: str) -> None:
    found = segmenter(language)
    assert found is not None
    run = (text * 1_000_000)[:300_000]
    begun = time.perf_counter()
    spans = found[0](run)
    assert time.perf_counter() - begun < 2
    assert (spans[0][0], spans[-1][1]) == (0, len(run))
