"""Plain training text: which files hold which languages, and their lines, streamed.

Two kinds of file, plain or gzip, UTF-8:

- *parallel*: `<xx>-<yy>/<name>.tsv[.gz]` or, as dictionaries are kept, `<xx>-<yy>.tsv[.gz]`; a line is
  `text in xx<TAB>text in yy`, and further columns are passed over;
- *raw*: `<xx>.<name>.txt[.gz]`, a line is a segment, and neighbouring lines are neighbours in a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import regex

from dragoman.files.streams import StreamFault, file_parts, lines, unpack

PAIR = regex.compile(r"([a-z]{2,3})-([a-z]{2,3})(\.tsv(\.gz)?)?")
RAW_FILE = regex.compile(r"([a-z]{2,3})\..*\.?txt(\.gz)?")
LONGEST = 1 << 24
"""Bytes of a line."""


class CorpusError(ValueError):
    """Training text that cannot be used; the message names the file, and the line if there is one."""


@dataclass(frozen=True)
class TextFile:
    """A file of training text and the languages of its columns: two for parallel text, one for raw text."""

    path: Path
    languages: tuple[str, ...]
    dictionary: bool = False

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Each line's columns, one text per language; blank lines and blank sides are passed over.

        Raises:
            CorpusError: damaged gzip, text that is not UTF-8, a line too long or of too few columns.
        """
        line_number = 0
        try:
            for line_number, content in lines(unpack(file_parts(self.path)), LONGEST):
                if content is None:
                    raise CorpusError(f"{self.path}, line {line_number}: longer than {LONGEST} bytes")
                columns = tuple(part.strip() for part in content.decode().split("\t"))
                if columns == ("",):
                    continue
                if len(columns) < len(self.languages):
                    raise CorpusError(f"{self.path}, line {line_number}: {len(self.languages)} columns are wanted")
                if all(columns[: len(self.languages)]):
                    yield columns[: len(self.languages)]
        except StreamFault as error:
            raise CorpusError(f"{self.path}, after line {line_number}: {error}") from error
        except UnicodeDecodeError as error:
            raise CorpusError(f"{self.path}, line {line_number}: not UTF-8: {error.reason}") from error


def text_files(parallel: Sequence[Path], raw: Sequence[Path] = (), dictionaries: Sequence[Path] = ()) -> list[TextFile]:
    """The training files in folders, at any depth, sorted by path so that the order is the same everywhere.

    Dictionaries have the form of parallel files; they are kept apart so that a training can give them a share.

    Raises:
        CorpusError: a path that is not a folder, or one without a training file.
    """
    listed: list[TextFile] = []
    for folder in [*parallel, *dictionaries]:
        listed += _expect(
            folder,
            [
                TextFile(path, (pair[1], pair[2]), folder not in parallel)
                for path in _files(folder, (".tsv", ".tsv.gz"))
                if (pair := PAIR.fullmatch(path.name) or PAIR.fullmatch(path.parent.name))
            ],
            "<xx>-<yy>/*.tsv[.gz] or <xx>-<yy>.tsv[.gz]",
        )
    for folder in raw:
        listed += _expect(
            folder,
            [
                TextFile(path, (name[1],))
                for path in _files(folder, (".txt", ".txt.gz"))
                if (name := RAW_FILE.fullmatch(path.name))
            ],
            "<xx>.*.txt[.gz]",
        )
    return listed


def _files(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    if not folder.is_dir():
        raise CorpusError(f"{folder}: not a folder")
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith(suffixes))


def _expect(folder: Path, files: list[TextFile], pattern: str) -> list[TextFile]:
    if not files:
        raise CorpusError(f"{folder}: holds no file {pattern}")
    return files
