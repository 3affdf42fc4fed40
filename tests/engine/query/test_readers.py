from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.limits import READER_LANGUAGES
from dragoman.engine.query.readers import accepted_languages, readers_of
from dragoman.lexicon.text.languages import LANGUAGES


@pytest.mark.parametrize(
    ("header", "languages"),
    [
        ("en-US,en;q=0.9,de;q=0.8", ["en", "de"]),
        ("de;q=0.3, fr ;q=0.7,sw", ["sw", "fr", "de"]),
        ("zh-Hant-TW", ["zh"]),
        ("no", ["nb"]),
        ("EN-gb", ["en"]),
        ("de;q=0, en;q=0.1", ["en"]),
        ("*", []),
        ("", []),
        ("xx-YY, klingon, 12, en;q=high, fr;q=nan, it;q=7, es;level=1", []),
        (",,;;, ;q=1,de", ["de"]),
    ],
)
def test_a_header_is_read(header: str, languages: list[str]) -> None:
    assert accepted_languages(header) == languages


@given(st.text(max_size=2000))
def test_any_header_gives_few_known_languages(header: str) -> None:
    found = accepted_languages(header)
    assert len(found) <= READER_LANGUAGES and set(found) <= set(LANGUAGES) and len(set(found)) == len(found)


def test_of_a_long_header_the_beginning_is_read() -> None:
    assert len(accepted_languages(",".join(LANGUAGES) * 100)) == READER_LANGUAGES
    assert accepted_languages(" " * 5000 + "de") == []


def test_the_request_goes_before_the_setting_and_that_before_the_header() -> None:
    assert readers_of(["sw"], ["de"], "fr") == ["sw"]
    assert readers_of(None, ["de"], "fr") == ["de"]
    assert readers_of(None, [], "fr") == ["fr"]
    assert readers_of(None, []) == []
