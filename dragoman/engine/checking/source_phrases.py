"""What the translation of a sentence is led to: its numbers, its names, the glossary's terms, and hints of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import regex

from dragoman.backbone.constraints.phrases import Phrase
from dragoman.checking.coverage import select_glossary_entries
from dragoman.checking.naming.names import find_names
from dragoman.checking.sentence import Side
from dragoman.deadline import check_each
from dragoman.engine.checking.source_amounts import list_amounts
from dragoman.engine.models.drafts import SourceSentence
from dragoman.engine.tables.snapshot import Snapshot, TableRegistry
from dragoman.engine.tables.views import View
from dragoman.lexicon.table.vocabulary import Vocabulary
from dragoman.lexicon.text.tokens import Analysis, Token

MOST = 12
"""Phrases that a translation is led to; the checker asks for further ones as well."""
HINTS = 5
"""Words whose translations are hinted at."""
FORMS = 3
"""Translations of a word of which any will do."""
LEAST_PROBABILITY = 0.1
"""Of a translation that is hinted at."""
LONGEST_TERM = 4
"""Words of a glossary's term that are looked for together."""
WORDS_OF_HINT = 2
"""Words of a hint at most: dictionaries explain as well as translate."""
CAPITALISED_NOUNS = frozenset({"de", "lb"})
LARGE = 20_000
"""Words of a table that has most words but names."""
LONGEST_NAME = 10
"""Letters of a name where nouns have capitals; what is longer is rather a compound."""
_ENTRIES = 50
_NEIGHBOURS = 200
_LATIN = regex.compile(r"[\p{Latin}\p{M}\p{Nd}'’.-]+")


class SourcePhrases:
    """Finds the phrases of sentences. Safe from any thread."""

    def __init__(self, registry: TableRegistry, analysis: Callable[[str], Analysis]) -> None:
        self._registry, self._analysis = registry, analysis

    def find(
        self, texts: Sequence[str], source: str, target: str, snapshot: Snapshot | None = None
    ) -> list[SourceSentence]:
        """Sentences with what their translations are led to."""
        views = (snapshot or self._registry.snapshot).views
        view, backward = views.get((source, target)), views.get((target, source))
        return [self._read(text, source, target, view, backward) for text in check_each(texts)]

    def _read(self, text: str, source: str, target: str, view: View | None, backward: View | None) -> SourceSentence:
        side = Side(text, source, self._analysis(source).tokens(text))
        terms, taken = self._terms(side, target, view, backward)
        names, named = self._names(side, view)
        required = [*list_amounts(text, source, target), *terms, *names]
        hints = [*_list_unknown(side, taken | named, view), *self._hints(side, taken | named, view)]
        return SourceSentence(text, tuple(required[:MOST]), tuple(hints[:HINTS]))

    def _terms(
        self, side: Side, target: str, view: View | None, backward: View | None
    ) -> tuple[list[Phrase], set[int]]:
        """The longest terms of glossaries, and the places of their words."""
        phrases: list[Phrase] = []
        taken: set[int] = set()
        for place in range(len(side.tokens) if view is not None and view.glossaries else 0):
            for length in range(LONGEST_TERM, 0, -1):
                tokens = side.tokens[place : place + length]
                if len(tokens) < length or place in taken or not all(token.term for token in tokens):
                    continue
                forms = self._glossary_forms(tokens, target, view, backward)
                if forms:
                    phrases.append(Phrase(forms))
                    taken.update(range(place, place + length))
        return phrases, taken

    def _glossary_forms(
        self, tokens: Sequence[Token], target: str, view: View | None, backward: View | None
    ) -> tuple[str, ...]:
        """The translations by glossaries of words that are one term, as they are written."""
        assert view is not None
        term = " ".join(token.term for token in tokens)
        entries = select_glossary_entries(term, view.analysed.translations(term, best=_ENTRIES), view, backward)
        written = view.surface.translations(" ".join(token.word for token in tokens), best=_ENTRIES)
        forms = [entry.term for entry in written if entry.origin in view.glossaries]
        analysis = self._analysis(target)
        for entry in entries if not forms else ():
            forms.append(" ".join(_write(part, view.surface.targets, analysis) for part in entry.term.split(" ")))
        return tuple(dict.fromkeys(forms))[:FORMS] if entries else ()

    def _names(self, side: Side, view: View | None) -> tuple[list[Phrase], set[int]]:
        """Names in Latin letters, each as it is written or as tables translate it, and the places of their words."""
        phrases: list[Phrase] = []
        taken: set[int] = set()
        for name in find_names(side):
            places = [place for place, token in enumerate(side.tokens) if name.start <= token.start < name.end]
            translated = [] if view is None else _translate([side.tokens[place].word for place in places], view)
            forms = [form.title() for form in translated]
            if _LATIN.fullmatch(name.text) and not forms:
                forms.append(name.text)
            if forms:
                phrases.append(Phrase(tuple(dict.fromkeys(forms)), "name"))
                taken.update(places)
        return phrases, taken

    def _hints(self, side: Side, taken: set[int], view: View | None) -> list[Phrase]:
        """The translations of words of content, the best ones of tables."""
        if view is None:
            return []
        content = {token.start for token in side.content}
        translated = (
            _translate([token.word], view)
            for place, token in enumerate(side.tokens)
            if place not in taken and token.start in content
        )
        return [Phrase(tuple(forms), "hint") for forms in translated if forms]


def _list_unknown(side: Side, taken: set[int], view: View | None) -> Iterator[Phrase]:
    """Words that may be names where all nouns have a capital: no large table has them, and they are not long."""
    if side.language not in CAPITALISED_NOUNS or view is None or len(view.surface.sources) < LARGE:
        return
    for place, token in enumerate(side.tokens):
        written = side.text[token.start : token.end]
        if place in taken or not place or not written[0].isupper() or len(written) > LONGEST_NAME:
            continue
        if token.word not in view.surface.sources and _LATIN.fullmatch(written):
            yield Phrase((written,), "hint")


def _translate(words: Iterable[str], view: View) -> list[str]:
    """The likeliest translations of words that are one term, as they are folded."""
    entries = view.surface.translations(" ".join(words), best=_ENTRIES)
    likely = sorted((entry for entry in entries if entry.p_forward >= LEAST_PROBABILITY), key=lambda e: -e.p_forward)
    terms = dict.fromkeys(entry.term for entry in likely if entry.term.count(" ") < WORDS_OF_HINT)
    return list(terms)[:FORMS]


def _write(term: str, words: Vocabulary, analysis: Analysis) -> str:
    """The shortest word with this index term, of those that begin as the term does."""
    beginning = term[: max(2, len(term) - 1)]
    first = words.place(beginning)
    near = [words[place] for place in range(first, min(first + _NEIGHBOURS, len(words)))]
    forms = [word for word in near if " " not in word and [token.term for token in analysis.tokens(word)] == [term]]
    return min(forms, key=len, default=term)
