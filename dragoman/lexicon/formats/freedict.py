"""FreeDict dictionaries: TEI, read as a stream.

See https://github.com/freedict/fd-dictionaries/wiki/FreeDict-HOWTO for the encoding. A document type may be
named but is not read; documents that declare entities are refused, so that none can grow or fetch anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from xml.parsers import expat

from dragoman.lexicon.formats.streams import Limits, Rejection, TableFormatError

_DEPTH = 100
_TERMS = 200
_TRANSLATION = ("trans", "translation")
_INFLECTED = ("infl", "inflected")
_LONGEST_TAG = 1 << 18
"""Bytes of a tag or comment. The parser reads one that is not whole again with each block."""


def freedict_pairs(content: Iterable[bytes], limits: Limits) -> Iterator[tuple[int, str, str] | Rejection]:
    """Every headword with every translation of its entry, and the line the entry begins in.

    Translations of examples do not count, nor do inflected forms.

    Raises (while iterating):
        TableFormatError: naming the line, for XML that is not well-formed or declares entities.
    """
    reader = _Reader(limits)
    for block in content:
        reader.feed(block, final=False)
        yield from reader.taken()
    reader.feed(b"", final=True)
    yield from reader.taken()


class _Reader:
    def __init__(self, limits: Limits) -> None:
        self._limit = limits.term_characters
        self._fed = 0
        self._found: list[tuple[int, str, str] | Rejection] = []
        self._path: list[tuple[str, str]] = []
        self._entry_line = 0
        self._fault = ""
        self._headwords: list[str] = []
        self._translations: list[str] = []
        self._text: list[str] | None = None
        self._length = self._depth = 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._entity
        self._parser.SkippedEntityHandler = self._skipped

    def feed(self, block: bytes, final: bool) -> None:
        self._fed += len(block)
        try:
            self._parser.Parse(block, final)
            if self._fed - max(0, self._parser.CurrentByteIndex) > _LONGEST_TAG:
                reason = f"a tag or comment is longer than {_LONGEST_TAG:,} bytes"
                raise TableFormatError(reason, self._parser.CurrentLineNumber)
        except expat.ExpatError as fault:
            reason = expat.ErrorString(fault.code)
            raise TableFormatError(f"not well-formed XML: {reason}", fault.lineno) from fault
        except TableFormatError:
            raise
        except (LookupError, ValueError) as fault:
            raise TableFormatError(f"the XML document cannot be decoded: {fault}", 1) from fault

    def taken(self) -> list[tuple[int, str, str] | Rejection]:
        found, self._found = self._found, []
        return found

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        self._path.append((name, attributes.get("type", "")))
        if len(self._path) > _DEPTH:
            raise TableFormatError(f"elements are nested more than {_DEPTH} deep", self._parser.CurrentLineNumber)
        if name == "entry":
            self._entry_line = self._parser.CurrentLineNumber
            self._fault = ""
            self._headwords, self._translations = [], []
        elif self._text is None and self._wanted(name):
            self._text, self._length, self._depth = [], 0, len(self._path)

    def _wanted(self, name: str) -> bool:
        """Whether the element just begun is a headword or a translation of an entry."""
        if name not in ("orth", "quote", "tr"):
            return False
        names = [name for name, _ in self._path]
        inside = self._path[names.index("entry") + 1 :] if "entry" in names else []
        if len(inside) < 2:
            return False
        if name == "orth":
            return all(name == "form" and kind not in _INFLECTED for name, kind in inside[:-1])
        parent = inside[-2][0]
        return parent == ("cit" if name == "quote" else "trans") and all(
            kind in _TRANSLATION for name, kind in inside if name == "cit"
        )

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._length += len(text)
            if self._length <= self._limit * 2:
                self._text.append(text)

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name == "entry":
            self._finish_entry()
        elif self._text is not None and self._depth == len(self._path):
            if self._length > self._limit * 2:
                self._fault = f"the {name} is longer than {self._limit:,} characters"
            term = " ".join("".join(self._text).split())
            self._text = None
            terms = self._headwords if name == "orth" else self._translations
            if len(terms) == _TERMS:
                self._fault = f"the entry has more than {_TERMS} headwords or translations"
            elif term:
                terms.append(term)
        self._path.pop()

    def _finish_entry(self) -> None:
        fault = self._fault
        if not self._headwords:
            fault = fault or "the entry has no headword"
        elif not self._translations:
            fault = fault or "the entry has no translation"
        if fault:
            self._found.append(Rejection(self._entry_line, fault))
        else:
            pairs = product(dict.fromkeys(self._headwords), dict.fromkeys(self._translations))
            self._found.extend((self._entry_line, *pair) for pair in pairs)

    def _entity(self, name: str, *_: object) -> None:
        raise TableFormatError("the document declares entities, which are not read", self._parser.CurrentLineNumber)

    def _skipped(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self._fault = f"the entry uses the undeclared entity &{name[:40]};"
