"""Translates a query into the documents' languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary

from dragoman.deadline import check_each
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.query.names import NameForms, Which, name_runs
from dragoman.engine.query.smt import translate_smt
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.engine.tables.views import PivotView, View
from dragoman.indexes.analysis.languages import PLACED, analyser, has_words_among_terms
from dragoman.indexes.bm25 import BM25
from dragoman.lexicon.collisions import Terms
from dragoman.lexicon.query import (
    LEAST_PROBABILITY,
    Alternative,
    Bridge,
    Name,
    Respelt,
    TranslatedQuery,
    monolingual,
    psq,
)
from dragoman.lexicon.table.table import Lookup
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import Analysis, Token, content_terms, fold, is_elided

BM25_OF = {"psq": BM25(k1=0.2, b=0.3), "smt": BM25(k1=1.2, b=0.75), "none": BM25(k1=0.9, b=0.4)}
"""The parameters of BM25 by translation method."""

BEST = 10
"""Translations of a word that are looked at, and shown."""
_LONGEST_NAME = 4
"""The words within which the longest entry of a name is looked for."""
_BEFORE_SENTENCE = frozenset("?!…¿¡。？！।؟\u037e\n")
"""What stands between two sentences, or before one, besides a point."""
_ABBREVIATION = 4
"""A word of so many letters before a point is no abbreviation."""
_ABBREVIATED = re.compile(rf"(?<![^\W\d_])[^\W\d_]{{1,{_ABBREVIATION - 1}}}\Z")
_OPENING = ('"', "“", "„", "«", "‘", "'", "「", "『")
_CLOSING = re.compile("[\"”“»’'」』](?!\\w)")

_CACHED_WORDS = 20_000
_SEVERAL: WeakKeyDictionary[Lookup, dict[tuple[str, str], tuple[Terms, ...]]] = WeakKeyDictionary()
"""For each table the index terms of the words of which several match a word of recent queries."""

Sounds = Callable[[str], Sequence[tuple[str, float]]]


class Respell(Protocol):
    """Finds another spelling of a word by the tables of a view."""

    def __call__(self, word: str, view: View | PivotView) -> Respelt | None: ...


class QueryName(NamedTuple):
    """A name in a query; without ``by_words`` it is kept only where a table has all of it."""

    start: int
    end: int
    by_words: bool = True


@dataclass(frozen=True, slots=True)
class Translated:
    """A query translated for the documents of one language, with the tables used."""

    language: str
    query: TranslatedQuery
    view: View | PivotView | None
    """None if the query needed no translation, or if there is no table for it."""
    foreign: bool
    """Whether the query needed translation."""

    @property
    def bm25(self) -> BM25:
        return BM25_OF[self.query.method]


def translate(
    query: AnalysedText,
    target: str,
    method: str,
    snapshot: Snapshot,
    analysis: Callable[[str], Analysis],
    sounds: Sounds,
    holds: Callable[[str], bool] = lambda term: True,
    names: Sequence[QueryName] = (),
    respell: Respell = lambda word, view: None,
    which: Which = lambda terms: (),
) -> Translated:
    """Translate a query for documents in ``target``.

    ``sounds`` finds the index terms that sound like a term, for words that no table has; ``holds`` says whether the
    documents have a term, ``which`` those of some that they have. ``names`` are those of the query that stay whole,
    ``respell`` finds another spelling of a word that neither a table nor a document has (psq).
    """
    source, tokens = query.language, query.tokens
    view = snapshot.view(source, target) if source != target else None
    bridge = partial(bridge_to, analysis, source, target, view, holds=holds)
    if source == target or method == "none":
        aside = partial(is_function_word, query.text, folded_function_words(target), None)
        target_tokens = tokens if source == target else analysis(target).tokens(query.text)
        return Translated(target, monolingual(target_tokens, bridge(sounds), aside), None, False)
    aside = partial(is_function_word, query.text, folded_function_words(source), view)
    if method == "smt":
        return Translated(target, translate_smt(tokens, view, source, target, aside), view, True)

    document_analysis = analysis(target)
    runs = [*_name_runs(query)]
    runs += [[token for token in tokens if name.start <= token.start and token.end <= name.end] for name in names]
    forms = NameForms(target, document_analysis, runs, sounds, which)
    if view is None:
        names_by_words = [Name(name.start, name.end) for name in names if name.by_words]
        whole_by_sound = forms.whole(lambda token: False)
        name_list = [*whole_by_sound, *names_by_words]
        return Translated(target, psq(tokens, None, bridge(forms.by_sound), aside=aside, names=name_list), None, True)
    candidates = [(name, whole_name(tokens, name, view, document_analysis)) for name in check_each(names)]
    whole_names = sorted(
        (name for query_name, name in candidates if name.whole or query_name.by_words), key=lambda name: not name.whole
    )
    whole_names += forms.whole(lambda token: token.term in view.analysed or token.word in view.surface)
    whole_names.sort(key=lambda name: not name.whole)
    joined = analyser(source).syllables
    to_documents = bridge(forms.by_sound, respell=partial(_respell, query.text, view, respell))
    query_terms = psq(
        tokens, view.analysed, to_documents, view.glossaries, aside=aside, names=whole_names, joined=joined
    )
    return Translated(target, query_terms, view, True)


@lru_cache(maxsize=16)
def _name_runs(query: AnalysedText) -> list[list[Token]]:
    """What is written as names in a query, which is the same for documents in any language."""
    function_words = folded_function_words(query.language)
    return name_runs(query.text, query.tokens, function_words, partial(_begins_sentence, query.text))


def _respell(text: str, view: View | PivotView, respell: Respell, token: Token) -> Respelt | None:
    """Another spelling of a word of the query ``text``; of a name that is none, but another name or a common word."""
    return None if _is_name(text, token) else respell(token.word, view)


def bridge_to(
    analysis: Callable[[str], Analysis],
    source: str,
    target: str,
    view: View | PivotView | None = None,
    sounds: Sounds = lambda term: (),
    holds: Callable[[str], bool] = lambda term: True,
    respell: Callable[[Token], Respelt | None] = lambda token: None,
) -> Bridge:
    """How words of a query match documents in ``target`` without a table, and how these have their terms."""
    same = partial(identical, analysis, target)
    return Bridge(
        same,
        sounds,
        holds,
        getattr(analysis(target), "sequences", lambda term: ()),
        analyser(target).parts,
        partial(fold, language=source),
        partial(_glossary_words, view),
        not has_words_among_terms(target),
        target in PLACED,
        analyser(target).syllables,
        target,
        respell=respell,
        several=partial(_several, view, analysis(target), same),
    )


def _several(
    view: View | PivotView | None, analysis: Analysis, same: Callable[[str], str], token: Token
) -> tuple[Terms, ...]:
    """The index terms of those words that tables have for one of a query, or of itself, of which several match it."""
    if view is None:
        return ()
    cache = _SEVERAL.setdefault(view.surface, {})
    key = (token.word, token.term)
    words = cache.get(key)
    if words is None:
        if len(cache) >= _CACHED_WORDS:
            cache.clear()
        entries = view.analysed.translations(token.term, least_backward=LEAST_PROBABILITY)
        matching = {same(token.word), *(word for entry in entries for word in entry.term.split(" "))}
        written = {token.word: None}
        for term in dict.fromkeys(key):
            entries = view.surface.translations(term, least_backward=LEAST_PROBABILITY)
            written |= dict.fromkeys(entry.term for entry in entries if " " not in entry.term)
        tokens = [document_word for word in written for document_word in analysis.tokens(word)]
        terms = dict.fromkeys((word.term, *word.further) for word in tokens)
        words = cache[key] = tuple(word for word in terms if sum(term in matching for term in word) > 1)
    return words


def _glossary_words(view: View | PivotView | None, word: str) -> list[str]:
    """The single words that glossaries have for a word or phrase."""
    if view is None or not view.glossaries:
        return []
    return [
        entry.term
        for entry in view.surface.translations(word, best=BEST)
        if entry.origin in view.glossaries and " " not in entry.term
    ]


def whole_name(tokens: Sequence[Token], name: QueryName, view: View | PivotView, analysis: Analysis) -> Name:
    """A name as the longest entry of the tables that holds it, with its translations; else without translations.

    Of "Sea of Japan" a tagger may have found "Japan" alone. Function words neither begin nor end an entry.
    """
    inside = [n for n, token in enumerate(tokens) if token.term and name.start <= token.start and token.end <= name.end]
    if inside:
        least = inside[-1] + 1 - inside[0]
        for size in range(max(_LONGEST_NAME, least), max(1, least - 1), -1):
            for first in range(max(0, inside[-1] + 1 - size), min(inside[0], len(tokens) - size) + 1):
                words = tokens[first : first + size]
                if words[0].term and words[-1].term and (translations := whole_translations(words, view, analysis)):
                    return Name(words[0].start, words[-1].end, translations)
    return Name(name.start, name.end)


def whole_translations(words: Sequence[Token], view: View | PivotView, analysis: Analysis) -> tuple[Alternative, ...]:
    """What tables have as translations of several words together, as index terms; each word has its share."""
    alternatives: dict[str, Alternative] = {}
    for entry in view.surface.translations(" ".join(token.word for token in words), least_backward=LEAST_PROBABILITY):
        tokens = content_terms(analysis.tokens(entry.term), analysis.language)
        terms = [token.term for token in tokens if token.term]
        for term in terms:
            weight = entry.p_backward / len(terms) + (alternatives[term].weight if term in alternatives else 0.0)
            alternatives[term] = Alternative(term, min(1.0, weight), entry.origin)
    return tuple(alternatives.values())


def is_function_word(text: str, function_words: frozenset[str], view: View | PivotView | None, token: Token) -> bool:
    """Whether a word of the query ``text`` is in ``known``, and is neither a name nor a term of a glossary.

    Names are recognised by capitals: "WHO report", "concert of The Who"; not "WHO WAS THE FIRST POPE", "Who Was It".
    """
    if token.word not in function_words or _is_name(text, token):
        return False
    if view is None or not view.glossaries:
        return True
    return not any(entry.origin in view.glossaries for entry in view.surface.translations(token.word))


def _is_name(text: str, token: Token) -> bool:
    """Whether only this word is in capitals, or it is capitalised within a sentence of words that are not."""
    written = text[token.start : token.end]
    if len(written) == 1:
        return False
    if written.isupper():
        return not (text.isupper() and len(text.split()) > 3)
    if not written[0].isupper() or (
        _begins_sentence(text, token.start) and not _in_title(text, token.start, token.end)
    ):
        return False
    return any(word[0].islower() for word in [*text[: token.start].split(), *text[token.end :].split()])


def _begins_sentence(text: str, start: int) -> bool:
    """Whether only marks stand before this place, or the end of a sentence: a point after an abbreviation is none."""
    for place in range(start - 1, -1, -1):
        character = text[place]
        if character.isalnum():
            return False
        if character == ".":
            return _ABBREVIATED.search(text, max(0, place - _ABBREVIATION), place) is None
        if character in _BEFORE_SENTENCE:
            return True
    return True


def _in_title(text: str, start: int, end: int) -> bool:
    """Whether a quotation begins here and ends within the text, with words after it: ``"The Who" songs``."""
    if text[start - 1 : start] not in _OPENING:
        return False
    closing = _CLOSING.search(text, end)
    return closing is not None and any(map(str.isalnum, text[closing.end() :]))


@lru_cache(maxsize=65_536)
def identical(analysis: Callable[[str], Analysis], language: str, word: str) -> str:
    """The index term of ``word`` as a word of documents in ``language``, without elided words before it.

    Empty for a function word or several words.
    """
    tokens = [token for token in analysis(language).tokens(word) if not is_elided(token.word)]
    if len(tokens) != 1 or tokens[0].word in folded_function_words(language):
        return ""
    return tokens[0].term
