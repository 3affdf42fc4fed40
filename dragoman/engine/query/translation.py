"""Translates a query into the documents' languages, and describes the translation for the response."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

from dragoman.deadline import check_each
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.numbers import significant
from dragoman.engine.core.priority import in_background
from dragoman.engine.query.response import QueryTerm, TableUsed, TermTranslation, Translation
from dragoman.engine.query.text import AnalysedText
from dragoman.engine.query.weighted import weighted
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.engine.tables.views import ActiveVersion, PivotView, View
from dragoman.indexes.analysis.languages import PLACED, analyser, has_words_among_terms
from dragoman.indexes.bm25 import BM25
from dragoman.lexicon.query import (
    LEAST_PROBABILITY,
    Alternative,
    Bridge,
    Name,
    TermGroup,
    TranslatedQuery,
    monolingual,
    psq,
)
from dragoman.lexicon.table.table import Entry
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import Analysis, Token, content_terms, fold, is_elided

BM25_OF = {"psq": BM25(k1=0.2, b=0.3), "smt": BM25(k1=1.2, b=0.75), "none": BM25(k1=0.9, b=0.4)}
"""The parameters of BM25 by translation method."""

_SHOWN = 10
MOST_SHOWN = 5_000
"""The translations in one answer."""
_LONGEST_NAME = 4
"""The words within which the longest entry of a name is looked for."""
_BEFORE_SENTENCE = frozenset("?!…¿¡。？！।؟\u037e\n")
"""What stands between two sentences, or before one, besides a point."""
_ABBREVIATION = 4
"""A word of so many letters before a point is no abbreviation."""
_ABBREVIATED = re.compile(rf"(?<![^\W\d_])[^\W\d_]{{1,{_ABBREVIATION - 1}}}\Z")
_OPENING = ('"', "“", "„", "«", "‘", "'", "「", "『")
_CLOSING = re.compile("[\"”“»’'」』](?!\\w)")
_CHECKED = 16
"""After so many words the deadline is asked for."""

Sounds = Callable[[str], Sequence[tuple[str, float]]]


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
) -> Translated:
    """Translate a query for documents in ``target``.

    ``sounds`` finds the index terms that sound like a term, for words that no table has; ``holds`` says whether the
    documents have a term. ``names`` are those of the query that stay whole (psq).
    """
    source, tokens = query.language, query.tokens
    view = snapshot.view(source, target) if source != target else None
    bridge = bridge_to(analysis, source, target, view, sounds, holds)
    if source == target or method == "none":
        aside = partial(is_function_word, query.text, folded_function_words(target), None)
        own = tokens if source == target else analysis(target).tokens(query.text)
        return Translated(target, monolingual(own, bridge, aside), None, False)
    aside = partial(is_function_word, query.text, folded_function_words(source), view)
    if method == "smt":
        return Translated(target, weighted(tokens, view, source, target, aside), view, True)

    document_analysis = analysis(target)
    if view is None:
        kept = [Name(one.start, one.end) for one in names if one.by_words]
        return Translated(target, psq(tokens, None, bridge, aside=aside, names=kept), None, True)
    read = [(one, whole_name(tokens, one, view, document_analysis)) for one in check_each(names)]
    kept = sorted((name for one, name in read if name.whole or one.by_words), key=lambda name: not name.whole)
    joined = analyser(source).syllables
    query_terms = psq(tokens, view.analysed, bridge, view.glossaries, aside=aside, names=kept, joined=joined)
    return Translated(target, query_terms, view, True)


def bridge_to(
    analysis: Callable[[str], Analysis],
    source: str,
    target: str,
    view: View | PivotView | None = None,
    sounds: Sounds = lambda term: (),
    holds: Callable[[str], bool] = lambda term: True,
) -> Bridge:
    """How words of a query match documents in ``target`` without a table, and how these have their terms."""
    return Bridge(
        partial(identical, analysis, target),
        sounds,
        holds,
        getattr(analysis(target), "sequences", lambda term: ()),
        analyser(target).parts,
        partial(fold, language=source),
        partial(_written, view),
        not has_words_among_terms(target),
        target in PLACED,
        analyser(target).syllables,
        target,
    )


def _written(view: View | PivotView | None, word: str) -> list[str]:
    """The single words that glossaries have for a word or phrase."""
    if view is None or not view.glossaries:
        return []
    return [
        one.term
        for one in view.surface.translations(word, best=_SHOWN)
        if one.origin in view.glossaries and " " not in one.term
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
                if words[0].term and words[-1].term and (found := whole_translations(words, view, analysis)):
                    return Name(words[0].start, words[-1].end, found)
    return Name(name.start, name.end)


def whole_translations(words: Sequence[Token], view: View | PivotView, analysis: Analysis) -> tuple[Alternative, ...]:
    """What tables have as translations of several words together, as index terms; each word has its share."""
    found: dict[str, Alternative] = {}
    for entry in view.surface.translations(" ".join(token.word for token in words), least_backward=LEAST_PROBABILITY):
        tokens = content_terms(analysis.tokens(entry.term), analysis.language)
        terms = [token.term for token in tokens if token.term]
        for term in terms:
            weight = entry.p_backward / len(terms) + (found[term].weight if term in found else 0.0)
            found[term] = Alternative(term, min(1.0, weight), entry.origin)
    return tuple(found.values())


def is_function_word(text: str, known: frozenset[str], view: View | PivotView | None, token: Token) -> bool:
    """Whether a word of the query ``text`` is in ``known``, and is neither a name nor a term of a glossary.

    Names are recognised by capitals: "WHO report", "concert of The Who"; not "WHO WAS THE FIRST POPE", "Who Was It".
    """
    if token.word not in known or _named(text, token):
        return False
    if view is None or not view.glossaries:
        return True
    return not any(entry.origin in view.glossaries for entry in view.surface.translations(token.word))


def _named(text: str, token: Token) -> bool:
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
    found = [token for token in analysis(language).tokens(word) if not is_elided(token.word)]
    if len(found) != 1 or found[0].word in folded_function_words(language):
        return ""
    return found[0].term


def described(
    query: AnalysedText, translations: Sequence[Translated], names: Sequence[QueryName], truncated: list[str]
) -> Translation:
    """Describe the translation into all languages for the response; what is not shown is added to ``truncated``."""
    text, left = query.text, MOST_SHOWN
    terms: dict[str, list[TermTranslation]] = {}
    for one in translations:
        for group in check_each(one.query.groups, _CHECKED):
            found = terms.setdefault(query_term(text, group), [])
            if one.view is not None and not group.by_form:
                shown = _shown(one, one.view, group)
                found.extend(shown[: max(0, left)])
                left -= len(shown)
    if left < 0:
        truncated.append(f"translation: only the first {MOST_SHOWN} of {MOST_SHOWN - left} translations are shown")
    return Translation(
        tables=tables_used(map(_consulted, translations)),
        terms=[QueryTerm(term=term, translations=found) for term, found in terms.items()],
        oov=oov(text, translations),
        names=kept_names(text, translations, names),
        ignored=ignored(query, translations),
    )


def kept_names(text: str, translations: Sequence[Translated], names: Sequence[QueryName]) -> list[str]:
    """The names that stayed whole in some language, as one term or by some of their words, in the query's order."""
    found: set[tuple[int, int]] = set()
    for group in (group for one in translations if one.foreign for group in one.query.groups):
        for start, end in ((group.start, group.end), *group.repeated):
            for name in names:
                if group.by_form and name.start <= start and end <= name.end:
                    found.add((name.start, name.end))
                elif " " in group.query_word and start <= name.start and name.end <= end:
                    found.add((start, end))
    return list(dict.fromkeys(text[start:end] for start, end in sorted(found)))


