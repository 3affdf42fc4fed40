"""Text in other encodings, as UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from dragoman.engine.core.errors import UnsupportedMedia
from dragoman.lexicon.formats.detection.encodings import find_codec

_MARKING = "dragoman-mark"


def _mark_fault(fault: UnicodeError) -> tuple[str, int]:
    if not isinstance(fault, UnicodeDecodeError):
        raise fault
    return "\udcff", fault.end  # is written as a byte that UTF-8 never has, so that its line alone is rejected


codecs.register_error(_MARKING, _mark_fault)


def check_encoding(name: str) -> str:
    """The codec of an encoding.

    Raises:
        UnsupportedMedia: there is none of that name.
    """
    if (codec := find_codec(name)) is None:
        raise UnsupportedMedia(f"charset: {name[:100]!r} is not known: use a name such as utf-8 or windows-1252")
    return codec


def decode_as_utf8(parts: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The parts of a text in an encoding as UTF-8; what cannot be decoded is not valid UTF-8 either.

    Raises:
        UnsupportedMedia: there is no such encoding.
    """
    codec = check_encoding(encoding)
    if codec in ("utf-8", "utf-8-sig"):
        yield from parts
        return
    decoder = codecs.getincrementaldecoder(codec)(_MARKING)
    for part in parts:
        yield decoder.decode(part).encode("utf-8", "surrogateescape")
    yield decoder.decode(b"", final=True).encode("utf-8", "surrogateescape")
