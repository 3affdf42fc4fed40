"""Dictionary forms of inflected words, where Lucene's stemmer leaves much of the inflection alone.

Lucene's light stemmers do not touch short words (*treni* is not *treno*), nor irregular forms (*uomini*, *uomo*).
simplemma's dictionaries have both.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version

from simplemma.strategies.dictionaries.stream_dictionary_factory import StreamDictionaryFactory

from dragoman.lexicon.text.tokens import fold

__all__ = ["INFLECTED", "DictionaryForms"]

INFLECTED = frozenset({"de", "es", "fr", "it", "pt"})
"""Languages whose words are replaced by their dictionary forms before they are stemmed; docs/search.md has what this
gains. Russian did not gain."""


class DictionaryForms:
    """The dictionary forms of one language; the first loads its dictionary: half a second and 20 MB at most."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._forms = dictionary(language)

    @staticmethod
    def version() -> str:
        """The name and version of the dictionaries."""
        return f"simplemma {version('simplemma')}"

    def __call__(self, word: str) -> str:
        """The folded dictionary form of a folded word, or the word itself if it is in no dictionary.

        A form that has a dictionary form of its own (*porte*, *porta*, *porto*) leads on to that, so that a word and
        its dictionary form always have one result. Of forms in a circle it is the first in code point order.
        """
        path = [word]
        while (form := self._form(path[-1])) not in path:
            path.append(form)
        return min(path[path.index(form) :])

    def _form(self, word: str) -> str:
        found = self._forms.get(word) or self._forms.get(word.capitalize())
        form = fold(found, self.language) if found else word
        return form if form and " " not in form and "'" not in form else word


@cache
def dictionary(language: str) -> Mapping[str, str]:
    """simplemma's dictionary form of each word, loaded once for the process."""
    return StreamDictionaryFactory(cache_max_size=1).get_dictionary(language)
