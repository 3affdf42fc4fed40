"""Describes the translation of a query for the response: tables, terms, and what was not translated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

from dragoman.deadline import check_each
from dragoman.engine.core.answer import Degraded, significant
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.priority import in_background
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.query.exact.pattern import Wish
from dragoman.engine.query.exact.reading import describe_wishes
from dragoman.engine.query.response import QueryTerm, TableUsed, TermTranslation, Translation
from dragoman.engine.query.translation import BEST, QueryName, Translated
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.engine.tables.views import ActiveVersion, PivotView, View
from dragoman.indexes.analysis.languages import analyser
from dragoman.lexicon.query import TermGroup
from dragoman.lexicon.table.table import Entry, Lookup

MOST_SHOWN = 5_000
"""The translations in one answer."""
_CACHED_WORDS = 2_000
_BEST: WeakKeyDictionary[Lookup, dict[tuple[str, str, frozenset[int]], list[TermTranslation]]] = WeakKeyDictionary()
"""For each table the translations that are shown of the words of recent queries."""
_CHECKED = 16
"""After so many words the deadline is asked for."""


def describe(
    query: AnalysedText,
    translations: Sequence[Translated],
    names: Sequence[QueryName],
    truncated: list[str],
    wishes: Sequence[Wish] = (),
) -> Translation:
    """Describe the translation into all languages for the response; what is not shown is added to ``truncated``."""
    text, remaining = query.text, MOST_SHOWN
    terms: dict[str, list[TermTranslation]] = {}
    for translated in translations:
        for group in check_each(translated.query.groups, _CHECKED):
            shown_translations = terms.setdefault(query_term(text, group), [])
            if translated.view is not None and not group.by_form:
                translations_of_group = _best_translations(translated, translated.view, group)
                shown_translations.extend(translations_of_group[: max(0, remaining)])
                remaining -= len(translations_of_group)
    if remaining < 0:
        truncated.append(f"translation: only the first {MOST_SHOWN} of {MOST_SHOWN - remaining} translations are shown")
    readings = [reading for wish in wishes for reading in wish.readings.values()]
    translation = Translation(
        tables=tables_used([*map(_consulted_tables, translations), *(reading.members for reading in readings)]),
        terms=[QueryTerm(term=term, translations=translations_of_term) for term, translations_of_term in terms.items()],
        oov=oov(text, translations),
        names=kept_names(text, translations, names),
        ignored=ignored_words(query, translations),
    )
    if any(not wish.excluded for wish in wishes):
        translation.must = describe_wishes(wishes, truncated, excluded=False)
    if any(wish.excluded for wish in wishes):
        translation.must_not = describe_wishes(wishes, truncated, excluded=True)
    return translation


def kept_names(text: str, translations: Sequence[Translated], names: Sequence[QueryName]) -> list[str]:
    """The names that stayed whole in some language, as one term or by some of their words, in the query's order."""
    spans: set[tuple[int, int]] = set()
    for group in (group for translated in translations if translated.foreign for group in translated.query.groups):
        for start, end in ((group.start, group.end), *group.repeated):
            for name in names:
                if group.by_form and name.start <= start and end <= name.end:
                    spans.add((name.start, name.end))
                elif " " in group.query_word and start <= name.start and name.end <= end:
                    spans.add((start, end))
    return list(dict.fromkeys(text[start:end] for start, end in sorted(spans)))


def tables_used(members: Iterable[Sequence[ActiveVersion]]) -> list[TableUsed]:
    """These table versions, ordered by name."""
    used = sorted({(member.name, member.version) for versions in members for member in versions})
    return [TableUsed(name=name, version=version) for name, version in used]


def _consulted_tables(translated: Translated) -> Sequence[ActiveVersion]:
    """The tables of a translation; those by way of another language only if a word was translated by them."""
    if translated.view is None:
        return ()
    if isinstance(translated.view, PivotView):
        origins = {alternative.origin for group in translated.query.groups for alternative in group.alternatives}
        if translated.view.direct and max(origins, default=0) < translated.view.direct:
            return translated.view.members[: translated.view.direct]
    return translated.view.members


def ignored_words(query: AnalysedText, translations: Sequence[Translated]) -> list[str]:
    """The words of a query that are not searched in any language."""
    searched = {
        word for translated in translations for group in translated.query.groups for word in group.query_word.split(" ")
    }
    tokens = query.tokens if translations else []
    return list(dict.fromkeys(query.text[token.start : token.end] for token in tokens if token.word not in searched))


