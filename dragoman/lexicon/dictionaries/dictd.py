"""FreeDict's dictionaries in dictd's form: an index of offsets, and the entries as text.

An entry is a line of headwords with pronunciation and grammar, then one line a sense, whose translations have commas
between. Lines set off are notes, examples, synonyms and references, none of which is a translation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dragoman import deadline
from dragoman.lexicon.formats.items import TableFormatError

_DIGITS = {
    digit: place for place, digit in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}
_MOST_ENTRIES = 5_000_000
_MOST_BYTES = 1 << 20
_CHECKED_EVERY = 1_000
_PRONUNCIATION = re.compile(r"\s/[^/]*/")
_ABBREVIATION = re.compile(r"\(([^()]{1,100}?)\s/[^/]*/[,\s]*\)")
_NOTES = re.compile(r"\s*(?:<[^<>]{0,200}>|\(\[[^\[\]]{0,200}\]\)|\[[^\[\]]{0,300}\])")
_ABBREVIATED = re.compile(r"(?<=[^\s,;])\s*<[^<>]{0,200}>(?:\s*\[[^\[\]]{0,300}\])*\s*(?=[^\s,;<\[(])")
_GLUED = re.compile(r"(?<=[^\W\d_A-Z])([A-ZÄÖÜ][\w.&-]*)(?=,\s+/[^/]*/)")
_SPOKEN = re.compile(r"(?:^|,)\s*/[^/]*/,?")
_PARENTHESES = re.compile(r"(?<!\S)\([^()]{0,200}\)(?!\S)")
_CHOICE = re.compile(r"((?:[^/]*\s)?)([^\W\d_]{3,})/([^\W\d_]{3,})((?:\s[^/]*)?)")
_NUMBER = re.compile(r"[0-9]{1,2}\.(?: |$)")
_SET_OFF = re.compile(r"\s+(?!\[)|\s{2,}")
_BRACKETED = re.compile(r"\([^()]*\)|„[^„“”]*[“”]|\"[^\"]*\"")
_SENTENCE = re.compile(r"[.!?…]$")
_GAP = re.compile(r"^(?:…|\.\.\.)\s*|\s*(?:…|\.\.\.)$")
_PLACEHOLDER = re.compile(
    r"^(?:(?:sb|sth|jdn|jdm|jds|etw)\.(?:'s)?(?:/|\s+))+|(?:(?:\s+|/)(?:sb|sth|jdn|jdm|jds|etw)\.(?:'s)?)+$"
)
_PREFIX = re.compile(r"\w…|…\w|^-|-$")


def dictd_pairs(index: Iterable[bytes], entries: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """Every headword with every translation of its entry, in the order of the text.

    Raises (while iterating):
        TableFormatError: an index that is none, or that points beyond the text.
    """
    for text in _read_entries(_places(index), entries):
        for headword in (pair := parse_entry(text))[0]:
            for translation in pair[1]:
                yield headword, translation


def parse_entry(text: str) -> tuple[list[str], list[str]]:
    """The headwords and the translations of an entry."""
    first, *senses = text.split("\n")
    headwords = _headwords(first)
    whole = any("," in headword or _SENTENCE.search(headword) for headword in headwords[:1])
    translations: list[str] = []
    for line in senses:
        if line and not _SET_OFF.match(line):
            translations += _translations(_NUMBER.sub("", line, count=1) if _NUMBER.match(line) else line, whole)
    return headwords, list(dict.fromkeys(translations))


def _headwords(line: str) -> list[str]:
    """What stands before the pronunciation, and abbreviations after it, which have their own."""
    spoken = _PRONUNCIATION.search(line)
    head = line if spoken is None else line[: spoken.start()]
    rest = "" if spoken is None else line[spoken.end() :]
    terms = [*_alternatives(_clean(head)), *(_clean(match[1]) for match in _ABBREVIATION.finditer(rest))]
    return list(dict.fromkeys(term for term in terms if term))


def _translations(line: str, whole: bool) -> list[str]:
    """The translations of a sense. A sentence, or what has commas in the other language too, is not divided.

    What follows the grammar of a translation without a comma is its abbreviation.
    """
    line = _SPOKEN.sub(", ", _GLUED.sub(r", \1", line))
    line = _NOTES.sub("", _ABBREVIATED.sub(", ", line))
    parts = [line] if whole and not _SENTENCE.search(line.split(",")[0]) else _divide(line)
    return [term for part in parts for term in _alternatives(_clean(part)) if term]


def _divide(line: str) -> list[str]:
    """The parts between commas that stand in no brackets or quotes, and between no digits."""
    covered = _BRACKETED.sub(lambda match: "\0" * len(match[0]), line)
    parts, begin = [], 0
    for comma in re.finditer(r",(?=\s)|;|,(?!\S)", covered):
        parts.append(line[begin : comma.start()])
        begin = comma.end()
    return [*parts, line[begin:]]


def _alternatives(term: str) -> list[str]:
    """``premature/untimely end`` as two terms, if it is the only choice in the term and between words."""
    choice = _CHOICE.fullmatch(term)
    return [term] if choice is None else [choice[1] + word + choice[4] for word in choice.group(2, 3)]


def _clean(term: str) -> str:
    """A term without notes, gaps and placeholders at its ends; empty if it is but the part of a word."""
    term = _NOTES.sub("", term).replace("\N{HYPHEN}", "-")
    term = " ".join(_PARENTHESES.sub(" ", term).split())
    if _PREFIX.search(term) or term.startswith("/"):
        return ""
    return _PLACEHOLDER.sub("", _GAP.sub("", term)).strip()


def _places(index: Iterable[bytes]) -> list[tuple[int, int]]:
    """The offset and length of every entry but those that describe the dictionary, in the order of the text."""
    places: set[tuple[int, int]] = set()
    about: set[tuple[int, int]] = set()
    for line_number, line in enumerate(deadline.check_each(index, interval=_CHECKED_EVERY), start=1):
        fields = line.rstrip(b"\r\n").split(b"\t")
        if len(fields) not in (3, 4):
            raise TableFormatError(
                "the index of a dictionary has a headword, an offset and a length a line", line_number
            )
        place = _decode(fields[1], line_number), _decode(fields[2], line_number)
        if place[1] > _MOST_BYTES:
            raise TableFormatError(f"an entry is longer than {_MOST_BYTES:,} bytes", line_number)
        (about if fields[0].startswith((b"00database", b"00-database")) else places).add(place)
        if line_number > _MOST_ENTRIES:
            raise TableFormatError(f"the index has more than {_MOST_ENTRIES:,} lines")
    return sorted(places - about)


def _decode(digits: bytes, line: int) -> int:
    if not 0 < len(digits) <= 8 or any(chr(digit) not in _DIGITS for digit in digits):
        raise TableFormatError("an offset or a length is not written in the digits of dictd", line)
    decoded = 0
    for digit in digits:
        decoded = 64 * decoded + _DIGITS[chr(digit)]
    return decoded


def _read_entries(places: list[tuple[int, int]], entries: Iterable[bytes]) -> Iterator[str]:
    """The text at each of these places, ascending; no more of the text is held than the longest entry."""
    blocks = iter(entries)
    held, begin = bytearray(), 0
    for offset, length in deadline.check_each(places, interval=_CHECKED_EVERY):
        while begin + len(held) < offset + length:
            if offset > begin:
                gone = min(offset - begin, len(held))
                del held[:gone]
                begin += gone
            block = next(blocks, None)
            if block is None:
                raise TableFormatError("the index points beyond the end of the text: the files are of two dictionaries")
            held += block
        del held[: offset - begin]
        begin = offset
        yield held[:length].decode("utf-8", "replace")
