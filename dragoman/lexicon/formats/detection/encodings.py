"""The encoding of a file: told by its byte order mark, by being UTF-8, or by the letters of the table's languages.

An encoding that gives letters of other languages, symbols inside words or words like "hÄuser" is not the file's. Which
letters are expected is known, since an upload names its languages; a detector that has to guess them too is often
wrong about a short list of words.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from dragoman import deadline
from dragoman.lexicon.formats.detection.letters import FREQUENT, fitness, script
from dragoman.lexicon.formats.items import TableFormatError, quote

HEAD_BYTES = 1 << 20
"""So much of a file is looked at."""
_SAMPLE_LINES = 2000
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32le"),
    (codecs.BOM_UTF32_BE, "utf-32be"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
)
_WESTERN = ("windows-1252", "iso-8859-15", "iso-8859-1", "mac-roman", "cp850", "cp437")
_CENTRAL = ("windows-1250", "iso-8859-2", "mac-latin2", "cp852")
_BALTIC = ("windows-1257", "iso-8859-13", "iso-8859-4", "cp775")
_BY_SCRIPT = {
    "Cyrillic": ("windows-1251", "koi8-r", "koi8-u", "iso-8859-5", "cp866"),
    "Greek": ("windows-1253", "iso-8859-7", "cp737"),
    "Hebrew": ("windows-1255", "iso-8859-8", "cp862"),
    "Arabic": ("windows-1256", "iso-8859-6"),
    "Thai": ("cp874", "tis-620"),
    "Hangul": ("cp949", "euc-kr"),
    "Han": ("gb18030", "big5hkscs"),
    "Kana": ("cp932", "euc-jp", "iso-2022-jp"),
}
_BY_LANGUAGE = {
    **dict.fromkeys(("bs", "cs", "hr", "hu", "pl", "ro", "sk", "sl", "sq", "sr"), _CENTRAL),
    **dict.fromkeys(("et", "lt", "lv"), _BALTIC),
    **dict.fromkeys(("az", "ku", "tr"), ("windows-1254", "iso-8859-9", "cp857")),
    "mt": ("iso-8859-3",),
    "eo": ("iso-8859-3",),
    "vi": ("windows-1258",),
}
_NAMED = {"cp932": "shift_jis", "cp949": "euc-kr", "big5hkscs": "big5"}
"""How an encoding is told that is a superset of a better known one."""
_WIDE = ("utf-16le", "utf-16be", "utf-32le", "utf-32be")
_RARE = (
    "mac-cyrillic",
    "cp864",
    "mac-greek",
    "mac-turkish",
    "cp861",
    "cp863",
    "cp865",
    "cp869",
    "iso-8859-10",
    "iso-8859-16",
)
"""Encodings that are read where they are named, and not supposed."""
_ALSO = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "ascii", "gb2312", "gbk", "big5", "cp950", "shift_jis", "euc-kr")
_QUOTES = frozenset("–—‘’‚“”„«»‹›…·•§°€£™®©¡¿™†‰№´`，。、；：？！（）「」『』《》〈〉【】・〜～　．／")
_SYMBOL_BETWEEN_LETTERS = regex.compile(r"\p{L}[^\p{L}\p{M}\p{N}\s\x00-\x7f’‑·ʼ‘´•・–—…»«“”„]\p{L}")
_SYMBOL_BEFORE_LETTER = regex.compile(r"(?<![\p{L}\p{N}])[¼½¾¹³±¤¦¬ª¥¢¨¸×÷‡ˆ˜]+\p{L}")
_OPENING_AFTER_LETTER = regex.compile(r"\p{L}[‚„†‡ˆ˜¿¡‰]")
_INNER_CAPITAL = regex.compile(r"\p{Ll}\p{M}*\p{Lu}")
_CAPITALS = regex.compile(r"\p{Lu}{3,}")
_USUAL = frozenset("оеаинтсрвлαοιετσνηיוהלרתינאولمنرت")
_ENOUGH = 0.55
_OLD = frozenset({"mac-roman", "mac-latin2", "cp437", "cp850", "cp852", "cp775", "cp737", "cp862", "cp857"})
_LESS_USUAL = 0.05
"""What an encoding of DOS or of an old Macintosh has to fit better than others."""
_CLEAR = 0.02
_CLEAR_CHINESE = 0.15
"""Two encodings of Chinese give characters for nearly any text, and a short one may have few that are frequent."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding, and the bytes of its mark at the beginning of the file."""

    name: str
    codec: str
    mark: int = 0

    @property
    def wide(self) -> bool:
        """Whether a line end is more than one byte."""
        return self.codec in _WIDE