def tables_used(members: Iterable[Sequence[ActiveVersion]]) -> list[TableUsed]:
    """These table versions, ordered by name."""
    used = sorted({(member.name, member.version) for own in members for member in own})
    return [TableUsed(name=name, version=version) for name, version in used]


def _consulted(one: Translated) -> Sequence[ActiveVersion]:
    """The tables of a translation; those by way of another language only if a word was translated by them."""
    if one.view is None:
        return ()
    if isinstance(one.view, PivotView):
        found = {alternative.origin for group in one.query.groups for alternative in group.alternatives}
        if one.view.direct and max(found, default=0) < one.view.direct:
            return one.view.members[: one.view.direct]
    return one.view.members


def ignored(query: AnalysedText, translations: Sequence[Translated]) -> list[str]:
    """The words of a query that are not searched in any language."""
    searched = {word for one in translations for group in one.query.groups for word in group.query_word.split(" ")}
    found = query.tokens if translations else []
    return list(dict.fromkeys(query.text[token.start : token.end] for token in found if token.word not in searched))


def foreign_words(translations: Sequence[Translated]) -> set[int]:
    """The start offsets of the query's words that needed translation into some language."""
    return {group.start for one in translations if one.foreign for group in one.query.groups}


class Untranslated(NamedTuple):
    """Why a query is not translated into a language, as text and as a constant for counting."""

    reason: str
    cause: str


