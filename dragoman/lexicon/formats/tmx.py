"""Translation memories: TMX 1.4b, read as a stream.

See https://www.gala-global.org/tmx-14b. The codes of the program that a text comes from (``bpt``, ``ept``, ``ph``,
``it``, ``ut``) are no text; what ``hi`` marks is. Documents that declare entities are refused, so that none can grow
or fetch anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dragoman.lexicon.formats.detection.names import language_of_code
from dragoman.lexicon.formats.items import Rejection, TableFormatError
from dragoman.lexicon.formats.xml_reader import PairReader, Path

_CODES = frozenset(["bpt", "ept", "ph", "it", "ut"])
_VARIANTS = 20
_CODES_NAMED = 10


class IncompleteUnit(Rejection):
    """A unit without text in both languages, as there are in a memory of several."""


Unit = tuple[int, str, str]
"""The line that a unit begins in, and its text in both languages."""


def tmx_pairs(content: Iterable[bytes], languages: tuple[str, str], characters: int) -> Iterator[Unit | Rejection]:
    """Every text of the one language with every text of the other of its unit; a text has at most ``characters``.

    Raises (while iterating):
        TableFormatError: XML that is not well-formed or declares entities, or no unit with both languages.
    """
    reader = _Reader(languages, characters)
    yield from reader.read_entries(content)
    if not reader.paired:
        seen_codes = ", ".join(sorted(reader.seen)[:_CODES_NAMED]) or "none"
        raise TableFormatError(
            f"no unit has text in both {languages[0]} and {languages[1]}; the languages of the file: {seen_codes}"
        )


class _Reader(PairReader):
    def __init__(self, languages: tuple[str, str], characters: int) -> None:
        super().__init__(languages, characters, _VARIANTS)

    def begin_element(self, name: str, attributes: dict[str, str], path: Path) -> None:
        if name == "tu":
            self._begin_unit()
        elif name == "tuv":
            code = (attributes.get("xml:lang") or attributes.get("lang") or "").strip()
            language = language_of_code(code)
            self._speak(language)
            if code and len(self.seen) < 100:
                self.seen.add(language or code[:20])

    def wants_text(self, name: str, path: Path) -> bool:
        return name == "seg" and self._side is not None and any(element == "tu" for element, _ in path)

    def _characters(self, text: str) -> None:
        if not any(element in _CODES for element, _ in reversed(self._path)):
            super()._characters(text)

    def read_text(self, name: str, text: str, too_long: bool) -> None:
        if too_long or len(text) > self.limit:
            self._fault = f"a text of the unit is longer than {self.limit:,} characters"
        else:
            self._keep(text)

    def end_element(self, name: str) -> None:
        if name == "tuv":
            self._side = None
        elif name == "tu":
            self._end_unit(IncompleteUnit)
