"""Query translation: query terms become weighted terms of the documents' language.

Each function turns the words of a query into one :class:`TermGroup` per query term. The first stage scores the
group's alternatives:

- :func:`psq`, probabilistic structured queries (Darwish & Oard 2003): a group is one BM25 term with
  ``tf_e(D) = sum_f P(e|f) tf_f(D)`` and ``df_e = sum_f P(e|f) df_f``;
- :func:`~dragoman.lexicon.smt.smt`, the first stage of "Mixed Attention Transformer": a group is the weighted
  combination ``sum_f P(f|e) BM25(f)`` of the ten best translations;
- :func:`monolingual`: documents in the query's language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import regex

from dragoman.deadline import check_each
from dragoman.lexicon.collisions import Terms, bound_weights
from dragoman.lexicon.phrases import units
from dragoman.lexicon.table.table import Lookup
from dragoman.lexicon.text.tokens import AGAIN, EXACT, PART, REPEATED, Token

Method = Literal["psq", "smt", "none"]

IDENTICAL = -1
"""Origin of an alternative that is identical to the query string, such as a name or number."""
TRANSLITERATED = -2
"""Origin of an alternative found by phonetic similarity across scripts."""

PART_WEIGHT = 0.5
"""What a word within a longer one counts, in words by themselves."""
SPLIT_WEIGHT = 0.9
"""What two words that together are the one of an entry count, in that word itself."""
LEAST_PROBABILITY = 0.003
_LATIN = regex.compile(r"\p{Latin}")


Place = tuple[int, int]
"""Where a word begins and ends in a query."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A document-language index term that may translate a query term."""

    term: str
    weight: float
    """``psq``: P(query term | document term); ``smt``: P(document term | query term), sums to 1; else 1."""
    origin: int
    """Index of the entry's member of the merged table, or :data:`IDENTICAL` or :data:`TRANSLITERATED`."""


@dataclass(frozen=True, slots=True)
class TermGroup:
    """One query term with the document terms that may match it."""

    query_word: str
    query_term: str
    start: int
    end: int
    """Offsets of the (first) query word in the query's text."""
    alternatives: list[Alternative]
    weight: float = 1.0
    """How often the term occurs in the query."""
    oov: bool = False
    """Whether the term has no translation in the active tables."""
    repeated: tuple[Place, ...] = ()
    """Offsets of its further occurrences in a structured query."""
    by_form: bool = False
    """Whether it is a word of a name, and matched by its form and sound alone."""
    spelling: str = ""
    """The word, spelt nearly so, whose translations these are; no table has the query's word."""


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """A query for one document language."""

    method: Method
    groups: list[TermGroup] = field(default_factory=list)

    @property
    def oov(self) -> list[str]:
        """The query words without an entry, in query order."""
        return [group.query_word for group in self.groups if group.oov]


class Respelt(NamedTuple):
    """A word of the table, its term there, and what its translations count in place of the word's as it is spelt."""

    word: str
    term: str
    weight: float


@dataclass(frozen=True, slots=True)
class Bridge:
    """How the terms of documents are written, and matches of a query word without a table: by the identical string or
    by sound.

    ``identical`` returns the index term of the word in a document ("" for a function word). ``sounds_like`` returns
    the index terms of the collection that sound like a query term, with similarities in (0, 1].
    """

    identical: Callable[[str], str]
    sounds_like: Callable[[str], Sequence[tuple[str, float]]] = lambda term: ()
    holds: Callable[[str], bool] = lambda term: True
    """Whether the collection has an index term."""
    sequences: Callable[[str], Sequence[str]] = lambda term: ()
    """How a document may have a term otherwise cut, where words are written without spaces."""
    parts: bool = False
    """Whether documents have words within words."""
    folded: Callable[[str], str] = lambda word: word
    """What folding makes of a word of the query that is kept as it is written."""
    written: Callable[[str], Sequence[str]] = lambda word: ()
    """The single words that glossaries have for a word or phrase of the query, folded."""
    exact: bool = True
    """Whether documents' words have a field of their own, beside their index terms; else they are further terms."""
    placed: bool = False
    """Whether a glossary's term of several words is matched as a sequence."""
    sequential: bool = False
    """Whether that of any table is: where most words are written as several."""
    language: str = ""
    """That of the documents; how they have terms follows from it and the table."""
    respell: Callable[[Token], Respelt | None] = lambda token: None
    """What a word that the table lacks may be in another spelling."""
    several: Callable[[Token], tuple[Terms, ...]] = lambda token: ()
    """Of the words that the tables have for one of the query, and of itself, those of which several terms match it."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a query, at ``start`` to ``end``; ``whole`` is what tables have as translations of all of it, or what
    sounds like all of it, where it is ``oov``."""

    start: int
    end: int
    whole: tuple[Alternative, ...] = ()
    oov: bool = False


