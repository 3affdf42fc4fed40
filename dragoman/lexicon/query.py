"""Query translation: the terms of a query as weighted terms of the documents' language.

Each function turns the words of a query into :class:`TermGroup` objects, one per query term, whose
alternatives the first stage scores:

- :func:`psq`, probabilistic structured queries (Darwish & Oard 2003): a group is one BM25 term with
  ``tf_e(D) = sum_f P(e|f) tf_f(D)`` and ``df_e = sum_f P(e|f) df_f``;
- :func:`smt`, the first stage of "Mixed Attention Transformer": a group is the weighted combination
  ``sum_f P(f|e) BM25(f)`` of the ten best translations;
- :func:`untranslated`: documents in the query's language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal
from weakref import WeakKeyDictionary

import regex

from dragoman.lexicon.table.table import Entry, Table
from dragoman.lexicon.text.tokens import Token

Method = Literal["psq", "smt", "none"]

IDENTICAL = -1
"""Origin of an alternative that is the query's own string, as names and numbers are."""
TRANSLITERATED = -2
"""Origin of an alternative found by its sound in another script."""

LONGEST_PHRASE = 4
LEAST_PROBABILITY = 0.003
_ALPHABETIC = regex.compile(r"[\p{L}\p{M}']+")


@dataclass(frozen=True, slots=True)
class Alternative:
    """A document-language index term that may translate a query term."""

    term: str
    weight: float
    """``psq``: P(query term | document term); ``smt``: P(document term | query term), sums to 1; else 1."""
    origin: int
    """The merged table's member that the entry comes from, :data:`IDENTICAL` or :data:`TRANSLITERATED`."""


@dataclass(frozen=True, slots=True)
class TermGroup:
    """One query term with everything in the documents that counts as it."""

    query_word: str
    query_term: str
    start: int
    end: int
    """Offsets of the (first) query word in the query's text."""
    alternatives: list[Alternative]
    weight: float = 1.0
    """How often the query holds the term."""
    oov: bool = False
    """No active table has a translation of the term."""


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """A query for one document language."""

    method: Method
    groups: list[TermGroup] = field(default_factory=list)

    @property
    def oov(self) -> list[str]:
        """The query words without an entry, in query order."""
        return [group.query_word for group in self.groups if group.oov]


@dataclass(frozen=True, slots=True)
class Bridge:
    """How a query word reaches documents without a table: as it is, or by its sound.

    ``identical`` gives the index term that the word would have in a document ("" for a stop word), and
    ``sounds_like`` the index terms of the collection that sound like a query term, with a similarity in (0, 1].
    """

    identical: Callable[[str], str]
    sounds_like: Callable[[str], Sequence[tuple[str, float]]] = lambda term: ()


_REMEMBERED_TERMS = 20_000
_REMEMBERED: WeakKeyDictionary[Table, dict[tuple[str, str, frozenset[int], float], tuple[list[Alternative], bool]]] = (
    WeakKeyDictionary()
)
"""What has been looked up in each table; searches recognise a list that they have scored before."""


def psq(
    tokens: Sequence[Token],
    table: Table | None,
    bridge: Bridge,
    glossaries: frozenset[int] = frozenset(),
    min_probability: float = LEAST_PROBABILITY,
    aside: Callable[[Token], bool] = lambda token: False,
) -> TranslatedQuery:
    """Probabilistic structured query over an analysed table whose source is the query's language.

    The weight of an alternative f for query term e is P(e|f). The identical string counts with probability 1
    unless a table translates the query term and knows the string as a word of the documents, or a glossary
    translates the query term: what tables say stands.
    A phrase of up to four words that a member in ``glossaries`` (origins of the table) knows is one query
    term; elsewhere phrases have been spread over their words when the table was analysed. A term without an
    entry is searched as it is and by its sound, and is marked ``oov``. Words that are to be left ``aside``
    count where the query has no others.
    """
    groups: dict[str, TermGroup] = {}
    units = list(_units(tokens, table, glossaries))
    for token in [one for one in units if not aside(one)] or units:
        before = groups.get(token.term)
        if before is not None:
            groups[token.term] = replace(before, weight=before.weight + 1)
            continue
        identical = bridge.identical(token.word)
        found, known = alternatives(token.term, identical, table, glossaries, min_probability)
        if not known:
            found = _with_sounds(tuple(found), tuple(bridge.sounds_like(token.term)), identical)
        groups[token.term] = TermGroup(token.word, token.term, token.start, token.end, found, oov=not known)
    return TranslatedQuery("psq", list(groups.values()))


