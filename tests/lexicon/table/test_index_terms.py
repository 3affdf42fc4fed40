"""Tables of index terms agree with a plain implementation of the rule, entry by entry."""

from collections import defaultdict
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.table.aggregation import marginals
from dragoman.lexicon.table.compose import Member, merge
from dragoman.lexicon.table.index_terms import LONGEST_PHRASE, LONGEST_TERM, analyse, analyse_table
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import PlainAnalysis, Token, words


class FirstLetter:
    """Stems a word to its first letter; words that begin with o are stop words."""

    fingerprint = "first letter"

    def __init__(self, language: str) -> None:
        self.language = language

    def tokens(self, text: str) -> list[Token]:
        return [
            Token(t.word, "" if t.word[0] == "o" else t.word[0], t.start, t.end) for t in words(text, self.language)
        ]


EN, DE = FirstLetter("en"), FirstLetter("de")
terms = st.lists(st.sampled_from(["xa", "xb", "ya", "yb", "of"]), min_size=1, max_size=5).map(" ".join)
probabilities = st.sampled_from([0.0, 0.125, 0.25, 0.375])
contents = st.dictionaries(
    st.tuples(terms, terms), st.tuples(probabilities, probabilities, st.integers(0, 2)), min_size=1, max_size=10
)
Content = dict[tuple[str, str], tuple[float, float, int]]


def build(content: Content) -> Table:
    sources = sorted({s for s, _ in content})
    targets = sorted({t for _, t in content})
    scale = [
        {term: max(1.0, sum(p[side] for pair, p in content.items() if pair[side] == term)) for term in side_terms}
        for side, side_terms in ((0, sources), (1, targets))
    ]
    return Table.from_arrays(
        "en",
        "de",
        sources,
        targets,
        [sources.index(s) for s, _ in content],
        [targets.index(t) for _, t in content],
        [p[0] / scale[0][s] for (s, _), p in content.items()],
        [p[1] / scale[1][t] for (_, t), p in content.items()],
        [p[2] for p in content.values()],
    )


def index_terms(term: str) -> list[str]:
    return [word[0] for word in term.split(" ") if word[0] != "o"]


def affinities(entries: list[tuple[str, str, tuple[float, float]]]) -> dict[tuple[str, str], float]:
    """P(y|x) + P(x|y) by the entries of single words."""
    joint: list[dict[tuple[str, str], float]] = [defaultdict(float), defaultdict(float)]
    for s, t, values in entries:
        x, y = index_terms(s), index_terms(t)
        if len(x) == len(y) == 1:
            for side in (0, 1):
                joint[side][x[0], y[0]] += values[side]
    found: dict[tuple[str, str], float] = defaultdict(float)
    for side in (0, 1):
        for pair, value in joint[side].items():
            total = sum(other for key, other in joint[side].items() if key[side] == pair[side])
            found[pair] += value / total if total else 0.0
    return found


def alignment(affinity: dict[tuple[str, str], float], a: list[str], b: list[str], i: int, j: int) -> float:
    """The expected alignment of word i of a with word j of b."""
    weight = affinity[a[i], b[j]] + 0.02
    of_source = weight / sum(affinity[a[i], y] + 0.02 for y in b)
    of_target = weight / sum(affinity[x, b[j]] + 0.02 for x in a)
    if len(a) == len(b):
        return (of_source + of_target) / 2
    return of_source if len(a) < len(b) else of_target


