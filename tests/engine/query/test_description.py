"""Which names of a query stayed whole, and what is listed of them."""

from __future__ import annotations

from dragoman.engine.query.description import kept_names
from dragoman.engine.query.translation import QueryName, Translated
from dragoman.lexicon.query import Alternative, TermGroup, TranslatedQuery

TEXT = "Rice by the Sea of Japan, said Rice of Bush"
NAMES = [QueryName(0, 4), QueryName(19, 24, by_words=False), QueryName(31, 35), QueryName(39, 43)]


def translated(*groups: TermGroup, foreign: bool = True) -> Translated:
    return Translated("de", TranslatedQuery("psq", list(groups)), None, foreign)


def group(start: int, end: int, kept: bool, *repeated: tuple[int, int]) -> TermGroup:
    word = TEXT[start:end].lower()
    return TermGroup(word, word, start, end, [Alternative("x", 1.0, 0)], by_form=kept, repeated=repeated)


def test_names_are_listed_that_were_kept() -> None:
    query = translated(group(0, 4, True, (31, 35)), group(12, 24, False), group(39, 43, False))
    assert kept_names(TEXT, [query], NAMES) == ["Rice", "Sea of Japan"]
    assert kept_names(TEXT, [translated(group(19, 24, False), group(39, 43, False))], NAMES) == []


def test_a_language_that_keeps_a_name_is_enough() -> None:
    queries = [translated(group(39, 43, False)), translated(group(39, 43, True))]
    assert kept_names(TEXT, queries, NAMES) == ["Bush"]
    assert kept_names(TEXT, [translated(group(39, 43, True), foreign=False)], NAMES) == []
