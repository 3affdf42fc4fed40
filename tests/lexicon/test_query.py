import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.query import IDENTICAL, TRANSLITERATED, Alternative, Bridge, Name, monolingual, psq
from dragoman.lexicon.smt import smt
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import PlainAnalysis, Token

ENTRIES = [
    ("bank", "bank", 0.6, 0.9),
    ("bank", "ufer", 0.4, 0.5),
    ("shore", "ufer", 1.0, 0.5),
    ("heart attack", "herz infarkt", 1.0, 1.0),
    ("heart", "herz", 1.0, 0.8),
]


def table() -> Table:
    return Table.from_entries("en", "de", ENTRIES)


def tokens(text: str, stop: str = "the of") -> list[Token]:
    return [
        Token(token.word, "" if token.word in stop.split() else token.term, token.start, token.end)
        for token in PlainAnalysis("en").tokens(text)
    ]


def weights(group: object) -> dict[str, float]:
    return {a.term: pytest.approx(a.weight) for a in group.alternatives}  # type: ignore[attr-defined]


IDENTICAL_FORM = Bridge(identical=lambda word: word)
NO_MATCH = Bridge(identical=lambda word: "")


def test_psq_weighs_by_the_probability_of_the_query_term_given_the_document_term() -> None:
    (group,) = psq(tokens("the bank"), table(), NO_MATCH).groups
    assert weights(group) == {"bank": 0.9, "ufer": 0.5}
    assert (group.query_word, group.start, group.end, group.oov) == ("bank", 4, 8, False)


def test_an_identical_string_that_no_table_knows_counts_as_certain() -> None:
    (group,) = psq(tokens("shore"), table(), IDENTICAL_FORM).groups
    assert weights(group) == {"shore": 1.0, "ufer": 0.5}
    assert [a.origin for a in group.alternatives] == [IDENTICAL, 0]


def test_a_table_s_entry_of_an_identical_string_replaces_it() -> None:
    (group,) = psq(tokens("bank"), table(), IDENTICAL_FORM).groups
    assert weights(group) == {"bank": 0.9, "ufer": 0.5}
    poison = Table.from_entries("en", "de", [("poison", "gift", 1.0, 1.0), ("gift", "geschenk", 1.0, 1.0)])
    assert weights(psq(tokens("gift"), poison, IDENTICAL_FORM).groups[0]) == {"geschenk": 1.0}


@pytest.mark.parametrize("glossaries", [frozenset[int](), frozenset({0})])
def test_a_number_is_itself_whatever_the_table_says(glossaries: frozenset[int]) -> None:
    poor = Table.from_entries(
        "en", "ar", [("1814", "1814", 0.03, 0.03), ("1814", "1812", 0.5, 0.4), ("b2", "b2", 0.1, 0.1)]
    )
    group, other = psq(tokens("1814 b2"), poor, IDENTICAL_FORM, glossaries).groups
    assert weights(group) == {"1814": 1.0, "1812": 0.4}
    assert group.alternatives[0].origin == IDENTICAL
    assert weights(other) == {"b2": 0.1}


def test_a_document_word_in_the_query_is_searched_unchanged() -> None:
    query = psq(tokens("ufer"), table(), IDENTICAL_FORM)
    assert query.oov == ["ufer"]
    assert weights(query.groups[0]) == {"ufer": 1.0}


def test_a_glossary_entry_replaces_the_identical_string() -> None:
    query = psq(tokens("shore"), table(), IDENTICAL_FORM, glossaries=frozenset({0}))
    assert weights(query.groups[0]) == {"ufer": 0.5}


def test_a_translation_that_is_the_same_string_is_known() -> None:
    same = Table.from_entries("en", "de", [("hotel", "hotel", 0.9, 0.8)])
    query = psq(tokens("hotel"), same, IDENTICAL_FORM)
    assert query.oov == []
    assert weights(query.groups[0]) == {"hotel": pytest.approx(0.8)}


def test_a_repeated_term_counts_twice() -> None:
    query = psq(tokens("shore of the shore"), table(), NO_MATCH)
    assert [(group.query_word, group.weight) for group in query.groups] == [("shore", 2.0)]


def test_an_oov_word_is_reported_and_searched_by_identity_and_sound() -> None:
    bridge = Bridge(identical=lambda word: word, sounds_like=lambda term: [("tesslah", 0.7), (term, 1.0)])
    query = psq(tokens("Tesla bank"), table(), bridge)
    assert query.oov == ["tesla"]
    found = [(a.term, a.weight, a.origin) for a in query.groups[0].alternatives]
    assert found == [("tesla", 1.0, IDENTICAL), ("tesslah", 0.7, TRANSLITERATED)]