def foreign_words(translations: Sequence[Translated]) -> set[int]:
    """The start offsets of the query's words that needed translation into some language."""
    return {group.start for translated in translations if translated.foreign for group in translated.query.groups}


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


def undecided_message(language: str) -> str:
    """The message for a query whose language cannot be detected."""
    return f"the language of the query could not be detected; it was assumed to be {language}"


def without_tables(source: str, translations: Iterable[Translated], snapshot: Snapshot) -> list[Degraded]:
    """One entry for every language that the query could not be translated into.

    Raises:
        Unavailable: in background work, a required table cannot be served now.
    """
    missing = []
    for translated in translations:
        if not translated.foreign:
            continue
        unserved = snapshot.missing(source, translated.language)
        if unserved and in_background():
            raise Unavailable(f"the tables from {source} to {translated.language} cannot be served ({unserved})")
        if translated.view is None:
            reason, cause = why_untranslated(source, translated.language, snapshot)
            missing.append(Degraded.of("translate", f"{reason}: the query was searched untranslated", cause))
        elif unserved:
            reason = f"words that no table from {source} to {translated.language} has are not translated ({unserved})"
            missing.append(Degraded.of("translate", reason, "unserved_table"))
    return missing


def query_term(text: str, group: TermGroup) -> str:
    """A group's word or words as written in the query."""
    return text[group.start : group.end]


def _best_translations(translated: Translated, view: View | PivotView, group: TermGroup) -> list[TermTranslation]:
    """The most probable translations of the word, or of its index term if no table has the word itself, or a glossary
    has another form of it."""
    if translated.query.method == "smt":
        entries_of_query_word = view.surface.translations(group.query_word)
        searched = [
            entry for entry in entries_of_query_word if " " not in entry.term or analyser(translated.language).syllables
        ]
        return [_term(translated, entry) for entry in searched[:BEST]]
    glossaries = view.glossaries
    if glossaries and all(alternative.origin not in glossaries for alternative in group.alternatives):
        glossaries = frozenset()
    cache = _BEST.setdefault(view.surface, {})
    word = group.spelling or group.query_word
    key = (word, group.query_term, glossaries)
    best = cache.get(key)
    if best is None:
        if len(cache) >= _CACHED_WORDS:
            cache.clear()
        entries = view.surface.translations(word, best=BEST)
        if glossaries:
            entries = [entry for entry in entries if entry.origin in glossaries]
        entries = entries or view.analysed.translations(group.query_term, best=BEST)
        best = cache[key] = [_term(translated, entry) for entry in entries]
    return [replace(translation, spelling=group.spelling) for translation in best] if group.spelling else best


def _term(translated: Translated, entry: Entry) -> TermTranslation:
    return TermTranslation(term=entry.term, probability=significant(entry.p_forward), language=translated.language)


def unknown(translated: Translated) -> list[TermGroup]:
    """The query terms that no table has for this language and that are in no phrase that a glossary has.

    A term that a table has may still be searched untranslated, where its translations are too improbable.
    """
    groups = translated.query.groups
    in_phrases = {word for group in groups if " " in group.query_word for word in group.query_word.split(" ")}
    return [
        group
        for group in groups
        if translated.foreign
        and group.oov
        and group.query_word not in in_phrases
        and not _is_in_table(translated, group)
    ]


def _is_in_table(translated: Translated, group: TermGroup) -> bool:
    if translated.view is None or translated.query.method == "smt":  # that searches all that it finds
        return False
    return group.query_word in translated.view.surface or group.query_term in translated.view.analysed


def oov(text: str, translations: Sequence[Translated]) -> dict[str, list[str]]:
    """The words of a query that no table of a language has, by language; languages without such words are left out."""
    unknown_words = {
        translated.language: dict.fromkeys(query_term(text, group) for group in unknown(translated))
        for translated in translations
    }
    return {language: list(words) for language, words in unknown_words.items() if words}


def unknown_everywhere(translations: Sequence[Translated]) -> set[int]:
    """The start offsets of the query's words that no table of any language has."""
    starts = [{group.start for group in unknown(translated)} for translated in translations if translated.foreign]
    return set.intersection(*starts) if starts else set()
