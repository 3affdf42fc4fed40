"""Labelled sentences, and the files that hold them.

Three formats, by the end of a file's name, compressed or not: `.conllu` (Universal Dependencies: the word in the second
column, its part of speech in the fourth), `.bio` (word TAB label) and `.conll` (number, word, intent, label). An empty
line ends a sentence.
"""

from __future__ import annotations

import gzip
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dragoman.tagging.labels import OUTSIDE

logger = logging.getLogger("dragoman")

COLUMNS = {"conllu": (1, 3, 10), "bio": (0, 1, 2), "conll": (1, 3, 4)}
"""By format: the columns of word and label, and how many columns there are."""


class SentencesError(ValueError):
    """A file of labelled sentences that cannot be used; the message names file and line."""


@dataclass(frozen=True)
class Sentence:
    """Words with their labels; `spaces` says of each whether a space follows."""

    words: tuple[str, ...]
    labels: tuple[str, ...]
    spaces: tuple[bool, ...]

    @property
    def text(self) -> str:
        """The words as one text."""
        return "".join(word + " " * space for word, space in zip(self.words, self.spaces, strict=True)).rstrip()

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """Where each word stands in `text`."""
        spans, place = [], 0
        for word, space in zip(self.words, self.spaces, strict=True):
            spans.append((place, place + len(word)))
            place += len(word) + space
        return spans


def read_sentences(path: Path, names: Mapping[str, str] | None = None) -> list[Sentence]:
    """The sentences of a file; `names` gives other names to kinds of labels, and drops those it names "".

    Empty words that have no label are left out, with a warning.

    Raises:
        SentencesError: a missing file, another format, or a line with too few columns.
    """
    kind = _format(path)
    word, label, columns = COLUMNS[kind]
    sentences: list[Sentence] = []
    rows: list[tuple[str, str, bool]] = []
    empty = 0
    for line_number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            if rows:
                sentences.append(_sentence(rows, names or {}))
            rows = []
            continue
        if kind != "bio" and line.startswith("#"):
            continue
        parts = line.rstrip("\n").split("\t")
        if kind == "conll" and len(parts) >= columns and not parts[word].strip() and parts[label] == OUTSIDE:
            empty += 1  # some were left empty in the Chinese part of xSID
            continue
        if len(parts) < columns or not parts[word].strip():
            raise SentencesError(f"{path}: line {line_number}: needs {columns} columns, the word not empty")
        if kind == "conllu" and not parts[0].isdecimal():
            continue  # a word of several tokens, which follow, or one that is not there
        space = not (kind == "conllu" and "SpaceAfter=No" in parts[9].split("|"))
        rows.append((parts[word], parts[label] or OUTSIDE, space))
    if rows:
        sentences.append(_sentence(rows, names or {}))
    if not sentences:
        raise SentencesError(f"{path}: holds no sentence")
    if empty:
        logger.warning("%s: %d empty words without a label were left out", path, empty)
    return sentences


def _format(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    kind = name.rpartition(".")[2]
    if kind not in COLUMNS:
        raise SentencesError(f"{path}: the name must end in .{', .'.join(COLUMNS)}, or one of these and .gz")
    return kind


def _lines(path: Path) -> Iterator[str]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            yield from file
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise SentencesError(f"{path}: {error}") from error


def _sentence(rows: list[tuple[str, str, bool]], names: Mapping[str, str]) -> Sentence:
    words, labels, spaces = zip(*rows, strict=True)
    return Sentence(words, tuple(_rename_label(label, names) for label in labels), spaces)


def _rename_label(label: str, names: Mapping[str, str]) -> str:
    prefix, dash, kind = label.partition("-")
    if not dash:
        return label
    kind = names.get(kind, kind)
    return f"{prefix}-{kind}" if kind else OUTSIDE
