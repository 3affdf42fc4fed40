"""Names in a query, recognised as they are written, and how documents in another script may have them.

A name is a word that no table translates and that has a capital where its sentence asks for none, or is in a script
without capitals. Other words are matched by sound where that is right nine times of ten (SURE).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice, product

import regex

from dragoman.deadline import check_each
from dragoman.engine.query.frequent_words import is_frequent_word
from dragoman.engine.query.sounds import Alike
from dragoman.indexes.analysis.japanese_names import japanese_forms
from dragoman.lexicon.query import TRANSLITERATED, Alternative, Name
from dragoman.lexicon.text.tokens import Analysis, Token

SURE, SURE_LETTERS = 0.92, 5
"""How alike two words are of which none is known as a name, and their least letters. In dictionaries nine of ten such
pairs of English with Russian, German, Spanish, French, or Italian words are translations. In scripts that write fewer
sounds too few are."""
_WHOLE = 0.75
"""How alike a name and one word of a document are at least, of those that write a name as one word."""
_SYLLABLES = 0.85
"""How alike a word of a name and a part of a document's name are at least."""
_NEAR = 0.2
"""What is less alike than the most alike word by more than this is another word."""
_PART = 0.5
"""What one word of a name counts where all of them are looked for, in the whole name."""
_LONGEST = 3
_MOST = 40
"""The sequences that one name is looked for as, and the forms of one word."""
_WRITTEN_TOGETHER = frozenset({"ja", "km", "ko", "lo", "my", "th", "zh"})
"""Languages in which several words of a name may be one."""
_ALPHABETIC = regex.compile(r"[\p{Latin}\p{Cyrillic}\p{Greek}\p{Armenian}\p{Georgian}]")
_PARTICLES = frozenset(
    {"al", "bin", "bint", "da", "de", "del", "den", "der", "di", "du", "el", "ibn", "la", "le", "van", "von"}
)
"""Words in small letters within names."""
_BETWEEN = regex.compile(r"[ \u00a0'’.·・-]{1,2}")
_CAPITAL = regex.compile(r"\p{Lu}|\p{Lt}")
_SMALL = regex.compile(r"(?<![\p{L}\p{M}'’])\p{Ll}")
_CASED = regex.compile(r"\p{Lu}|\p{Ll}|\p{Lt}")

Which = Callable[[Collection[str]], Collection[str]]
"""Those of some index terms that documents have."""


def name_runs(
    text: str, tokens: Sequence[Token], function_words: Collection[str], begins: Callable[[int], bool]
) -> list[list[Token]]:
    """The words of the query ``text`` that are written as names, those that follow one another together.

    ``begins`` says whether a sentence begins at a place. A capital there says nothing of a frequent word, unless there
    are no words in small letters, or the next word is a part of the name.
    """
    title = _SMALL.search(text) is None
    runs: list[list[Token]] = []
    for token in check_each(tokens):
        written = text[token.start : token.end]
        if not token.term or token.word in function_words or not any(map(str.isalpha, written)):
            continue
        follows = bool(runs) and _BETWEEN.fullmatch(text, runs[-1][-1].end, token.start) is not None
        small = _CASED.search(written) is not None and not _CAPITAL.match(written)
        if small and not (follows and (written in _PARTICLES or text[token.start - 1] == "-")):
            continue
        if follows:
            runs[-1].append(token)
        else:
            runs.append([token])
    return [
        run
        for run in runs
        if title
        or len(run) > 1
        or not _CASED.match(text, run[0].start)
        or not begins(run[0].start)
        or not is_frequent_word(run[0].word)
    ]


class NameForms:
    """How documents in one language may have the words of a query that no table has. For one translation."""

    def __init__(
        self,
        target: str,
        analysis: Analysis,
        runs: Sequence[Sequence[Token]],
        sounds: Callable[[str], Alike],
        which: Which,
    ) -> None:
        """``sounds`` finds the index terms that sound like a word, ``which`` those of some that documents have."""
        self._target = target
        self._analysis = analysis
        self._runs = runs
        self._words = {token.term: token.word for run in runs for token in run}
        self._sounds = sounds
        self._which = which

    def by_sound(self, term: str) -> Alike:
        """The index terms that sound like a query term: of a name those near to it, else those that surely are it."""
        word = self._words.get(term)
        if word is None:
            return [
                (other, likeness)
                for other, likeness in self._sounds(term)
                if likeness >= SURE and min(len(term), len(other)) >= SURE_LETTERS and _ALPHABETIC.match(other)
            ]
        alike = list(self._sounds(word))
        if self._target == "ja":
            listed = self._list_forms([word])
            alike = [(form, 1.0) for form in listed] + [entry for entry in alike if entry[0] not in listed]
        least = max((likeness for _, likeness in alike), default=0.0) - _NEAR
        return [(other, likeness) for other, likeness in alike if likeness >= least]

    def whole(self, translates: Callable[[Token], bool]) -> list[Name]:
        """The names of several words that documents may have as one, or as a sequence.

        Not those of which a table ``translates`` all words.
        """
        if self._target not in _WRITTEN_TOGETHER:
            return []
        names: list[Name] = []
        for run in check_each(self._runs):
            free = 0
            for first, last in _parts(len(run)):
                words = run[first:last]
                if first < free or all(map(translates, words)):
                    continue
                if forms := self._whole([token.word for token in words]):
                    names.append(Name(words[0].start, words[-1].end, forms, oov=True))
                    free = last
        return names

    def _whole(self, words: Sequence[str]) -> tuple[Alternative, ...]:
        weights = {term: likeness for term, likeness in self._sounds("".join(words)) if likeness >= _WHOLE}
        if self._target == "ja":
            weights |= self._japanese(words)
        elif self._target == "zh":
            parts = [[term for term, likeness in self._sounds(word) if likeness >= _SYLLABLES] for word in words]
            weights |= {" ".join(terms): 1.0 for terms in islice(product(*parts), _MOST)}
        return tuple(Alternative(term, weight, TRANSLITERATED) for term, weight in weights.items())

    def _japanese(self, words: Sequence[str]) -> dict[str, float]:
        """The forms of a whole name, and of its words where documents have all of them: the last one first."""
        sequences: dict[str, float] = {}
        for form in japanese_forms(tuple(words))[:_MOST]:
            terms = [token.term for token in self._analysis.tokens(form) if token.term]
            if terms and len(self._which(terms)) == len(set(terms)):
                sequences[" ".join(terms)] = 1.0
        parts = [self._list_forms([word]) for word in words]
        if len(parts) == 2:
            for first, second in (parts[::-1], parts):
                pairs = (f"{left} {right}" for left in first for right in second)
                sequences |= dict.fromkeys(islice(pairs, _MOST), 1.0)
        if sequences:
            alone = (form for forms in parts for form in forms if len(form) > 1)
            sequences |= {form: _PART for form in alone if form not in sequences}
        return sequences

    def _list_forms(self, words: Sequence[str]) -> list[str]:
        """The forms of a name that documents have as a word."""
        forms = [form for form in japanese_forms(tuple(words)) if len(form) > 1 or len(words) > 1]
        held = self._which(forms) if forms else ()
        return [form for form in forms if form in held][:_MOST]


def _parts(size: int) -> Iterator[tuple[int, int]]:
    """The parts of a name of two words or more, the longest first."""
    for length in range(min(size, _LONGEST), 1, -1):
        for first in range(size - length + 1):
            yield first, first + length