def detect(head: bytes, whole: bool, languages: Sequence[str], chosen: str | None = None) -> Encoding:
    """The encoding of a file that begins with ``head``, which is all of it if ``whole``.

    Raises:
        TableFormatError: the chosen encoding is unknown, or the file is no text or in no encoding that is clear.
    """
    marked = next((Encoding(name, name, len(mark)) for mark, name in _MARKS if head.startswith(mark)), None)
    if chosen is not None:
        return _choose(chosen, marked)
    if marked is not None:
        return marked
    if (nul := head.count(0)) > max(1, len(head) // 100):
        return _wide(head, nul)
    if _utf8(head, whole):
        return Encoding("utf-8", "utf-8")
    return _of_languages(head, whole, languages)


def find_codec(name: str) -> str | None:
    """The codec of an encoding that a caller may name, None if there is none."""
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return codec if codec in _allowed_codecs() else None


def _allowed_codecs() -> frozenset[str]:
    general = (*_WESTERN, *_CENTRAL, *_BALTIC, *_ALSO, *_RARE, *_WIDE)
    more = [name for names in (*_BY_SCRIPT.values(), *_BY_LANGUAGE.values()) for name in names]
    return frozenset(codecs.lookup(name).name for name in (*general, *more))


def _choose(name: str, marked: Encoding | None) -> Encoding:
    codec = find_codec(name)
    if codec is None:
        raise TableFormatError(f"encoding: {quote(name)} is not known: use a name such as utf-8 or windows-1252")
    if marked is not None:
        family = codec.replace("_", "-").removesuffix("-sig").removesuffix("-le").removesuffix("-be")
        if not marked.name.startswith(family):
            raise TableFormatError(f"encoding: the file begins with the mark of {marked.name}, not {quote(name)}", 1)
        return marked
    wide = {"utf-16": "utf-16le", "utf-32": "utf-32le", "utf-16-le": "utf-16le", "utf-16-be": "utf-16be"}
    wide |= {"utf-32-le": "utf-32le", "utf-32-be": "utf-32be", "utf-8-sig": "utf-8"}
    codec = wide.get(codec, codec)
    return Encoding(codec if codec in wide.values() else name.lower(), codec)


def _wide(head: bytes, nul: int) -> Encoding:
    """UTF-16 or UTF-32 without a mark: every other byte of ASCII characters, such as line ends, is NUL."""
    for name in ("utf-32le", "utf-32be", "utf-16le", "utf-16be"):
        width = 4 if "32" in name else 2
        try:
            text = head[: len(head) // width * width].decode(name)
        except UnicodeDecodeError:
            continue
        odd = sum(not character.isprintable() and character not in "\t\r\n" for character in text[:4096])
        if ("\n" in text or "\r" in text or "\t" in text) and odd * 50 < len(text[:4096]):
            return Encoding(name, name)
    raise TableFormatError("the file is not text: it holds NUL bytes", 1)


def _utf8(head: bytes, whole: bool) -> bool:
    """Whether the head is UTF-8, apart from few bytes: those are faults of their lines."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    try:
        decoder.decode(head, final=whole)
        return True
    except UnicodeDecodeError:
        text = head.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    return wrong * 4 <= sum(character > "\x7f" for character in text) - wrong


def candidates(languages: Sequence[str]) -> list[str]:
    """The encodings that texts in these languages may be in, the usual ones first."""
    names: list[str] = []
    for language in languages:
        written = script(language)
        names += _BY_LANGUAGE.get(language, _WESTERN if written is None else _BY_SCRIPT.get(written, ()))
    return list(dict.fromkeys((*names, *_WESTERN)))


def _of_languages(head: bytes, whole: bool, languages: Sequence[str]) -> Encoding:
    raw = b"\n".join(_lines(head, whole))
    scored: list[tuple[float, str, str]] = []
    for name in candidates(languages):
        deadline.check()
        try:
            text = raw.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        if text not in (candidate[2] for candidate in scored):
            scored.append((plausibility(text, languages) - (_LESS_USUAL if name in _OLD else 0.0), name, text))
    scored.sort(key=lambda candidate: -candidate[0])
    if not scored or scored[0][0] < _ENOUGH:
        raise TableFormatError(
            f"the file is not UTF-8 text, nor in a usual encoding of {' or '.join(languages)}: name it with encoding="
        )
    clear = _CLEAR_CHINESE if scored[0][1] in _BY_SCRIPT["Han"] else _CLEAR
    if len(scored) > 1 and scored[0][0] - scored[1][0] < clear:
        raise TableFormatError(
            f"the file is not UTF-8, and may be {scored[0][1]} or {scored[1][1]}: name its encoding with encoding="
        )
    name = scored[0][1]
    return Encoding(_NAMED.get(name, name), name)


def _lines(head: bytes, whole: bool) -> Iterator[bytes]:
    """Some lines of the head that are not ASCII alone, without the last one where it may be cut."""
    lines = head.replace(b"\r", b"\n").split(b"\n")
    if not whole and len(lines) > 1:
        lines.pop()
    count = 0
    for line in lines:
        if not line.isascii() or b"\x1b" in line:
            yield line
            count += 1
            if count == _SAMPLE_LINES:
                return


def plausibility(text: str, languages: Sequence[str]) -> float:
    """How well the characters of ``text`` beyond ASCII fit these languages, at most about 1."""
    text = unicodedata.normalize("NFC", text)
    counts = Counter(character for character in text if character > "\x7f")
    total = sum(counts.values())
    if not total:
        return 1.0 if "\x1b" not in text else 0.0
    score = sum(_fits(character, languages) * count for character, count in counts.items())
    spoilt = len(_SYMBOL_BETWEEN_LETTERS.findall(text)) + len(_SYMBOL_BEFORE_LETTER.findall(text))
    spoilt += len(_OPENING_AFTER_LETTER.findall(text)) + len(_INNER_CAPITAL.findall(text))
    capitals = sum(sum(character > "\x7f" for character in capital_run) for capital_run in _CAPITALS.findall(text))
    usual = sum(counts[character] for character in _USUAL)
    frequent = sum(counts[character] for character in counts.keys() & FREQUENT) if "zh" in languages else 0
    return (score - spoilt - 0.3 * capitals + 0.1 * usual + 0.6 * frequent) / total


def _fits(character: str, languages: Sequence[str]) -> float:
    if character in _QUOTES:
        return 0.8
    category = unicodedata.category(character)
    if category in ("Cc", "Cn", "Co", "Cs"):
        return -2.0
    if category[0] in "LM":
        return max((fitness(character, language) for language in languages), default=0.6)
    return 0.8 if category == "Zs" else 0.3