def reference(table: Table, glossaries: frozenset[int]) -> tuple[dict[tuple[str, str], list[float]], int]:
    """The documented rule with dictionaries: {(S, T): [P(T|S), P(S|T)]} and the entries dropped."""
    p = [
        dict(zip(vocabulary, values, strict=True))
        for vocabulary, values in zip((table.sources, table.targets), marginals(table), strict=True)
    ]
    entries = [(s, e.term, e.p_forward, e.p_backward, e.origin) for s in table.sources for e in table.translations(s)]
    mass: list[dict[str, float]] = [defaultdict(float), defaultdict(float)]
    for s, t, forward, backward, _ in entries:
        mass[0][s] += forward
        mass[1][t] += backward
    usable = [e for e in entries if all(0 < len(index_terms(term)) <= LONGEST_TERM for term in e[:2])]
    ruling = [e for e in usable if e[4] in glossaries]
    covered = [{" ".join(index_terms(e[side])) for e in ruling} for side in (0, 1)]
    ruling_terms = [{e[side] for e in ruling} for side in (0, 1)]
    whole: list[dict[str, float]] = [defaultdict(float), defaultdict(float)]
    for side in (0, 1):
        for term, value in p[side].items():
            name = " ".join(index_terms(term))
            if name not in covered[side] or term in ruling_terms[side]:
                whole[side][name] += value
    word = [defaultdict(float, weights) for weights in whole]
    joint: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])

    def add(s: str, t: str, values: tuple[float, float], rules: bool) -> bool:
        if not rules and (s in covered[0] or t in covered[1]):
            return False
        joint[s, t][0] += values[0]
        joint[s, t][1] += values[1]
        return True

    kept = [
        (s, t, (forward * p[0][s], backward * p[1][t]), origin in glossaries)
        for s, t, forward, backward, origin in usable
    ]
    kept = [e for e in kept if add(" ".join(index_terms(e[0])), " ".join(index_terms(e[1])), e[2], e[3])]
    affinity = affinities([e[:3] for e in kept])
    for s, t, values, rules in kept:
        a, b = index_terms(s), index_terms(t)
        m, n = len(a), len(b)
        if max(m, n) == 1 or max(m, n) > LONGEST_PHRASE or (min(m, n) > 1 and m != n):
            continue
        for i, j in product(range(m), range(n)):
            share = alignment(affinity, a, b, i, j)
            apart = (rules and m > 1 and a[i] in covered[0], rules and n > 1 and b[j] in covered[1])
            shared = (0 if apart[1] else values[0] * share, 0 if apart[0] else values[1] * share)
            if not all(apart) and add(a[i], b[j], shared, rules):
                word[0][a[i]] += shared[0] / mass[0][s] if m > 1 and shared[0] else 0.0
                word[1][b[j]] += shared[1] / mass[1][t] if n > 1 and shared[1] else 0.0
    found = {}
    for (s, t), values in joint.items():
        weights = whole if " " in s or " " in t else word
        found[s, t] = [
            value / weight if value else 0.0
            for value, weight in zip(values, (weights[0][s], weights[1][t]), strict=True)
        ]
    return found, len(entries) - len(usable)


@given(contents, st.sampled_from([frozenset(), frozenset({0}), frozenset({1, 2})]))
def test_analysing_agrees_with_the_rule(content: Content, glossaries: frozenset[int]) -> None:
    table = build(content)
    expected, dropped = reference(table, glossaries)
    made = analyse(table, EN, DE, glossaries)
    found = {(s, e.term): [e.p_forward, e.p_backward] for s in made.table.sources for e in made.table.translations(s)}
    assert made.dropped == dropped
    assert found.keys() == expected.keys()
    for pair, values in expected.items():
        assert found[pair] == pytest.approx(values, rel=1e-5, abs=1e-9)


@given(contents)
def test_rows_of_words_and_rows_of_whole_terms_have_no_more_mass_than_before(content: Content) -> None:
    table = build(content)
    for made, before in (
        (analyse_table(table, EN, DE), table),
        (analyse_table(table, EN, DE).inverse(), table.inverse()),
    ):
        most = max(sum(e.p_forward for e in before.translations(s)) for s in before.sources)
        for s in made.sources:
            entries = made.translations(s)
            assert sum(e.p_forward for e in entries if " " not in s + e.term) <= most + 1e-5
            if " " in s:
                assert sum(e.p_forward for e in entries) <= most + 1e-5


@given(contents)
def test_analysing_the_inverse_is_the_inverse(content: Content) -> None:
    table = build(content)
    one, other = analyse_table(table, EN, DE), analyse_table(table.inverse(), DE, EN).inverse()
    assert list(one.sources) == list(other.sources)
    for s in one.sources:
        left = sorted((e.term, e.p_forward, e.p_backward) for e in one.translations(s))
        right = sorted((e.term, e.p_forward, e.p_backward) for e in other.translations(s))
        assert [e[0] for e in left] == [e[0] for e in right]
        assert [p for e in left for p in e[1:]] == pytest.approx([p for e in right for p in e[1:]], abs=1e-6)


@given(st.dictionaries(st.tuples(st.sampled_from("bcd"), st.sampled_from("xyz")), probabilities, min_size=1))
def test_an_analysis_that_changes_nothing_changes_nothing(content: dict[tuple[str, str], float]) -> None:
    table = build({pair: (p, p, 0) for pair, p in content.items()})
    made = analyse_table(table, PlainAnalysis("en"), PlainAnalysis("de"))
    for s in table.sources:
        expected = {e.term: (e.p_forward, e.p_backward) for e in table.translations(s)}
        found = {e.term: (e.p_forward, e.p_backward) for e in made.translations(s)}
        assert found.keys() == expected.keys()
        for term, values in expected.items():
            assert found[term] == pytest.approx(values, rel=1e-6, abs=1e-9)


