"""The files of a dictionary, wherever they are: beside each other, in a Debian package, or in a tar archive.

A package is an archive of ``ar`` (see deb(5)) whose ``data.tar`` holds the files; nothing is written to disk.
"""

from __future__ import annotations

import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from dragoman.files.streams import StreamFault
from dragoman.lexicon.formats.items import TableFormatError

_AR = b"!<arch>\n"
_AR_HEADER = 60
_MOST_MEMBERS = 10_000
_MOST_INDEX = 256 << 20
_BLOCK = 1 << 16
DAMAGES = (TableFormatError, StreamFault, OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error)
"""What reading a dictionary raises where a file is damaged or is none."""
_TEXTS = (".dict.dz", ".dict")
_TEI = (".tei", ".tei.gz", ".xml", ".xml.gz")


@dataclass(frozen=True, slots=True)
class DictionaryFiles:
    """An open dictionary: the text of its entries, and the index of a pair of dictd; TEI has none."""

    text: IO[bytes]
    index: IO[bytes] | None


def open_dictionary(path: Path, closing: ExitStack) -> DictionaryFiles:
    """The files of a dictionary, closed with ``closing``.

    ``path`` is a .index or .dict.dz beside the other, a .deb, a tar archive of either form, or a TEI file.

    Raises:
        TableFormatError: it is none of these.
        OSError: it cannot be read.
    """
    name = path.name
    if name.endswith((".index", *_TEXTS)):
        stem = (
            name.removesuffix(".index") if name.endswith(".index") else name.removesuffix(".dz").removesuffix(".dict")
        )
        texts = [path.with_name(stem + suffix) for suffix in _TEXTS]
        text = next((text for text in texts if text.is_file()), None)
        index = path.with_name(stem + ".index")
        if text is None or not index.is_file():
            raise TableFormatError(f"{stem}.index and {stem}.dict.dz belong together: put them in one folder")
        return DictionaryFiles(closing.enter_context(text.open("rb")), closing.enter_context(index.open("rb")))
    stream = closing.enter_context(path.open("rb"))
    if name.endswith(_TEI):
        return DictionaryFiles(stream, None)
    if stream.read(len(_AR)) == _AR:
        return _of_archive(_find_data(stream), closing)
    stream.seek(0)
    return _of_archive(stream, closing)


def read_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """What is left of a stream."""
    while block := stream.read(_BLOCK):
        yield block


def _find_data(stream: IO[bytes]) -> IO[bytes]:
    """The archive of a package's files.

    Raises:
        TableFormatError: it has none, or one that is packed in a way that is not read.
    """
    for _ in range(_MOST_MEMBERS):
        header = stream.read(_AR_HEADER)
        if len(header) < _AR_HEADER or not header[48:58].strip().isdigit():
            break
        name, size = header[:16].strip().rstrip(b"/"), int(header[48:58])
        if name.startswith(b"data.tar"):
            if name.endswith(b".zst"):
                raise TableFormatError("the package is packed with zstd: unpack it with dpkg-deb -x, and name its file")
            if size > _MOST_INDEX:
                raise TableFormatError(f"the package holds more than {_MOST_INDEX:,} bytes")
            return io.BytesIO(stream.read(size))
        stream.seek(size + size % 2, io.SEEK_CUR)
    raise TableFormatError("the package holds no files")


def _of_archive(stream: IO[bytes], closing: ExitStack) -> DictionaryFiles:
    try:
        archive = tarfile.open(fileobj=stream, mode="r:*")  # noqa: SIM115 - the stack closes it
        closing.enter_context(archive)
        members: dict[str, tarfile.TarInfo] = {}
        for count, member in enumerate(archive):
            if count >= _MOST_MEMBERS:
                raise TableFormatError(f"the archive has more than {_MOST_MEMBERS:,} files")
            if member.isfile():
                members[member.name] = member
        return _of_members(archive, members)
    except (tarfile.TarError, EOFError) as fault:
        raise TableFormatError(f"not a dictionary: name a .deb, .index, .dict.dz, .tei or .tar.xz ({fault})") from fault


def _of_members(archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo]) -> DictionaryFiles:
    """The one dictionary among the files of an archive.

    Raises:
        TableFormatError: there is none, or there are several.
    """
    texts = [name for name in members if name.endswith(_TEXTS)]
    chosen = texts or [name for name in members if name.endswith(_TEI[:2])]
    if len(chosen) != 1:
        raise TableFormatError(f"the archive holds {len(chosen)} dictionaries where one is needed")
    text = cast(IO[bytes], archive.extractfile(members[chosen[0]]))
    if not texts:
        return DictionaryFiles(text, None)
    index = members.get(chosen[0].removesuffix(".dz").removesuffix(".dict") + ".index")
    if index is None or index.size > _MOST_INDEX:
        raise TableFormatError("the archive holds no index of its dictionary" if index is None else "too long an index")
    return DictionaryFiles(text, io.BytesIO(cast(IO[bytes], archive.extractfile(index)).read()))