def aside(words: str) -> Callable[[Token], bool]:
    return lambda token: token.word in words.split()


@given(st.lists(st.sampled_from(["bank", "shore", "what", "up"]), min_size=1, max_size=6))
def test_words_are_left_aside_only_if_there_are_others(words: list[str]) -> None:
    text = " ".join(words)
    others = " ".join(word for word in words if word not in ("what", "up"))
    query = psq(tokens(text), table(), IDENTICAL_FORM, aside=aside("what up"))
    plain = psq(tokens(others or text), table(), IDENTICAL_FORM)
    assert [(g.query_term, g.weight, g.alternatives) for g in query.groups] == [
        (g.query_term, g.weight, g.alternatives) for g in plain.groups
    ]
    assert query.oov == plain.oov


def test_a_phrase_of_a_glossary_is_not_left_aside() -> None:
    glossary = Table.from_entries("en", "de", [*ENTRIES, ("start up", "gründung", 1.0, 1.0)])
    query = psq(tokens("what start up bank up"), glossary, NO_MATCH, frozenset({0}), aside=aside("up what"))
    assert [group.query_term for group in query.groups] == ["start up", "bank"]


def test_a_phrase_of_a_glossary_is_one_query_term() -> None:
    query = psq(tokens("heart attack of the bank"), table(), NO_MATCH, glossaries=frozenset({0}))
    assert [(group.query_term, group.start, group.end) for group in query.groups] == [
        ("heart attack", 0, 12),
        ("bank", 20, 24),
    ]
    assert weights(query.groups[0]) == {"herz": 0.5, "infarkt": 0.5}


def test_a_phrase_of_a_statistical_table_is_not_a_query_term() -> None:
    query = psq(tokens("heart attack"), table(), NO_MATCH)
    assert [group.query_term for group in query.groups] == ["heart", "attack"]
    assert query.oov == ["attack"]


def test_smt_takes_the_ten_best_normalised_and_drops_what_is_not_alphabetic() -> None:
    probabilities = [1 / 2**place for place in range(1, 13)]
    many = Table.from_entries("en", "de", [("a", f"t{place:02}", p, 1.0) for place, p in enumerate(probabilities)])
    query = smt(tokens("a a 1979 x2 the b"), many)
    assert [group.query_word for group in query.groups] == ["a", "a", "b"]
    found = [(a.term, a.weight) for a in query.groups[0].alternatives]
    assert [term for term, _ in found] == [f"t{place:02}" for place in range(10)]
    assert [weight for _, weight in found] == pytest.approx([p / sum(probabilities[:10]) for p in probabilities[:10]])
    assert query.oov == ["b"]
    assert [a.term for a in query.groups[2].alternatives] == ["b"]


def test_smt_reads_past_phrases_and_keeps_words_with_marks() -> None:
    entries = [("हिन्दी", f"two words {place}", 1 / 100, 1.0) for place in range(50)]
    known = Table.from_entries("hi", "en", [*entries, ("हिन्दी", "hindi", 1 / 200, 1.0)])
    (group,) = smt(PlainAnalysis("hi").tokens("हिन्दी"), known).groups
    assert [(a.term, a.weight) for a in group.alternatives] == [("hindi", 1.0)]


def test_without_a_table_every_word_is_out_of_vocabulary() -> None:
    assert psq(tokens("the bank shore"), None, IDENTICAL_FORM).oov == ["bank", "shore"]
    assert smt(tokens("the bank shore"), None).oov == ["bank", "shore"]


def test_untranslated_keeps_the_index_terms() -> None:
    query = monolingual(tokens("the bank bank shore"))
    assert [(g.query_term, g.weight, [a.term for a in g.alternatives]) for g in query.groups] == [
        ("bank", 2.0, ["bank"]),
        ("shore", 1.0, ["shore"]),
    ]


words = st.sampled_from("abcdefg")
entries = st.dictionaries(
    st.tuples(words, words), st.tuples(st.floats(2**-7, 1, width=32), st.floats(2**-7, 1, width=32)), min_size=1
)


@given(entries, st.lists(words, max_size=8), st.floats(0, 1))
def test_psq_agrees_with_a_plain_reading_of_the_table(
    known: dict[tuple[str, str], tuple[float, float]], query: list[str], least: float
) -> None:
    table = Table.from_entries("en", "de", [(e, f, pf, pb) for (e, f), (pf, pb) in known.items()])
    result = psq(tokens(" ".join(query), stop=""), table, NO_MATCH, min_probability=least)
    for group in result.groups:
        expected = {f: pb for (e, f), (_, pb) in known.items() if e == group.query_term and pb >= np.float32(least)}
        assert {a.term: a.weight for a in group.alternatives} == expected
        assert group.oov == (not expected)
    assert math.fsum(group.weight for group in result.groups) == len(query)


