"""Two sentences are compared by what their amounts mean."""

from __future__ import annotations

import pytest

from dragoman.checking.amounts import compare_amounts

EQUAL = [
    ("Rund 2.500 Hafenarbeiter", "de", "About 2,500 dockers", "en"),
    ("١٬٢٣٤٫٥", "ar", "1,234.5", "en"),
    ("१२,३४,५६७", "hi", "1,234,567", "en"),
]
DIFFERENT = [
    (
        "Rund 2.500 Hafenarbeiter haben gestern in Hamburg die Arbeit niedergelegt.",
        "de",
        "More than 1,000 workers were lost in the disaster in Hong Kong.",
        "en",
        {"2.500", "1,000"},
    ),
    ("20.000 Menschen", "de", "1200 people", "en", {"20.000", "1200"}),
]


@pytest.mark.parametrize(("source", "source_language", "target", "target_language"), EQUAL)
def test_equal_amounts_raise_nothing(source: str, source_language: str, target: str, target_language: str) -> None:
    assert compare_amounts(source, source_language, target, target_language) == []


@pytest.mark.parametrize(("source", "source_language", "target", "target_language", "amounts"), DIFFERENT)
def test_different_amounts_are_told_with_their_places(
    source: str, source_language: str, target: str, target_language: str, amounts: set[str]
) -> None:
    mismatches = compare_amounts(source, source_language, target, target_language)
    assert {amount for mismatch in mismatches for amount in (mismatch.source, mismatch.text)} - {None} == amounts
    for mismatch in mismatches:
        if mismatch.source_span:
            assert source[slice(*mismatch.source_span)] == mismatch.source
        if mismatch.target_span:
            assert target[slice(*mismatch.target_span)] == mismatch.text
