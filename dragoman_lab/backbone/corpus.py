"""Training text as memory-mapped subwords, and batches drawn from it that any process can draw again.

`prepare` streams plain files once into flat arrays of subword ids, so that text of any size trains in little memory.
`batches` is a pure function of the seed and a position: a training that resumes sees what it would have seen.
Groups of languages are drawn in proportion to their size to the power of `smoothing` (Conneau & Lample 2019, section
3.1).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.backbone.tokenizer import Subwords
from dragoman.files.atomic import atomic_folder
from dragoman_lab.backbone.text_files import CorpusError, TextFile
from dragoman_lab.backbone.vocabulary import smooth_shares

Ids = NDArray[np.int32]
ROWS_AT_ONCE = 2_000
COUNTED_AT_ONCE = 10_000_000
GROUPS_PER_ROUND = 8
FORMAT = 1


@dataclass
class Section:
    """What one file gave: per language a flat array of ids, and where each segment ends in it."""

    languages: tuple[str, ...]
    dictionary: bool = False
    segments: int = 0
    subwords: int = 0
    too_long: int = 0
    """Pairs left out because a side has more subwords than the model reads; raw text is cut into segments instead."""
    ids: list[Ids] = field(default_factory=list)
    ends: list[NDArray[np.int64]] = field(default_factory=list)

    @property
    def group(self) -> str:
        return ("dictionary " if self.dictionary else "") + "-".join(self.languages)

    def segment(self, side: int, row: int) -> Ids:
        start = 0 if row == 0 else int(self.ends[side][row - 1])
        return self.ids[side][start : int(self.ends[side][row])]

    def lengths(self, side: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        ends = self.ends[side]
        starts = np.where(rows == 0, 0, ends[rows - 1])
        return np.asarray(ends[rows] - starts)


@dataclass(frozen=True)
class Corpus:
    """Prepared text; `checksum` stands for the files, the vocabulary and the length it was made with."""

    sections: list[Section]
    checksum: str

    @property
    def languages(self) -> list[str]:
        return sorted({language for section in self.sections for language in section.languages})

    def sizes(self) -> dict[str, int]:
        """Subwords of each group: `de-en` (parallel), `sw` (raw), `dictionary en-de`."""
        sizes: dict[str, int] = {}
        for section in self.sections:
            sizes[section.group] = sizes.get(section.group, 0) + section.subwords
        return sizes

    def log_frequencies(self, vocabulary: int) -> NDArray[np.float32]:
        """Logarithm of each subword's share of the text, (V,), with one occurrence more of each.

        A model whose prediction begins with this bias need not first learn how frequent each subword is, which takes
        hundreds of steps.
        """
        counts = self.counts(vocabulary) + 1
        return np.asarray(np.log(counts / counts.sum()), dtype=np.float32)

    def counts(self, vocabulary: int) -> NDArray[np.int64]:
        """How often each subword occurs, (V,)."""
        total = np.zeros(vocabulary, dtype=np.int64)
        for section in self.sections:
            for ids in section.ids:
                for start in range(0, len(ids), COUNTED_AT_ONCE):
                    total += np.bincount(ids[start : start + COUNTED_AT_ONCE], minlength=vocabulary)
        return total

    def shares(self, smoothing: float, dictionaries: float) -> dict[str, float]:
        """How often each group is drawn: by smoothed size, all dictionaries together having the share given."""
        sizes = self.sizes()
        words = {name: size for name, size in sizes.items() if name.startswith("dictionary ")}
        text = {name: size for name, size in sizes.items() if name not in words}
        part = dictionaries if words and text else float(bool(words))
        shares = {name: share * (1 - part) for name, share in smooth_shares(text, smoothing).items()}
        return shares | {name: share * part for name, share in smooth_shares(words, smoothing).items()}


def prepare(files: Sequence[TextFile], subwords: Subwords, folder: Path, max_length: int) -> Corpus:
    """The files' subwords in `folder`, made unless they lie there already for the same files and vocabulary.

    A segment has at most `max_length` subwords, two special tokens included.

    Raises:
        CorpusError: a malformed file, or files without a usable segment.
    """
    checksum = _checksum(files, subwords, max_length)
    target = folder / checksum[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{checksum[:16]}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # trainings may share the folder: one prepares, the others wait for it
        _write_all(files, subwords, target, checksum, max_length)
    return _load(target)


def _write_all(files: Sequence[TextFile], subwords: Subwords, target: Path, checksum: str, max_length: int) -> None:
    if not (target / "corpus.json").exists():
        with atomic_folder(target) as unfinished:
            about = [_write(file, subwords, unfinished, index, max_length - 2) for index, file in enumerate(files)]
            (unfinished / "corpus.json").write_text(json.dumps({"checksum": checksum, "sections": about}, indent=1))


def _checksum(files: Sequence[TextFile], subwords: Subwords, max_length: int) -> str:
    digest = hashlib.sha256(f"{FORMAT} {max_length} {subwords.checksum}".encode())
    for file in files:
        digest.update(f"{file.path.name} {file.languages} {file.dictionary}".encode())
        with file.path.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()


def _write(file: TextFile, subwords: Subwords, folder: Path, index: int, longest: int) -> dict[str, Any]:
    section = Section(file.languages, file.dictionary)
    ends: list[list[int]] = [[] for _ in file.languages]
    outputs = [(folder / f"{index}.{side}.ids").open("wb") for side in range(len(file.languages))]
    rows = file.rows()
    while block := list(islice(rows, ROWS_AT_ONCE)):
        sides = [subwords.ids(list(texts)) for texts in zip(*block, strict=True)]
        for row in zip(*sides, strict=True):
            if not all(row):  # white space that only the tokenizer knows as such
                continue
            if len(row) > 1 and max(map(len, row)) > longest:
                section.too_long += 1
                continue
            for part in _split_row(row, longest):
                section.segments += 1
                for side, ids in enumerate(part):
                    outputs[side].write(np.asarray(ids, dtype=np.int32).tobytes())
                    ends[side].append((ends[side][-1] if ends[side] else 0) + len(ids))
                    section.subwords += len(ids)
    for side, output in enumerate(outputs):
        output.close()
        np.save(folder / f"{index}.{side}.ends.npy", np.asarray(ends[side], dtype=np.int64))
    about = asdict(section)
    del about["ids"], about["ends"]
    return about


def _split_row(row: tuple[list[int], ...], longest: int) -> Iterator[tuple[list[int], ...]]:
    if len(row) > 1 or len(row[0]) <= longest:
        yield row
        return
    for start in range(0, len(row[0]), longest):
        yield (row[0][start : start + longest],)


def _load(folder: Path) -> Corpus:
    about = json.loads((folder / "corpus.json").read_text())
    sections = []
    for index, about_section in enumerate(about["sections"]):
        section = Section(**{**about_section, "languages": tuple(about_section["languages"])})
        if section.segments < len(section.languages) % 2 + 1:  # raw text is read by neighbours: two at least
            continue
        for side in range(len(section.languages)):
            section.ids.append(np.memmap(folder / f"{index}.{side}.ids", dtype=np.int32, mode="r"))
            section.ends.append(np.load(folder / f"{index}.{side}.ends.npy", mmap_mode="r"))
        sections.append(section)
    if not sections:
        raise CorpusError("the training files hold no usable segment")
    return Corpus(sections, about["checksum"])


@dataclass(frozen=True)
class Pairs:
    """A batch before padding: `x[i]` and `y[i]` are parallel sentences, or neighbours when there is one language."""

    x: list[Ids]
    y: list[Ids]
    languages: tuple[str, ...]

    @property
    def parallel(self) -> bool:
        return len(self.languages) > 1

    @property
    def tokens(self) -> int:
        """Subwords of both sides."""
        return sum(map(len, self.x)) + sum(map(len, self.y))


@dataclass(frozen=True)
class Position:
    """A place in the endless row of batches."""

    round: int = 0
    batch: int = 0


def batches(
    corpus: Corpus, *, seed: int, tokens: int, shares: dict[str, float], start: Position | None = None
) -> Iterator[tuple[Position, Pairs]]:
    """Batches from `start` on without end, each with the position of the one after it.

    A batch holds one group of languages and segments of like length, so that `tokens` bounds both its padded sides.
    """
    position = start or Position()
    while True:
        drawn = _draw_round(corpus, shares, np.random.default_rng([seed, position.round]), tokens)
        for index in range(position.batch, len(drawn)):
            after = Position(position.round, index + 1) if index + 1 < len(drawn) else Position(position.round + 1)
            yield after, drawn[index]
        position = Position(position.round + 1)


def _draw_round(corpus: Corpus, shares: dict[str, float], random: np.random.Generator, tokens: int) -> list[Pairs]:
    names = sorted(shares)
    drawn: list[Pairs] = []
    for name in random.choice(names, GROUPS_PER_ROUND, p=[shares[group] for group in names]):
        sections = [section for section in corpus.sections if section.group == name]
        weights = np.asarray([section.subwords for section in sections], dtype=np.float64)
        section = sections[random.choice(len(sections), p=weights / weights.sum())]
        drawn += _draw_batches(section, random, tokens)
    order = random.permutation(len(drawn))
    return [drawn[index] for index in order]


def _draw_batches(section: Section, random: np.random.Generator, tokens: int) -> list[Pairs]:
    """About eight batches of one file: rows drawn without replacement, sorted by length, cut at the token budget."""
    parallel = len(section.languages) > 1
    usable = section.segments if parallel else section.segments - 1
    average = section.subwords / section.segments / len(section.languages) + 2
    rows = random.choice(usable, min(usable, int(8 * tokens / average) + 1), replace=False).astype(np.int64)
    first = section.lengths(0, rows)
    second = section.lengths(1, rows) if parallel else section.lengths(0, rows + 1)
    longest = np.maximum(first, second) + 2
    rows, longest = rows[order := np.argsort(longest, kind="stable")], longest[order]
    cut: list[Pairs] = []
    begin = 0
    while begin < len(rows):
        end = begin + 1
        while end < len(rows) and (end + 1 - begin) * longest[end] <= tokens:
            end += 1
        x = [section.segment(0, int(row)) for row in rows[begin:end]]
        y = [section.segment(1, int(row)) if parallel else section.segment(0, int(row) + 1) for row in rows[begin:end]]
        cut.append(Pairs(x, y, section.languages))
        begin = end
    return cut