_CACHED_TERMS = 20_000
_SEQUENCES = 200
"""How many translations of several words a query word has at most; the most probable ones."""
_ALTERNATIVES: WeakKeyDictionary[
    Lookup, dict[tuple[str, str, frozenset[int], float], tuple[list[Alternative], bool]]
] = WeakKeyDictionary()
"""Cached lookups per table."""
_WRITTEN: WeakKeyDictionary[
    Lookup, dict[tuple[str, str, frozenset[int], str], tuple[list[Alternative], list[Alternative]]]
] = WeakKeyDictionary()
"""Per table the alternatives of a term, and what they became with the other ways in which documents may have them."""


def psq(
    tokens: Sequence[Token],
    table: Lookup | None,
    bridge: Bridge,
    glossaries: frozenset[int] = frozenset(),
    min_probability: float = LEAST_PROBABILITY,
    aside: Callable[[Token], bool] = lambda token: False,
    names: Sequence[Name] = (),
    joined: bool = False,
) -> TranslatedQuery:
    """Probabilistic structured query over an analysed table whose source is the query's language.

    The weight of an alternative f for query term e is P(e|f). The identical string has probability 1, unless the table
    translates the query term and either has the string as a target term or the entry is a glossary's. A number has
    probability 1 in any case: no language writes it as another one. A document's word counts 1 at most for a query
    term, whatever its stems (:func:`~dragoman.lexicon.collisions.bound_weights`). A phrase in one of the ``glossaries``
    (origins of the table) is one query term, with all of its words. Entries of other phrases were distributed over
    their words when the table was analysed. If ``joined``, phrases of all tables are terms as well, beside their words
    (for a language that writes most words as several). A term without an entry is marked ``oov`` and searched by its
    identical string, and where documents lack that by what another spelling is translated to; by sound if there is
    none. Words for which ``aside`` is true are left out, unless the query has no others.

    One of the ``names`` that a table has as a whole is one query term. The words of another one are not translated:
    they match by their form and sound, unless the collection has nothing like them. The same word elsewhere in the
    query is a term of its own.
    """
    groups: dict[tuple[str, bool], tuple[TermGroup, dict[Place, None]]] = {}
    whole = list(units(tokens, table, glossaries))
    covered: set[int] = set()
    for unit in units(tokens, table) if joined else ():
        if " " in unit.term:
            covered.update(range(unit.start, unit.end))
            whole.append(unit)
    for token in check_each([unit for unit in check_each(whole) if not aside(unit)] or whole):
        name = next(
            (candidate for candidate in names if candidate.start <= token.start and token.end <= candidate.end), None
        )
        identical = bridge.identical(token.word)
        token = in_any_case(token, table, bridge)
        matches, translated = alternatives(token.term, identical, table, glossaries, min_probability)
        if name is not None and " " not in token.term:
            name_matches = _as_list(name.whole) if name.whole else _by_form(token, identical, matches, bridge)
            name_matches = _count_once(name_matches, token, bridge)
            if name_matches:
                _add(groups, _group_name(token, name, tokens, name_matches))
                continue
        matches = _count_once(matches, token, bridge)
        syllable = not translated and token.start in covered  # of a word that is translated as a whole
        spelling = ""
        if not translated and not syllable:
            sounds = tuple(bridge.sounds_like(token.term))
            if table is not None and not (identical and bridge.holds(identical)):
                matches, spelling = _with_spelling(token, matches, table, glossaries, min_probability, bridge)
            if not spelling:
                matches = _with_sounds(tuple(matches), sounds, identical)
        matches = add_written_forms(matches, token, table, glossaries, bridge)
        oov = not (translated or syllable)
        _add(groups, TermGroup(token.word, token.term, token.start, token.end, matches, oov=oov, spelling=spelling))
    return TranslatedQuery("psq", [_count_places(group, list(places)) for group, places in groups.values()])


def _count_once(matches: list[Alternative], token: Token, bridge: Bridge) -> list[Alternative]:
    """The alternatives with which a word of several index terms counts once; the same object for equal ones."""
    if len(matches) < 2 or sum(sorted([match.weight for match in matches])[-2:]) <= 1:
        return matches
    words = bridge.several(token)
    return _bound(tuple(matches), words) if words else matches


def _with_spelling(
    token: Token,
    matches: list[Alternative],
    table: Lookup,
    glossaries: frozenset[int],
    min_probability: float,
    bridge: Bridge,
) -> tuple[list[Alternative], str]:
    """The matches with the translations of a word that is spelt nearly as the token, and that word, if there is one."""
    respelt = bridge.respell(token)
    if respelt is None:
        return matches, ""
    entries, translated = alternatives(respelt.term, "", table, glossaries, min_probability)
    if not translated:
        return matches, ""
    likely = [replace(entry, weight=entry.weight * respelt.weight) for entry in entries]
    return _as_list((*matches, *likely)), respelt.word


