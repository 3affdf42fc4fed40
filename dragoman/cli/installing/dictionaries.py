"""``dragoman table install``: a table from a dictionary of FreeDict, as Debian packages it or as its project does."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.error import URLError
from urllib.request import urlopen

import typer
from rich.console import Console

from dragoman import deadline
from dragoman.cli.database import Place
from dragoman.cli.options import spread

if TYPE_CHECKING:
    from dragoman.lexicon.dictionaries.packages import DictionaryFiles

_INSTALLED = Path("/usr/share/dictd")
_MOST_DOWNLOADED = 256 << 20
_DOWNLOAD_SECONDS = 600.0
_SOCKET_SECONDS = 30.0
_LINES = 1_000
_PART = 1 << 16

_console = Console(stderr=True)


@spread
def install(
    collection: Annotated[Literal["freedict"], typer.Argument(help="Where the dictionary is from.")],
    pair: Annotated[str, typer.Argument(metavar="PAIR", help="Its languages as FreeDict names them, such as eng-deu.")],
    file: Annotated[
        Path | None,
        typer.Option(
            envvar="DRAGOMAN_DICTIONARY_FILE",
            exists=True,
            dir_okay=False,
            help="A .deb, .index, .dict.dz, .tei or .tar.xz; default: what is installed in /usr/share/dictd.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            "--from", envvar="DRAGOMAN_DICTIONARY_FROM", help="Fetch such a file from an https or http address."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(envvar="DRAGOMAN_NAME", show_default="freedict-PAIR", help="The table's name."),
    ] = None,
    activate: Annotated[
        bool, typer.Option(envvar="DRAGOMAN_ACTIVATE", help="Use this version in searches from now on.")
    ] = True,
    *,
    place: Place,
) -> None:
    """Make a table of a dictionary of FreeDict, in a data directory that no server uses, or by a service."""
    from dragoman.door.calls import add_table
    from dragoman.engine.core.errors import InvalidRequest
    from dragoman.lexicon.dictionaries.packages import DAMAGES, open_dictionary

    if file is not None and address is not None:
        raise typer.BadParameter("--file and --from exclude each other", param_hint="--from")
    source, target = read_pair(pair)
    table = name or f"freedict-{pair}"
    with ExitStack() as stack:
        path = _fetch(address, stack) if address is not None else file or find_installed(pair)
        try:
            files = open_dictionary(path, stack)
            format = "freedict" if files.index is None else "jsonl"
            opened = stack.enter_context(place.open(existing=False))
            parts = _parts(files, place.load_settings().uploads.decompressed_bytes)
            options = {"source": source, "target": target, "format": format, "activate": activate}
            done = opened.send(add_table(table, parts, options))
        except DAMAGES as fault:
            raise InvalidRequest(f"{path.name}: {fault}") from fault
    state = "active" if done.active else "stored, not active"
    _console.print(
        f"{table} version {done.version}: {done.entries} entries of {done.source_terms} source terms, "
        f"{done.rejected_total} rejected, {done.warnings_total} warnings, {state}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def read_pair(pair: str) -> tuple[str, str]:
    """The codes of the languages of ``eng-deu``: ``en`` and ``de``."""
    from dragoman.lexicon.formats.detection.names import language_of_code

    codes = [language_of_code(part) for part in pair.split("-")] if pair.count("-") == 1 else []
    if len(codes) != 2 or codes[0] is None or codes[1] is None or codes[0] == codes[1]:
        raise typer.BadParameter(
            f"{pair[:40]!r} names no two languages that are served; FreeDict's names are such as eng-deu",
            param_hint="PAIR",
        )
    return codes[0], codes[1]


def find_installed(pair: str, folder: Path = _INSTALLED) -> Path:
    """The index of a dictionary that Debian's package put there.

    Raises:
        NotFound: it is not installed; the message says how it is had.
    """
    from dragoman.engine.core.errors import NotFound

    index = folder / f"freedict-{pair}.index"
    if not index.is_file():
        raise NotFound(
            f"{index} is not there: sudo apt-get install dict-freedict-{pair}, or name a file that you have with --file"
        )
    return index


def _parts(files: DictionaryFiles, limit: int) -> Iterator[bytes]:
    """What is uploaded: TEI as it is, a pair of dictd as lines of JSON."""
    from dragoman.files.streams import unpack
    from dragoman.lexicon.dictionaries.dictd import dictd_pairs
    from dragoman.lexicon.dictionaries.packages import read_blocks

    if files.index is None:
        yield from read_blocks(files.text)
        return
    lines: list[str] = []
    for source, target in dictd_pairs(files.index, unpack(read_blocks(files.text), limit=limit)):
        lines.append(json.dumps({"source": source, "target": target}, ensure_ascii=False))
        if len(lines) == _LINES:
            yield ("\n".join(lines) + "\n").encode()
            lines.clear()
    yield "\n".join(lines).encode()


def _fetch(url: str, stack: ExitStack) -> Path:
    """What is at an address, in a file that lasts as long as ``stack``.

    Raises:
        Unavailable: it cannot be had, or is too large.
    """
    from dragoman.engine.core.errors import Unavailable

    if not url.startswith(("https://", "http://")):
        raise typer.BadParameter("an address begins with https:// or http://", param_hint="--from")
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    path = Path(folder) / (url.partition("?")[0].rpartition("/")[2] or "dictionary")
    try:
        with (
            deadline.deadline(_DOWNLOAD_SECONDS),
            closing(urlopen(url, timeout=_SOCKET_SECONDS)) as answer,
            path.open("wb") as file,
        ):
            while part := answer.read(_PART):
                deadline.check()
                file.write(part)
                if file.tell() > _MOST_DOWNLOADED:
                    raise Unavailable(f"--from: more than {_MOST_DOWNLOADED:,} bytes")
    except (URLError, OSError) as fault:
        raise Unavailable(f"--from: cannot be fetched: {fault}") from fault
    return path
