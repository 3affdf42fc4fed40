"""Endings and clitics that are removed from words of languages without learned rules, or before those, and irregular
plurals of English.

``endings.tsv`` has a line for each group, with four columns between tabs. The first is the language, and the second
endings (``-x``), beginnings (``x-``) or a whole word (``=x``). The third is the least number of characters that must be
left, or the least and the most (``2-3``). The last is what takes its place, if anything. The longest is removed first,
endings before beginnings, until none is left. What remains may be no word: words of one paradigm share it.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path
from zlib import crc32

from dragoman.lexicon.text.tokens import fold

__all__ = ["WITH_ENDINGS", "Endings", "endings_version"]

_FILE = Path(__file__).with_name("endings.tsv")

_LONGEST = 1000
_SYLLABLES = frozenset({"ko"})
"""Languages whose syllables are split into letters first; so their lengths are counted."""

_Affixes = dict[str, tuple[range, str]]
"""The lengths of what may be left, and what takes the affix's place."""


@cache
def _rows() -> dict[str, list[tuple[str, range, str]]]:
    """Each language's affixes, lengths of the rest and replacements."""
    rows: dict[str, list[tuple[str, range, str]]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            language, affixes, lengths, *replacement = line.split("\t")
            least, _, most = lengths.partition("-")
            left = range(int(least), int(most or _LONGEST) + 1)
            affix_rows = rows.setdefault(language, [])
            affix_rows += [(affix, left, "".join(replacement)) for affix in affixes.split(" ")]
    return rows


WITH_ENDINGS: frozenset[str] = frozenset(_rows())
"""Languages of ``endings.tsv``."""


def endings_version() -> str:
    """A string that changes with ``endings.tsv``."""
    return f"endings {crc32(_FILE.read_bytes()):08x}"


class Endings:
    """Removes endings and beginnings from folded words of one language of :data:`WITH_ENDINGS`. Idempotent."""

    def __init__(self, language: str) -> None:
        self._syllables = language in _SYLLABLES
        self._endings: _Affixes = {}
        self._beginnings: _Affixes = {}
        self._words: _Affixes = {}
        groups = {"-": self._endings, "=": self._words}
        for affix, left, replacement in _rows()[language]:
            group = groups.get(affix[0], self._beginnings)
            group[self._decompose(fold(affix.strip("-="), language))] = (
                left,
                self._decompose(fold(replacement, language)),
            )
        self._longest = max(map(len, self._endings), default=0)
        self._longest_beginning = max(map(len, self._beginnings), default=0)

    def __call__(self, word: str) -> str:
        """The word without its endings and beginnings."""
        letters = self._decompose(word)
        if letters in self._words:
            return self._words[letters][1]
        while (shorter := self._strip_affix(letters)) != letters:
            letters = shorter
        return unicodedata.normalize("NFC", letters) if self._syllables else letters

    def _decompose(self, text: str) -> str:
        return unicodedata.normalize("NFD", text) if self._syllables else text

    def _strip_affix(self, word: str) -> str:
        size = len(word)
        for length in range(min(self._longest, size - 1), 0, -1):
            rule = self._endings.get(word[size - length :])
            if rule is not None and size - length in rule[0]:
                return word[: size - length] + rule[1]
        for length in range(min(self._longest_beginning, size - 1), 0, -1):
            rule = self._beginnings.get(word[:length])
            if rule is not None and size - length in rule[0]:
                return rule[1] + word[length:]
        return word