def _add(groups: dict[tuple[str, bool], tuple[TermGroup, dict[Place, None]]], group: TermGroup) -> None:
    """Add a term, or note where it is repeated; each word of a whole name has the same group and place."""
    _, places = groups.setdefault((group.query_term, group.by_form), (group, {}))
    places[group.start, group.end] = None


def _count_places(group: TermGroup, places: Sequence[Place]) -> TermGroup:
    """The group with the weight of all its places, of which the first is its own."""
    more = tuple(places[1:])
    return replace(group, weight=group.weight + len(more), repeated=more) if more else group


def _group_name(token: Token, name: Name, tokens: Sequence[Token], alternatives: list[Alternative]) -> TermGroup:
    """The query term of a whole name, or of a word of one that is kept."""
    if not name.whole:
        return TermGroup(token.word, token.term, token.start, token.end, alternatives, by_form=True)
    inside = [word_token for word_token in tokens if name.start <= word_token.start and word_token.end <= name.end]
    words, terms = (
        " ".join(part) for part in zip(*((word_token.word, word_token.term) for word_token in inside), strict=True)
    )
    return TermGroup(words, terms, name.start, name.end, alternatives, oov=name.oov)


def _by_form(token: Token, identical: str, translations: Sequence[Alternative], bridge: Bridge) -> list[Alternative]:
    """What a word of a name matches: itself, and the translations that sound like it, or else what sounds like it.

    What is written in the script of the word itself sounds alike only by chance, where the collection has the word.
    """
    itself = tuple(_identical(identical)) if identical and bridge.holds(identical) else ()
    latin = bool(_LATIN.match(identical))
    sounds = [sound for sound in bridge.sounds_like(token.term) if not itself or bool(_LATIN.match(sound[0])) != latin]
    alike = {term for term, _ in sounds} - {identical}
    agreed = [translation for translation in translations if translation.term in alike]
    return _as_list((*itself, *agreed)) if agreed else _with_sounds(itself, tuple(sounds), identical)


def monolingual(
    tokens: Sequence[Token], bridge: Bridge | None = None, aside: Callable[[Token], bool] = lambda token: False
) -> TranslatedQuery:
    """The query's own index terms, for documents in its language.

    Words for which ``aside`` is true are left out, unless the query has no others. The ``bridge`` says how documents
    may have a term as a part of another word, or as a sequence.
    """
    groups: dict[str, TermGroup] = {}
    content = [token for token in tokens if token.term]
    for token in [token for token in content if not aside(token)] or content:
        group = groups.get(token.term)
        if group:
            groups[token.term] = replace(group, weight=group.weight + 1)
            continue
        matches = _identical(token.term)
        if bridge is not None:
            matches = add_written_forms(matches, token, None, frozenset(), bridge)
        groups[token.term] = TermGroup(token.word, token.term, token.start, token.end, matches)
    return TranslatedQuery("none", list(groups.values()))


def in_any_case(token: Token, table: Lookup | None, bridge: Bridge) -> Token:
    """A word that is kept as it is written (``IT``), as the word that folding makes of it where a table has that alone.

    Versions of tables from before such words were kept have only the folded form.
    """
    if table is None or token.term != token.word or " " in token.word:
        return token
    folded = bridge.folded(token.word)
    if folded == token.word or token.term in table or folded not in table:
        return token
    return token._replace(term=folded)


def add_written_forms(
    alternatives: list[Alternative], token: Token, table: Lookup | None, glossaries: frozenset[int], bridge: Bridge
) -> list[Alternative]:
    """The alternatives with the other ways in which documents may have them: as sequences, and as parts of words.

    A word of a glossary as it is written there counts once more than its other forms. Where the bridge names the
    documents' language, repeated calls for one table return the same list object while it is cached.
    """
    if table is None or not bridge.language:
        return _compute_written_forms(alternatives, token, table, glossaries, bridge)
    cache = _WRITTEN.setdefault(table, {})
    key = (token.word, token.term, glossaries, bridge.language)
    cached = cache.get(key)
    if cached is not None and cached[0] is alternatives:
        return cached[1]
    if len(cache) >= _CACHED_TERMS:
        cache.clear()
    entries = _compute_written_forms(alternatives, token, table, glossaries, bridge)
    cache[key] = alternatives, entries
    return entries


