"""XML read as a stream, for the formats of dictionaries: well-formed, without entities of its own, of bounded depth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, Generic, TypeVar
from xml.parsers import expat

from dragoman import deadline
from dragoman.lexicon.formats.detection.names import same
from dragoman.lexicon.formats.items import Rejection, TableFormatError

T = TypeVar("T")
Path = list[tuple[str, dict[str, str]]]
"""The elements from the root to the present one: their names without prefix, and their attributes."""

_DEPTH = 100
_LONGEST_TAG = 1 << 18
"""Bytes of a tag or comment. The parser reads one that is not whole again with each block."""


class XmlReader(ABC, Generic[T]):
    """Feeds a parser and collects the text of the elements that a format wants, in ``entries`` as it comes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.entries: list[T] = []
        self._fed = 0
        self._path: Path = []
        self._text: list[str] | None = None
        self._length = self._depth = 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._entity
        self._parser.SkippedEntityHandler = self._skip_entity

    @property
    def line(self) -> int:
        """The line of what is being read."""
        return self._parser.CurrentLineNumber

    def read_entries(self, content: Iterable[bytes]) -> Iterator[T]:
        """The entries, block by block.

        Raises (while iterating):
            TableFormatError: naming the line, for XML that is not well-formed or declares entities.
        """
        for block in content:
            deadline.check()
            self._feed(block, final=False)
            yield from self._take_entries()
        self._feed(b"", final=True)
        yield from self._take_entries()

    def begin_element(self, name: str, attributes: dict[str, str], path: Path) -> None:
        """An element begins."""

    @abstractmethod
    def wants_text(self, name: str, path: Path) -> bool:
        """Whether the text of the element just begun is collected."""

    @abstractmethod
    def read_text(self, name: str, text: str, too_long: bool) -> None:
        """The text of a collected element, with single spaces."""

    def end_element(self, name: str) -> None:
        """An element that is not collected ends."""

    def note_undeclared(self, reason: str) -> None:
        """An entity is used that the document does not declare."""

    def _feed(self, block: bytes, final: bool) -> None:
        self._fed += len(block)
        try:
            self._parser.Parse(block, final)
            if self._fed - max(0, self._parser.CurrentByteIndex) > _LONGEST_TAG:
                raise TableFormatError(f"a tag or comment is longer than {_LONGEST_TAG:,} bytes", self.line)
        except expat.ExpatError as fault:
            reason = expat.ErrorString(fault.code)
            raise TableFormatError(f"not well-formed XML: {reason}", fault.lineno) from fault
        except TableFormatError:
            raise
        except (LookupError, ValueError) as fault:
            raise TableFormatError(f"the XML document cannot be decoded: {fault}", 1) from fault

    def _take_entries(self) -> list[T]:
        entries, self.entries = self.entries, []
        return entries

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        self._path.append((name, attributes))
        if len(self._path) > _DEPTH:
            raise TableFormatError(f"elements are nested more than {_DEPTH} deep", self.line)
        self.begin_element(name, attributes, self._path)
        if self._text is None and self.wants_text(name, self._path):
            self._text, self._length, self._depth = [], 0, len(self._path)

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._length += len(text)
            if self._length <= self.limit * 2:
                self._text.append(text)

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if self._text is not None and self._depth == len(self._path):
            text, self._text = " ".join("".join(self._text).split()), None
            self.read_text(name, text, self._length > self.limit * 2)
        else:
            self.end_element(name)
        self._path.pop()

    def _entity(self, name: str, *_: object) -> None:
        raise TableFormatError("the document declares entities, which are not read", self.line)

    def _skip_entity(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self.note_undeclared(f"the entry uses the undeclared entity &{name[:40]};")


class PairReader(XmlReader[Any]):
    """Pairs the texts of two languages that a unit has: each of the one with each of the other."""

    unit, text = "unit", "text"
    """What messages call them."""

    def __init__(self, languages: tuple[str, str], limit: int, most: int) -> None:
        """``most``: texts of a unit in a language."""
        super().__init__(limit)
        self._names, self._codes = languages, tuple(map(same, languages))
        self._most = most
        self.seen: set[str] = set()
        """Languages of the file."""
        self.paired = self.both = False
        """Whether there was a pair, and a unit with texts in both languages, which may be at fault otherwise."""
        self._begin_unit()

    def note_undeclared(self, reason: str) -> None:
        self._fault = reason

    def _begin_unit(self) -> None:
        self._line, self._fault = self.line, ""
        self._texts: tuple[list[str], list[str]] = ([], [])
        self._side: int | None = None

    def _speak(self, language: str | None) -> None:
        """What follows is in a language; None for one that is not known."""
        self._side = self._codes.index(language) if language in self._codes else None

    def _keep(self, text: str) -> None:
        if not text or self._side is None:
            return
        texts = self._texts[self._side]
        if len(texts) == self._most:
            self._fault = f"the {self.unit} has more than {self._most} {self.text}s in a language"
        else:
            texts.append(text)

    def _end_unit(self, incomplete: type[Rejection]) -> None:
        source, target = (list(dict.fromkeys(texts)) for texts in self._texts)
        self.both = self.both or bool(source and target)
        if self._fault:
            self.entries.append(Rejection(self._line, self._fault))
        elif source and target:
            self.paired = True
            self.entries.extend((self._line, *pair) for pair in product(source, target))
        else:
            missing = " or ".join(name for name, texts in zip(self._names, self._texts, strict=True) if not texts)
            self.entries.append(incomplete(self._line, f"the {self.unit} has no {self.text} in {missing}"))
