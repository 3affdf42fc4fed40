"""What links a query's words to documents beside the tables."""

from __future__ import annotations

import pytest

from dragoman.engine.query.links import MIN_SIMILARITY, lexical_links, linked_words
from dragoman.engine.tables.views import ActiveVersion, View
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.table.compose import Kind
from dragoman.lexicon.table.table import Table


def view(*entries: tuple[str, str], kind: Kind = "statistical") -> View:
    table = Table.from_entries("en", "de", [(source, target, 0.9, 0.9) for source, target in entries])
    member = ActiveVersion(1, "words", 1, "en", "de", kind, 1.0, "sum")
    return View((member,), table, table)


def reached(query: str, documents: str, target: str = "de", known: View | None = None) -> dict[str, dict[str, float]]:
    terms = {term for token in analysis(target).tokens(documents) for term in (token.term, *token.further) if term}
    return lexical_links(analysis("en").tokens(query), target, known, analysis, terms)


def linked(query: str, known: View | None = None) -> list[str]:
    return [one.word for one in linked_words(query, analysis("en").tokens(query), "en", known) if one.term]


def test_a_name_is_linked_to_itself_though_its_stems_differ() -> None:
    assert analysis("en").tokens("Elway")[0].term != analysis("de").tokens("Elway")[0].term
    assert reached("Elway", "John Elway warf")["elwai"]["elway"] == 1.0
    assert "elwai" not in reached("Elway", "John warf")


def test_a_letter_is_not_linked_to_an_elided_word() -> None:
    assert reached("vitamin D", "gioielli d'oro, l'olio d'oliva", "it") == {}
    assert reached("vitamin D", "vitamina D", "it")["d"] == {"d": 1.0}


def test_a_name_with_an_elided_word_is_linked_to_its_main_word() -> None:
    assert reached("d'Orsay", "il museo d'Orsay", "it")["d'orsai"] == {"orsay": 1.0}


def test_a_number_is_linked_in_any_digits_whatever_the_table_says() -> None:
    poor = Table.from_entries("en", "ar", [("1814", "1814", 0.03, 0.03)])
    known = View((ActiveVersion(1, "words", 1, "en", "ar", "statistical", 1.0, "sum"),), poor, poor)
    assert reached("1814", "عام ١٨١٤", "ar", known) == {"1814": {"1814": 1.0}}
    assert reached("1814", "عام 1814", "ar", known) == {"1814": {"1814": 1.0}}


def test_what_tables_say_of_a_word_stands() -> None:
    known = view(("gift", "geschenk"), ("poison", "gift"))
    assert reached("gift", "Gift", known=view(("gift", "geschenk"))) == {"gift": {"gift": 1.0}}  # not known for German
    assert reached("gift", "Gift", known=known) == {}  # a German word, and not that one
    assert reached("gift", "Gift", known=view(("gift", "geschenk"), kind="glossary")) == {}
    phrase = view(("gift", "ein geschenk"), ("poison", "gift"))  # no entry that is one word
    assert reached("gift", "Gift", known=phrase) == {}


@pytest.mark.parametrize(("text", "name"), [("Тесла построил", "тесл"), ("بناه تسلا", "تسلا")])
def test_a_name_that_no_table_has_is_linked_by_its_sound(text: str, name: str) -> None:
    target = "ru" if name == "тесл" else "ar"
    assert MIN_SIMILARITY <= reached("Tesla", text, target)["tesla"][name] < 1
    assert reached("Tesla", text, target, view(("tesla", "erfinder"))) == {}


def test_words_that_only_ask_link_nothing_unless_there_are_no_others() -> None:
    assert linked("Who was the first to build it?") == ["first", "build"]
    assert linked("Who was it?") == ["who", "was", "it"]
    assert linked("The WHO report") == ["WHO", "report"]
    assert linked("who builds", view(("who", "weltgesundheitsorganisation"), kind="glossary")) == ["who", "builds"]
    tokens = linked_words("Who built it?", analysis("en").tokens("Who built it?"), "en", None)
    assert [(one.start, one.end) for one in tokens] == [(0, 3), (4, 9), (10, 12)]  # they are there, without a term


def test_the_words_of_a_glossary_phrase_are_looked_up_together() -> None:
    known = view(("start up", "gründung"), ("what", "was"), kind="glossary")
    query = "what start up is that"
    tokens = linked_words(query, analysis("en").tokens(query), "en", known)
    assert [one.term for one in tokens if one.term] == ["what", "start up", "start up"]
    assert [query[one.start : one.end] for one in tokens if " " in one.term] == ["start", "up"]
    plain = view(("start up", "gründung"))
    assert "start up" not in [one.term for one in linked_words(query, analysis("en").tokens(query), "en", plain)]
