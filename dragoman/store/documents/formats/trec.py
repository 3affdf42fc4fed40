"""Documents in TREC's form: ``<DOC><DOCNO>…</DOCNO>…<TEXT>…</TEXT></DOC>``, tags in any case, SGML rather than XML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from dragoman.files.streams import Line, lines
from dragoman.store.documents.formats.rows import Row, RowLimits, write_row

_BEGIN = re.compile(r"<doc\s*>", re.IGNORECASE)
_END = re.compile(r"</doc\s*>", re.IGNORECASE)
_END_BYTES = re.compile(rb"</doc\s*>", re.IGNORECASE)
_PARAGRAPH = re.compile(r"</?(?:p|br|para)\b[^<>]*>", re.IGNORECASE)
_GAP = re.compile(r"\n{3,}")
_TAG = re.compile(r"<(/?)([a-z][\w.-]*)[^<>]*>", re.IGNORECASE)
_IN_TEXT = ("p", "para", "br")
_TITLES = ("title", "headline", "head", "hl")


def read_trec(parts: Iterable[bytes], limits: RowLimits) -> Iterator[Row]:
    """The documents of a file, each with the number of the line that it begins on.

    ``DOCNO`` is the id, all ``TEXT`` the text, a title or headline the title, and other elements are metadata.
    """
    gathered: list[str] = []
    size, begun_at, outside_at, reason = 0, 0, 0, ""
    for line in _split_documents(lines(parts, limits.row_bytes)):
        text, fault = _decode(line)
        if not begun_at:
            if (begun := _BEGIN.match(text.lstrip())) is None:
                if fault or text.strip():
                    outside_at = outside_at or line.line_number
                continue
            if outside_at:
                yield Row(outside_at, None, "stands outside of <DOC>")
            begun_at, outside_at, gathered, size, reason = line.line_number, 0, [], 0, ""
            text = text.lstrip()[begun.end() :]
        size += len(line.content or b"")
        if fault or size > limits.row_bytes:
            reason = reason or fault or f"the document is longer than {limits.row_bytes} bytes"
            gathered = []
        if (ended := _END.search(text)) is not None:
            gathered.append(text[: ended.start()])
            yield Row(begun_at, None, reason) if reason else _read_document(begun_at, "\n".join(gathered), limits)
            begun_at = 0
        elif not reason:
            gathered.append(text)
    if outside_at:
        yield Row(outside_at, None, "stands outside of <DOC>")
    if begun_at:
        yield Row(begun_at, None, "the document has no </DOC>")


def _split_documents(source: Iterable[Line]) -> Iterator[Line]:
    """The lines, cut after each ``</DOC>``, after which another document may begin."""
    for line in source:
        if line.content is None:
            yield line
            continue
        start = 0
        for ended in _END_BYTES.finditer(line.content):
            yield Line(line.line_number, line.content[start : ended.end()])
            start = ended.end()
        if not start or line.content[start:].strip():
            yield Line(line.line_number, line.content[start:])


def _decode(line: Line) -> tuple[str, str]:
    """The text of a line, and its fault."""
    if line.content is None:
        return "", "a line of it is too long"
    try:
        return line.content.decode(), ""
    except UnicodeDecodeError:
        return line.content.decode("utf-8", "replace"), "not valid UTF-8"


def _read_document(line: int, inside: str, limits: RowLimits) -> Row:
    elements = _read_elements(inside)
    document: dict[str, object] = {}
    if texts := elements.pop("text", None) or elements.pop("", None):
        document["text"] = "\n\n".join(texts)
    metadata: dict[str, object] = {}
    for tag, contents in elements.items():
        field = "id" if tag == "docno" else "title" if tag in _TITLES and "title" not in document else None
        if field is not None and len(contents) == 1:
            document[field] = contents[0]
        else:
            metadata[tag or "outside"] = contents if len(contents) > 1 else contents[0]
    if metadata:
        document["metadata"] = metadata
    return write_row(line, document, limits)


def _read_elements(inside: str) -> dict[str, list[str]]:
    """The contents of the outer elements by their tags; what stands outside of all has the tag ``""``."""
    elements: dict[str, list[str]] = {}
    outside: list[str] = []
    tag, start, begun = "", 0, 0
    for mark in _TAG.finditer(inside):
        closes, name = mark[1] == "/", mark[2].lower()
        if not tag and not closes and name not in _IN_TEXT:
            outside.append(inside[start : mark.start()])
            tag, begun, start = name, mark.start(), mark.end()
        elif tag and closes and name == tag:
            if content := _plain(inside[start : mark.start()]):
                elements.setdefault(tag, []).append(content)
            tag, start = "", mark.end()
    outside.append(inside[begun if tag else start :])  # an element without an end is text
    if rest := _plain("\n".join(outside)):
        elements[""] = [rest]
    return elements


def _plain(text: str) -> str:
    """Text without tags and references; each paragraph begins a line."""
    return _GAP.sub("\n\n", html.unescape(_TAG.sub("", _PARAGRAPH.sub("\n", text)))).strip()
