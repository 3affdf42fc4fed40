"""Sentences checked against their translations, with the encoder of the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dragoman
from dragoman.checking import Check, Knowledge, check_sentence, check_sentences
from dragoman.checking.knowledge import Vectors
from dragoman.indexes.analysis.common_words import common_words
from dragoman.indexes.analysis.japanese_names import list_name_forms
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.indexes.analysis.transliteration import romanise
from dragoman.indexes.dense.language_means import shipped_means
from dragoman.lexicon import Table, analyse_table
from tests.checking.views import View

DOCKERS = "Rund 2.500 Hafenarbeiter haben gestern in Hamburg die Arbeit niedergelegt."
RIGHT = "Around 2,500 dockers stopped work in Hamburg yesterday."
WRONG = "More than 1,000 workers were lost in the disaster in Hong Kong."


def encode(texts: Sequence[str], language: str) -> Vectors:
    return shipped_means("e5-small").centre(dragoman.encode(list(texts)), language)


def knowledge(source: str = "de", target: str = "en") -> Knowledge:
    return Knowledge(source=source, target=target, romanise=romanise, encode=encode)


def codes(check: Check) -> set[str]:
    return {reason.code for reason in check.reasons}


def test_a_fluent_sentence_that_says_something_else_fails_and_a_right_one_is_ok() -> None:
    wrong, right = check_sentences([(DOCKERS, WRONG), (DOCKERS, RIGHT)], knowledge())
    assert wrong.status == "failed" and {"number", "name"} <= codes(wrong)
    assert [(reason.source, reason.text) for reason in wrong.reasons if reason.code == "name"] == [(None, "Hong Kong")]
    (amount,) = [reason for reason in wrong.reasons if reason.code == "number"]
    assert (amount.source, amount.text) == ("2.500", "1,000")
    assert right == Check("ok")


@pytest.mark.parametrize(
    ("translation", "code"),
    [
        (RIGHT.replace("2,500", "2,600"), "number"),
        (RIGHT.replace("Hamburg", "Bremen"), "name"),
        (RIGHT.replace("Hamburg", "Johannesburg"), "name"),
    ],
)
def test_one_thing_that_was_changed_fails(translation: str, code: str) -> None:
    check = check_sentence(DOCKERS, translation, knowledge())
    assert check.status == "failed" and codes(check) == {code}


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("ru", "Владимир Зеленский приехал в Берлин."),
        ("el", "Ο Βολοντίμιρ Ζελένσκι έφτασε στο Βερολίνο."),
        ("ja", "ウォロディミル・ゼレンスキーはベルリンに到着した。"),
    ],
)
def test_names_are_recognised_in_other_scripts(language: str, source: str) -> None:
    right, wrong = "Volodymyr Zelensky arrived in Berlin.", "Emmanuel Macron arrived in Berlin."
    assert "name" not in codes(check_sentence(source, right, knowledge(language)))
    check = check_sentence(source, wrong, knowledge(language))
    assert check.status == "failed" and any(reason.text == "Emmanuel Macron" for reason in check.reasons)


def test_without_an_encoder_no_sentence_is_better_than_a_draft() -> None:
    check = check_sentence(DOCKERS, RIGHT, Knowledge(source="de", target="en", romanise=romanise))
    assert (check.status, codes(check)) == ("draft", {"meaning"})


def test_a_glossary_is_obeyed_or_the_sentence_fails() -> None:
    table = Table.from_entries("de", "en", [("hafenarbeiter", "longshoremen", 1.0, 1.0)])
    obeying = Knowledge(source="de", target="en", forward=View(table, frozenset({0})), romanise=romanise, encode=encode)
    check = check_sentence(DOCKERS, RIGHT, obeying)
    assert check.status == "failed"
    assert [(reason.code, reason.source, reason.text) for reason in check.reasons] == [
        ("glossary", "Hafenarbeiter", "longshoremen")
    ]
    assert check_sentence(DOCKERS, RIGHT.replace("dockers", "longshoremen"), obeying) == Check("ok")


def test_a_word_of_a_longer_term_of_a_glossary_is_not_that_term() -> None:
    entries = [("forest fire", "waldbrand", 1.0, 1.0), ("harbour", "hafen", 1.0, 1.0)]
    surface = Table.from_entries("en", "de", entries)
    table = analyse_table(surface, analysis("en"), analysis("de"), frozenset({0}))
    view, back = View(table, frozenset({0})), View(table.inverse(), frozenset({0}))
    obeying = Knowledge(source="en", target="de", analysis=analysis, forward=view, backward=back)
    assert "glossary" not in codes(check_sentence("The fire went out.", "Das Feuer ging aus.", obeying))
    assert "glossary" in codes(check_sentence("The forest fire went out.", "Das Feuer ging aus.", obeying))
    assert "glossary" in codes(check_sentence("The harbour is closed.", "Der Bahnhof ist zu.", obeying))


@pytest.mark.parametrize(
    ("language", "source", "right", "wrong"),
    [
        ("de", "Die Deutschen wählen im Herbst.", "The Germans vote in autumn.", "The French vote in autumn."),
        ("fr", "Les États-Unis ont refusé.", "The United States refused.", "Canada refused."),
        ("ja", "米国は日本に抗議した。", "The US protested to Japan.", "The US protested to Denmark."),
        ("ar", "وصل الرئيس إلى ألمانيا.", "The president arrived in Germany.", "The president arrived in Poland."),
        ("th", "เขาไปอังกฤษเมื่อวานนี้", "He went to England yesterday.", "He went to Brazil yesterday."),
    ],
)
def test_places_and_peoples_are_compared_by_their_names(language: str, source: str, right: str, wrong: str) -> None:
    assert "name" not in codes(check_sentence(source, right, knowledge(language)))
    assert "name" in codes(check_sentence(source, wrong, knowledge(language)))


@pytest.mark.parametrize(
    ("language", "source", "translation", "lost"),
    [
        (
            "de",
            "Der Sender gehört zu BSkyB und sendet Filme.",
            "The channel belongs to the firm and shows films.",
            "BSkyB",
        ),
        (
            "de",
            "Dort wartete gestern Kieran Clifton auf den Bus.",
            "A man waited there yesterday for the bus.",
            "Kieran Clifton",
        ),
        ("el", "Ο σταθμός ανήκει στην BSkyB.", "The channel belongs to the firm.", "BSkyB"),
        ("zh", "许多Facebook用户抗议。", "Many users of the site protested.", "Facebook"),
        ("hi", "वह कल जर्मनी गया।", "He went there yesterday.", "जर्मनी"),
        ("ru", "Он вернулся в США.", "He returned to the city.", "США"),
    ],
)
def test_names_that_the_source_alone_has_are_missed(language: str, source: str, translation: str, lost: str) -> None:
    check = check_sentence(source, translation, knowledge(language))
    assert lost in [reason.source for reason in check.reasons if reason.code == "name"]


@pytest.mark.parametrize(
    ("source", "translation", "denial"),
    [
        ("Der Vertrag gilt nicht für Ärzte.", "The contract applies to doctors.", ("nicht", None)),
        ("Der Vertrag gilt nicht für Ärzte.", "The contract does not apply to doctors.", None),
        ("Der Vertrag gilt nicht nur für Ärzte.", "The contract applies to more than doctors.", None),
        ("Das ist nicht möglich.", "This is impossible.", None),
        ("Hier darf man nicht rauchen.", "You mustn’t smoke here.", None),
        ("Das Ministerium wollte sich nicht äußern.", "The ministry declined to comment.", None),
        ("Hier dürfen nicht mehr als zehn wohnen.", "Ten people at most may live here.", None),
    ],
)
def test_what_is_denied_and_not_so_in_english_is_a_doubt(
    source: str, translation: str, denial: tuple[str | None, str | None] | None
) -> None:
    for pair, known in (((source, translation), knowledge()), ((translation, source), knowledge().invert())):
        denials = [
            (reason.source, reason.text)
            for reason in check_sentence(*pair, known).reasons
            if reason.code == "meaning" and (reason.source or reason.text)
        ]
        expected = [] if denial is None else [denial if known.source == "de" else denial[::-1]]
        assert denials == expected


@pytest.mark.parametrize(
    ("language", "source", "right", "wrong"),
    [
        (
            "de",
            "Verteidigungsminister Robert Gates kam am Freitag.",
            "Defense Secretary Robert Gates came on Friday.",
            "Defense Secretary Engelbert Daldrup came on Friday.",
        ),
        (
            "ja",
            "彼女は来週シカゴに引っ越す。",
            "She is moving to Chicago next week.",
            "She is moving to Chico next week.",
        ),
        ("ja", "トム、ありがとう。", "Thank you, Tom.", "Thank you, Fakhfakh."),
        (
            "ja",
            "首位打者の森選手が犠打を決めた。",
            "Mori, the leading hitter, bunted.",
            "Honda, the leading hitter, bunted.",
        ),
        ("ja", "昨日、佐藤さんが来た。", "Sato came yesterday.", "Watanabe came yesterday."),
        (
            "ja",
            "文在寅大統領が月曜日に訪問した。",
            "President Moon Jae-in visited on Monday.",
            "President Watanabe visited on Monday.",
        ),
        (
            "de",
            "Der Premierminister trat am Montag zurück.",
            "The Prime Minister resigned on Monday.",
            "The Attorney General resigned on Monday.",
        ),
        (
            "de",
            "Das FBI ermittelt seit Montag in diesem Fall.",
            "The FBI has been investigating this case since Monday.",
            "The CIA has been investigating this case since Monday.",
        ),
        ("ja", "国は認めた。", "The country agreed.", "Yesterday Kuni agreed."),
    ],
)
def test_neither_a_title_nor_a_word_of_grammar_stands_for_a_name(
    language: str, source: str, right: str, wrong: str
) -> None:
    known = replace(knowledge(language), analysis=analysis, common=common_words, name_forms=list_name_forms)
    assert "name" not in codes(check_sentence(source, right, known))
    assert "name" in codes(check_sentence(source, wrong, known))


def test_offices_and_institutions_are_no_names() -> None:
    source = "La Cour suprême a donné raison au gouvernement."
    assert "name" not in codes(check_sentence(source, "The Supreme Court ruled for the Government.", knowledge("fr")))


def test_words_that_tables_translate_otherwise_are_named() -> None:
    entries = [("hund", "dog"), ("katze", "cat"), ("haus", "house"), ("garten", "garden"), ("baum", "tree")]
    table = Table.from_entries("de", "en", [(source, target, 1.0, 1.0) for source, target in entries])
    covering = Knowledge(source="de", target="en", forward=View(table), backward=View(table.inverse()))
    source = "Hund und Katze sind im Haus, im Garten, am Baum."
    assert "coverage" not in codes(
        check_sentence(source, "Dog and cat are at home, in the garden, by the tree.", covering)
    )
    check = check_sentence(source, "He walks along the river and then sits down.", covering)
    (reason,) = [reason for reason in check.reasons if reason.code == "coverage"]
    assert reason.source == "Hund, Katze, Haus, Garten, Baum"


@pytest.mark.parametrize(
    "translation", ["", "...", DOCKERS, "the work the work the work the work the work", "Гамбург стоит"]
)
def test_what_is_no_translation_fails(translation: str) -> None:
    assert check_sentence(DOCKERS, translation, Knowledge(source="de", target="en")).status == "failed"


@pytest.mark.parametrize(("source", "translation"), [("!", ""), ("", "a"), ("字", " ")])
def test_a_short_sentence_without_its_counterpart_is_a_doubt(source: str, translation: str) -> None:
    assert "length" in codes(check_sentence(source, translation, Knowledge(source="th", target="ja")))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["de", "zh", "ar", "tr"]))
def test_a_status_says_what_the_reasons_do(source: str, translation: str, language: str) -> None:
    check = check_sentence(source, translation, Knowledge(source=language, target="en", romanise=romanise))
    assert (check.status == "ok") == (not check.reasons)
    if codes(check) & {"number", "date", "unit", "name"}:
        assert check.status == "failed"


@pytest.mark.parametrize("language", ["en", "de", "ja", "th", "sw"])
def test_a_sentence_is_checked_against_another_one_of_its_language(language: str) -> None:
    own = Knowledge(source=language, target=language, romanise=romanise, encode=encode)
    assert "length" not in codes(check_sentence("The mill closed.", "The mill shut.", own))
    assert "length" in codes(check_sentence("The mill closed.", "The mill shut. " * 20, own))