NAMES = [
    ("rice", "reis", 1.0, 0.9),
    ("bush", "busch", 1.0, 0.9),
    ("sea of japan", "japanisches meer", 1.0, 0.8),
    ("sea", "meer", 1.0, 0.7),
    ("japan", "japan", 1.0, 0.9),
]


def named_table() -> Table:
    return Table.from_entries("en", "de", NAMES)


def test_the_words_of_a_name_match_by_form_and_sound_alone() -> None:
    sounds = {"condoleezza": [("kondoleeza", 0.8)], "rice": [("reis", 0.9), ("райс", 0.7)]}
    bridge = Bridge(lambda word: word, lambda term: sounds.get(term, []), lambda term: term != "condoleezza")
    text = "rice for Condoleezza Rice"
    groups = psq(tokens(text, stop="for"), named_table(), bridge, names=[Name(9, 25)]).groups
    assert [(group.query_word, group.start, group.by_form) for group in groups] == [
        ("rice", 0, False), ("condoleezza", 9, True), ("rice", 21, True)
    ]  # fmt: skip
    assert weights(groups[0]) == {"rice": 1.0, "reis": 0.9}  # the same word elsewhere in the query is as it was
    assert weights(groups[1]) == {"kondoleeza": 0.8}
    assert weights(groups[2]) == {"rice": 1.0, "райс": 0.7}
    (kept,) = psq(tokens("Rice"), named_table(), bridge, names=[Name(0, 4)]).groups
    assert weights(kept) == {"rice": 1.0, "райс": 0.7} and kept.by_form and not kept.oov


def test_a_name_leaves_the_same_word_after_it_translated() -> None:
    found = tokens("Rice eats rice with Rice", stop="with")
    groups = psq(found, named_table(), IDENTICAL_FORM, names=[Name(0, 4), Name(20, 24)]).groups
    assert [(group.query_word, group.by_form, group.weight, group.repeated) for group in groups] == [
        ("rice", True, 2.0, ((20, 24),)), ("eats", False, 1.0, ()), ("rice", False, 1.0, ())
    ]  # fmt: skip
    assert weights(groups[2])["reis"] == 0.9 and "reis" not in weights(groups[0])


def test_a_name_that_the_collection_has_nothing_like_is_translated() -> None:
    bridge = Bridge(lambda word: word, holds=lambda term: False)
    groups = psq(tokens("Bush"), named_table(), bridge, names=[Name(0, 4)]).groups
    assert groups == psq(tokens("Bush"), named_table(), bridge).groups and not groups[0].by_form


def test_a_name_that_a_table_has_whole_is_one_term() -> None:
    whole = (Alternative("japanisches", 0.4, 0), Alternative("meer", 0.4, 0))
    text = "the deep Sea of Japan fish"
    query = psq(tokens(text), named_table(), IDENTICAL_FORM, names=[Name(9, 21, whole)])
    assert [(group.query_word, group.query_term, group.start, group.end) for group in query.groups] == [
        ("deep", "deep", 4, 8), ("sea of japan", "sea  japan", 9, 21), ("fish", "fish", 22, 26)
    ]  # fmt: skip
    assert weights(query.groups[1]) == {"japanisches": 0.4, "meer": 0.4}
    twice = [Name(0, 12, whole), Name(17, 29, whole)]
    found = tokens("Sea of Japan and Sea of Japan", stop="of and")
    (both,) = psq(found, named_table(), IDENTICAL_FORM, names=twice).groups
    assert (both.start, both.end, both.weight, both.repeated) == (0, 12, 2.0, ((17, 29),))


@given(st.lists(st.sampled_from(["rice", "bush", "sea", "of", "japan", "fish"]), min_size=1, max_size=6), st.data())
def test_names_change_no_term_outside_of_them(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    found = tokens(text)
    first = data.draw(st.integers(0, len(found) - 1))
    name = Name(found[first].start, found[data.draw(st.integers(first, len(found) - 1))].end)
    before = psq(found, named_table(), IDENTICAL_FORM).groups
    after = psq(found, named_table(), IDENTICAL_FORM, names=[name]).groups
    outside = [group for group in before if not name.start <= group.start < name.end]
    assert [one.query_term for one in after if one.start in {group.start for group in outside}] == [
        one.query_term for one in outside
    ]
    assert {one.query_term for one in after} == {one.query_term for one in before}