def test_a_row_keeps_its_mass() -> None:
    table = Table.from_entries("en", "de", [("aa", "xx", 0.5, 1), ("aa", "yy", 0.3, 1), ("ab", "zz", 0.8, 1)])
    assert sum(e.p_forward for e in analyse_table(table, EN, DE).translations("a")) == pytest.approx(0.8)


def test_the_rarer_form_counts_less() -> None:
    """Of two forms with one stem, the one that is translated to more often decides."""
    table = Table.from_entries(
        "en", "de", [("aa", "xx", 1, 0.9), ("ab", "xx", 0.2, 0.1), ("ab", "yy", 0.8, 0.1), ("cc", "yy", 1, 0.9)]
    )
    [x, y] = analyse_table(table, EN, DE).translations("a")
    assert (x.term, y.term) == ("x", "y")
    assert x.p_forward > 0.8 > 0.6


def test_a_phrase_is_kept_whole_and_distributed_over_its_words() -> None:
    table = Table.from_entries("en", "de", [("new of york", "stadt", 1, 1)])
    made = analyse_table(table, EN, DE)
    assert [(e.term, e.p_forward, e.p_backward) for e in made.translations("n y")] == [("s", 1.0, 1.0)]
    [entry] = made.translations("n")
    assert (entry.term, entry.p_forward, entry.p_backward) == ("s", 1.0, 0.5)


def test_words_of_a_phrase_align_with_their_translations() -> None:
    table = Table.from_entries(
        "en", "de", [("house", "xaus", 1, 1), ("white", "yeiss", 1, 1), ("white house", "yeisses xaus", 1, 1)]
    )
    made = analyse_table(table, EN, DE)
    assert {e.term: round(e.p_forward, 2) for e in made.translations("h")} == {"x": 1.0, "y": 0.0}
    assert [e.term for e in made.translations("w h")] == ["y x"]


def test_a_glossary_keeps_its_rank_among_the_forms_of_a_word() -> None:
    statistical = Table.from_entries("en", "de", [("banks", "kredit", 1, 1), ("day", "tag", 1, 1)])
    glossary = Table.from_entries("en", "de", [("bank", "ufer", 1, 1), ("day of night", "zeit", 1, 1)])
    merged = merge([Member(statistical, "news", 1), Member(glossary, "rivers", 1, "glossary")])
    made = analyse_table(merged, EN, DE, glossaries=frozenset({1}))
    assert [(e.term, e.origin) for e in made.translations("b")] == [("u", 1)]
    assert {e.term: e.origin for e in made.translations("d")} == {"t": 0, "z": 1}
    mixed = analyse_table(merged, EN, DE)
    assert [e.term for e in mixed.translations("b")] == ["k", "u"]


def test_a_longer_glossary_term_adds_nothing_to_a_word_that_is_a_term() -> None:
    entries = [("bank", "ufer", 1, 1), ("central bank", "zentrale", 1, 1), ("bank night", "kreis nacht", 1, 1)]
    made = analyse_table(Table.from_entries("en", "de", entries), EN, DE, glossaries=frozenset({0}))
    turned = analyse_table(
        Table.from_entries("de", "en", [(t, s, p, q) for s, t, p, q in entries]), DE, EN, frozenset({0})
    )
    for one in (made, turned.inverse()):
        found = {term: {e.term for e in one.translations(term, least_backward=0.01)} for term in ("b", "c", "n", "c b")}
        assert found == {"b": {"u"}, "c": {"z"}, "n": {"k", "n"}, "c b": {"z"}}
    for one in (turned, made.inverse()):
        assert {entry.term for entry in one.translations("z", least_backward=0.01)} == {"c b", "c", "b"}
    apart = analyse_table(Table.from_entries("en", "de", entries), EN, DE)
    assert {entry.term for entry in apart.translations("b", least_backward=0.01)} == {"u", "z", "k", "n"}


def test_entries_without_an_index_term_are_dropped_and_counted() -> None:
    table = Table.from_entries("en", "de", [("of", "x", 1, 1), ("a", "of on", 1, 1), ("a a a a a", "x", 1, 1)])
    made = analyse(table, EN, DE)
    assert (len(made.table), made.dropped) == (0, 3)
    assert analyse(made.table, EN, DE).dropped == 0