def _compute_written_forms(
    alternatives: list[Alternative], token: Token, table: Lookup | None, glossaries: frozenset[int], bridge: Bridge
) -> list[Alternative]:
    origin = next((alternative.origin for alternative in alternatives if alternative.origin in glossaries), None)
    listed = bridge.written(token.word) if origin is not None else ()
    written = list(alternatives)
    if origin is not None:
        terms = {alternative.term for alternative in alternatives}
        mark = EXACT if bridge.exact else AGAIN
        written += [Alternative(mark + word, 1.0, origin) for word in listed if bridge.exact or word not in terms]
    if bridge.placed and table is not None and (glossaries or bridge.sequential):
        several = [entry for entry in table.translations(token.term) if " " in entry.term]
        of_glossaries = [entry for entry in several if entry.origin in glossaries]
        within = {word for entry in of_glossaries for word in entry.term.split(" ")}
        within -= set(listed)  # 作 and 人 are no 作人
        written = [
            alternative
            for alternative in written
            if alternative.term not in within or alternative.origin not in glossaries
        ]
        likely = [entry for entry in several if bridge.sequential and entry.p_backward >= LEAST_PROBABILITY]
        whole = dict.fromkeys([*(entry for entry in of_glossaries if entry.p_backward > 0), *likely[:_SEQUENCES]])
        written += [Alternative(entry.term, min(1.0, entry.p_backward), entry.origin) for entry in whole]
    for alternative in list(written) if bridge.parts or bridge.placed else ():
        if alternative.term.startswith(REPEATED):
            continue
        if alternative.origin in glossaries or alternative.origin == IDENTICAL:
            for other in bridge.sequences(alternative.term):
                weight = alternative.weight * (
                    PART_WEIGHT if other.startswith(PART) else SPLIT_WEIGHT if " " in other else 1.0
                )
                written.append(Alternative(other, weight, alternative.origin))
        if bridge.parts and " " not in alternative.term and alternative.origin != TRANSLITERATED:
            written.append(Alternative(PART + alternative.term, alternative.weight * PART_WEIGHT, alternative.origin))
    return written


def alternatives(
    term: str,
    identical: str,
    table: Lookup | None,
    glossaries: frozenset[int],
    min_probability: float = LEAST_PROBABILITY,
) -> tuple[list[Alternative], bool]:
    """The identical string and the single-word translations of a term, and whether the table translates it.

    Repeated calls return the same list object while it is cached. If both the term and its translation are
    phrases, the probability is divided equally among the words of the translation.
    """
    if table is None:
        return ([Alternative(identical, 1.0, IDENTICAL)] if identical else []), False
    cache = _ALTERNATIVES.setdefault(table, {})
    key = (term, identical, glossaries, min_probability)
    cached = cache.get(key)
    if cached is not None:
        return cached
    entries = table.translations(term, least_backward=min_probability)
    matches: dict[str, Alternative] = {}
    table_decides = identical in table.targets or any(
        entry.origin in glossaries or entry.term == identical for entry in entries
    )
    if identical.isdecimal() or (identical and not (entries and table_decides)):
        matches[identical] = Alternative(identical, 1.0, IDENTICAL)
    translated = False
    for entry in entries:
        words = entry.term.split(" ")
        if len(words) > 1 and " " not in term:
            continue
        translated = True
        for word in words:
            other = matches.get(word)
            weight = entry.p_backward / len(words) + (other.weight if other else 0.0)
            matches[word] = Alternative(word, min(1.0, weight), other.origin if other else entry.origin)
    if len(cache) >= _CACHED_TERMS:
        cache.clear()
    return cache.setdefault(key, (list(matches.values()), translated))


@lru_cache(maxsize=_CACHED_TERMS)
def _bound(alternatives: tuple[Alternative, ...], words: tuple[Terms, ...]) -> list[Alternative]:
    """The alternatives with the weights of :func:`~dragoman.lexicon.collisions.bound_weights`."""
    identical = next((match.term for match in alternatives if match.origin == IDENTICAL), "")
    weights = bound_weights({match.term: match.weight for match in alternatives}, words, identical)
    return [replace(match, weight=weights[match.term]) for match in alternatives if match.term in weights]


@lru_cache(maxsize=_CACHED_TERMS)
def _as_list(alternatives: tuple[Alternative, ...]) -> list[Alternative]:
    """The same alternatives as the same object while it is cached."""
    return list(alternatives)


@lru_cache(maxsize=_CACHED_TERMS)
def _with_sounds(
    alternatives: tuple[Alternative, ...], sounds: tuple[tuple[str, float], ...], identical: str
) -> list[Alternative]:
    """The alternatives of a term with those that sound like it; the same object while it is cached."""
    phonetic = [Alternative(term, similarity, TRANSLITERATED) for term, similarity in sounds if term != identical]
    return [*alternatives, *phonetic]


@lru_cache(maxsize=_CACHED_TERMS)
def _identical(term: str) -> list[Alternative]:
    return [Alternative(term, 1.0, IDENTICAL)]