def why_untranslated(source: str, target: str, snapshot: Snapshot) -> Untranslated:
    """Why no table of a snapshot translates between two languages."""
    unserved = snapshot.missing(source, target)
    if unserved:
        return Untranslated(f"the tables from {source} to {target} cannot be served ({unserved})", "unserved_table")
    return Untranslated(f"no table in use translates {source} to {target}", "no_table")


def undecided(language: str) -> str:
    """The message for a query whose language cannot be detected."""
    return f"the language of the query could not be detected; it was assumed to be {language}"


def without_tables(source: str, translations: Iterable[Translated], snapshot: Snapshot) -> list[Degraded]:
    """One entry for every language that the query could not be translated into.

    Raises:
        Unavailable: in background work, a required table cannot be served now.
    """
    missing = []
    for one in translations:
        if not one.foreign:
            continue
        unserved = snapshot.missing(source, one.language)
        if unserved and in_background():
            raise Unavailable(f"the tables from {source} to {one.language} cannot be served ({unserved})")
        if one.view is None:
            reason, cause = why_untranslated(source, one.language, snapshot)
            missing.append(Degraded.of("translate", f"{reason}: the query was searched untranslated", cause))
        elif unserved:
            reason = f"words that no table from {source} to {one.language} has are not translated ({unserved})"
            missing.append(Degraded.of("translate", reason, "unserved_table"))
    return missing


def query_term(text: str, group: TermGroup) -> str:
    """A group's word or words as written in the query."""
    return text[group.start : group.end]


def _shown(one: Translated, view: View | PivotView, group: TermGroup) -> list[TermTranslation]:
    """The most probable translations of the word, or of its index term if no table has the word itself, or a glossary
    has another form of it."""
    if one.query.method == "smt":
        found = view.surface.translations(group.query_word)
        searched = [entry for entry in found if " " not in entry.term or analyser(one.language).syllables]
        return [_term(one, entry) for entry in searched[:_SHOWN]]
    known = view.surface.translations(group.query_word, best=_SHOWN)
    if any(one.origin in view.glossaries for one in group.alternatives):
        known = [entry for entry in known if entry.origin in view.glossaries]
    entries = known or view.analysed.translations(group.query_term, best=_SHOWN)
    return [_term(one, entry) for entry in entries]


def _term(one: Translated, entry: Entry) -> TermTranslation:
    return TermTranslation(term=entry.term, probability=significant(entry.p_forward), language=one.language)


def unknown(one: Translated) -> list[TermGroup]:
    """The query terms that no table has for this language and that are in no phrase that a glossary has.

    A term that a table has may still be searched untranslated, where its translations are too improbable.
    """
    groups = one.query.groups
    in_phrases = {word for group in groups if " " in group.query_word for word in group.query_word.split(" ")}
    return [
        group
        for group in groups
        if one.foreign and group.oov and group.query_word not in in_phrases and not _known(one, group)
    ]


def _known(one: Translated, group: TermGroup) -> bool:
    if one.view is None or one.query.method == "smt":  # that searches all that it finds
        return False
    return group.query_word in one.view.surface or group.query_term in one.view.analysed


def oov(text: str, translations: Sequence[Translated]) -> dict[str, list[str]]:
    """The words of a query that no table of a language has, by language; languages without such words are left out."""
    found = {one.language: dict.fromkeys(query_term(text, group) for group in unknown(one)) for one in translations}
    return {language: list(words) for language, words in found.items() if words}


def unknown_everywhere(translations: Sequence[Translated]) -> set[int]:
    """The start offsets of the query's words that no table of any language has."""
    starts = [{group.start for group in unknown(one)} for one in translations if one.foreign]
    return set.intersection(*starts) if starts else set()