def smt(tokens: Sequence[Token], table: Table | None, best: int = 10) -> TranslatedQuery:
    """Weighted translation of each query word into its ``best`` translations, over a table of folded words.

    Stop words and words with a character that is not a letter are dropped, nothing is stemmed, every query
    word counts the same and its translations by P(f|e), normalised over those that are kept ("Mixed Attention
    Transformer", first stage). A word without an entry is searched as it is.
    """
    groups: list[TermGroup] = []
    for token in tokens:
        if not token.term or not _ALPHABETIC.fullmatch(token.word):
            continue
        entries = _best_words(token.word, table, best)
        total = sum(entry.p_forward for entry in entries)
        if total > 0:
            found = [Alternative(e.term, e.p_forward / total, e.origin) for e in entries if e.p_forward > 0]
        else:
            found = [Alternative(token.word, 1.0, IDENTICAL)]
        groups.append(TermGroup(token.word, token.word, token.start, token.end, found, oov=total <= 0))
    return TranslatedQuery("smt", groups)


def untranslated(tokens: Sequence[Token]) -> TranslatedQuery:
    """The query's own index terms, for documents in its language."""
    groups: dict[str, TermGroup] = {}
    for token in tokens:
        if not token.term:
            continue
        known = groups.get(token.term)
        groups[token.term] = (
            replace(known, weight=known.weight + 1)
            if known
            else TermGroup(token.word, token.term, token.start, token.end, _itself(token.term))
        )
    return TranslatedQuery("none", list(groups.values()))


def alternatives(
    term: str,
    identical: str,
    table: Table | None,
    glossaries: frozenset[int],
    min_probability: float = LEAST_PROBABILITY,
) -> tuple[list[Alternative], bool]:
    """The identical string and the single-word translations of a term, and whether the table has any.

    The list is the same object while it is remembered. A phrase that translates a phrase is shared out among
    its words.
    """
    if table is None:
        return ([Alternative(identical, 1.0, IDENTICAL)] if identical else []), False
    remembered = _REMEMBERED.setdefault(table, {})
    key = (term, identical, glossaries, min_probability)
    before = remembered.get(key)
    if before is not None:
        return before
    entries = table.translations(term, least_backward=min_probability)
    found: dict[str, Alternative] = {}
    ruled = identical in table.targets or any(entry.origin in glossaries for entry in entries)
    if identical and not (entries and ruled):
        found[identical] = Alternative(identical, 1.0, IDENTICAL)
    known = False
    for entry in entries:
        words = entry.term.split(" ")
        if len(words) > 1 and " " not in term:
            continue
        known = True
        for word in words:
            other = found.get(word)
            weight = entry.p_backward / len(words) + (other.weight if other else 0.0)
            found[word] = Alternative(word, min(1.0, weight), other.origin if other else entry.origin)
    if len(remembered) >= _REMEMBERED_TERMS:
        remembered.clear()
    return remembered.setdefault(key, (list(found.values()), known))


def _best_words(word: str, table: Table | None, best: int) -> list[Entry]:
    """The ``best`` translations that are single words; a few more are read first, as most words need no others."""
    if table is None:
        return []
    for read in (4 * best, None):
        entries = table.translations(word, best=read)
        found = [entry for entry in entries if " " not in entry.term][:best]
        if len(found) == best or read is None or len(entries) < read:
            break
    return found


@lru_cache(maxsize=_REMEMBERED_TERMS)
def _with_sounds(
    found: tuple[Alternative, ...], sounds: tuple[tuple[str, float], ...], identical: str
) -> list[Alternative]:
    """What was found for a term and what sounds like it; the same object while it is remembered."""
    heard = [Alternative(term, similarity, TRANSLITERATED) for term, similarity in sounds if term != identical]
    return [*found, *heard]


@lru_cache(maxsize=_REMEMBERED_TERMS)
def _itself(term: str) -> list[Alternative]:
    return [Alternative(term, 1.0, IDENTICAL)]


def by_phrases(tokens: Sequence[Token], table: Table | None, glossaries: frozenset[int]) -> list[Token]:
    """The words of a query, those of a phrase that a glossary knows with the phrase's term in place of their own."""
    found = list(tokens)
    for phrase in _units(tokens, table, glossaries):
        if " " in phrase.term:
            found = [
                replace(token, term=phrase.term)
                if token.term and phrase.start <= token.start and token.end <= phrase.end
                else token
                for token in found
            ]
    return found


def _units(tokens: Sequence[Token], table: Table | None, glossaries: frozenset[int]) -> Iterator[Token]:
    """The query's content words, with the longest phrases that a glossary knows joined into one token."""
    content = [token for token in tokens if token.term]
    place = 0
    while place < len(content):
        length = _phrase_length(content[place : place + LONGEST_PHRASE], table, glossaries)
        phrase = content[place : place + length]
        if length == 1:
            yield phrase[0]
        else:
            yield Token(
                " ".join(token.word for token in phrase),
                " ".join(token.term for token in phrase),
                phrase[0].start,
                phrase[-1].end,
            )
        place += length


def _phrase_length(words: Sequence[Token], table: Table | None, glossaries: frozenset[int]) -> int:
    if table is None or not glossaries:
        return 1
    for length in range(len(words), 1, -1):
        entries = table.translations(" ".join(token.term for token in words[:length]))
        if any(entry.origin in glossaries for entry in entries):
            return length
    return 1
