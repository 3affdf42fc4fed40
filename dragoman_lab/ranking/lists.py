"""Lists of candidates for training and evaluation: queries, their first-stage documents, and relevance.

Texts are stored as subwords and index terms, with the relevant part of the translation table. Training and evaluation
on such a folder need no Java, no index and no texts.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from dragoman.backbone.checkpoints import read_json
from dragoman.files.atomic import atomic_folder
from dragoman.lexicon.table.table import Table
from dragoman.ranking.attention import NO_LINKS, Direction, ExtraLinks, Links, TranslationReference, Words
from dragoman.ranking.passages import TokenizedText

FORMAT = "dragoman-lists-1"
_ARRAYS, _ABOUT, _TABLE = "lists.safetensors", "lists.json", "table.safetensors"


class ListsError(ValueError):
    """A folder of lists is not usable; the message names it."""


@dataclass(frozen=True)
class Candidate:
    """A document of a list: its text id, its first-stage score, and whether it is relevant."""

    text: int
    score: float
    relevant: bool


@dataclass(frozen=True)
class CandidateList:
    """A query with its name and text id, and its candidates in first-stage order."""

    name: str
    query: int
    candidates: list[Candidate]
    relevant: int
    """Number of relevant documents, retrieved or not."""


class Lists:
    """The lists of one language pair."""

    def __init__(self, about: dict[str, object], arrays: dict[str, NDArray[np.generic]], table: Table | None) -> None:
        self.source, self.target = str(about["source"]), str(about["target"])
        self.tokenizer, self.checksum = str(about["tokenizer"]), str(about["checksum"])
        self.made_from = about.get("made_from")
        """A digest of the sources of the lists, if it was given."""
        self._terms: list[str] = about["terms"]  # type: ignore[assignment]
        self._names: list[str] = about["names"]  # type: ignore[assignment]
        self._extra_links: ExtraLinks | None = about.get("extra_links")  # type: ignore[assignment]
        self._arrays, self._table = arrays, table

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: int) -> CandidateList:
        begin, end = (int(self._arrays["list_ends"][place]) for place in (index, index + 1))
        columns = (self._arrays[name][begin:end].tolist() for name in ("candidates", "scores", "relevance"))
        return CandidateList(
            self._names[index],
            int(self._arrays["queries"][index]),
            [Candidate(text, score, bool(relevant)) for text, score, relevant in zip(*columns, strict=True)],
            int(self._arrays["relevant"][index]),
        )

    @property
    def terms(self) -> frozenset[str]:
        """The terms of all texts."""
        return frozenset(self._terms)

    def text(self, index: int) -> TokenizedText:
        """A tokenized text."""
        begin, end = (int(self._arrays["id_ends"][place]) for place in (index, index + 1))
        return TokenizedText(
            self._arrays["ids"][begin:end].tolist(), self._arrays["pieces"][begin:end].astype(np.int64)
        )

    def links(self, query: int, texts: Sequence[int], direction: Direction, placebo: bool = False) -> list[Links]:
        """The links between the words of a query and of each text; none if `placebo`."""
        if placebo:
            return [NO_LINKS] * len(texts)
        reference = TranslationReference(self._words(query), self._table, direction=direction, extra=self._extra_links)
        return [reference.links(self._words(text)) for text in texts]

    def _words(self, index: int) -> Words:
        begin, end = (int(self._arrays["term_ends"][place]) for place in (index, index + 1))
        return Words([self._terms[term] for term in self._arrays["terms"][begin:end].tolist()], [])


class ListsWriter:
    """Collects texts and lists, and writes them as a folder."""

    def __init__(self, source: str, target: str, tokenizer: str) -> None:
        self._about = {"format": FORMAT, "source": source, "target": target, "tokenizer": tokenizer}
        self._terms: dict[str, int] = {}
        self._columns: dict[str, list[int]] = {name: [] for name in ("ids", "pieces", "terms")}
        self._ends: dict[str, list[int]] = {name: [0] for name in ("id_ends", "term_ends")}
        self._names: list[str] = []
        self._lists: list[CandidateList] = []

    def text(self, text: TokenizedText, terms: Sequence[str]) -> int:
        """Add a text and its words' terms, and return its index."""
        self._columns["ids"] += text.ids
        self._columns["pieces"] += text.pieces.tolist()
        self._columns["terms"] += [self._terms.setdefault(term, len(self._terms)) for term in terms]
        self._ends["id_ends"].append(len(self._columns["ids"]))
        self._ends["term_ends"].append(len(self._columns["terms"]))
        return len(self._ends["id_ends"]) - 2

    def list(self, query_list: CandidateList) -> None:
        """Add a list over texts that were added."""
        self._lists.append(query_list)

    @property
    def terms(self) -> Collection[str]:
        """Of all texts that were added."""
        return self._terms.keys()

    def write(
        self, folder: Path, table: Table | None, made_from: str | None = None, extra: ExtraLinks | None = None
    ) -> None:
        """Write the folder, whole or not at all, with what `table` (from the queries' language) says of the texts.

        `extra` links their terms besides the table, see `TranslationReference`.
        """
        arrays: dict[str, NDArray[Any]] = {
            **{name: np.asarray(values, np.int32) for name, values in self._columns.items()},
            **{name: np.asarray(values, np.int64) for name, values in self._ends.items()},
            **_arrays_of(self._lists),
        }
        digest = hashlib.sha256(json.dumps(self._about).encode())
        for name in sorted(arrays):
            digest.update(np.ascontiguousarray(arrays[name]).data)
        used_table = _restrict(table, self._terms) if table is not None else None
        digest.update(json.dumps([list(self._terms), [query_list.name for query_list in self._lists], extra]).encode())
        for array in _numbers(used_table):
            digest.update(np.ascontiguousarray(array).data)
        about = self._about | {
            "checksum": digest.hexdigest(),
            "made_from": made_from,
            "terms": list(self._terms),
            "names": [query_list.name for query_list in self._lists],
            "extra_links": extra,
        }
        with atomic_folder(folder) as unfinished:
            save_file(arrays, unfinished / _ARRAYS)
            (unfinished / _ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
            if used_table is not None:
                used_table.save(unfinished / _TABLE)


def read_lists(folder: Path) -> Lists:
    """Read the lists of a folder.

    Raises:
        ListsError: if there is no such folder, or it is damaged.
    """
    if not (folder / _ABOUT).is_file():
        raise ListsError(f"{folder}: has no lists of candidates")
    about = read_json(folder / _ABOUT)
    if about.get("format") != FORMAT:
        raise ListsError(f"{folder}: not lists of candidates of format {FORMAT}")
    try:
        arrays = load_file(folder / _ARRAYS)
    except (SafetensorError, OSError) as error:
        raise ListsError(f"{folder / _ARRAYS}: {error}") from error
    return Lists(about, arrays, Table.open(folder / _TABLE) if (folder / _TABLE).exists() else None)


def relink(folder: Path, table: Table | None, output: Path) -> None:
    """Write the lists of `folder` to `output` with another table: the same candidates, other links.

    Links outside the table stay, because lists do not contain the words that they were derived from.

    Raises:
        ListsError: as in `read_lists`.
    """
    lists = read_lists(folder)
    about = read_json(folder / _ABOUT)
    used_table = _restrict(table, lists.terms) if table is not None else None
    digest = hashlib.sha256(lists.checksum.encode())
    for array in _numbers(used_table):
        digest.update(np.ascontiguousarray(array).data)
    with atomic_folder(output) as unfinished:
        shutil.copyfile(folder / _ARRAYS, unfinished / _ARRAYS)
        about["checksum"] = digest.hexdigest()
        (unfinished / _ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
        if used_table is not None:
            used_table.save(unfinished / _TABLE)


def rescore(folder: Path, lists: Sequence[CandidateList], output: Path) -> None:
    """Write other lists over the texts and links of those of `folder` to `output`: fewer candidates, other scores.

    Raises:
        ListsError: as in `read_lists`.
    """
    before = read_lists(folder)
    about = read_json(folder / _ABOUT)
    arrays = load_file(folder / _ARRAYS) | _arrays_of(lists)
    digest = hashlib.sha256(before.checksum.encode())
    for name in _arrays_of(lists):
        digest.update(np.ascontiguousarray(arrays[name]).data)
    about |= {"checksum": digest.hexdigest(), "names": [query_list.name for query_list in lists]}
    with atomic_folder(output) as unfinished:
        save_file(arrays, unfinished / _ARRAYS)
        (unfinished / _ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
        if (folder / _TABLE).exists():
            shutil.copyfile(folder / _TABLE, unfinished / _TABLE)


def lists_in(folder: Path) -> list[Path]:
    """The folders of lists under `folder`, sorted."""
    return sorted(path.parent for path in folder.rglob(_ABOUT))


def checksum_of(lists: Iterable[Lists]) -> str:
    """The combined checksum of several lists."""
    return hashlib.sha256("".join(part.checksum for part in lists).encode()).hexdigest()


def _arrays_of(lists: Sequence[CandidateList]) -> dict[str, NDArray[Any]]:
    candidates = [candidate for query_list in lists for candidate in query_list.candidates]
    return {
        "list_ends": np.cumsum([0, *(len(query_list.candidates) for query_list in lists)], dtype=np.int64),
        "queries": np.asarray([query_list.query for query_list in lists], np.int64),
        "relevant": np.asarray([query_list.relevant for query_list in lists], np.int64),
        "candidates": np.asarray([candidate.text for candidate in candidates], np.int64),
        "scores": np.asarray([candidate.score for candidate in candidates], np.float32),
        "relevance": np.asarray([candidate.relevant for candidate in candidates], np.int8),
    }


def _numbers(table: Table | None) -> list[NDArray[Any]]:
    return [] if table is None else [table.by_source.ids, table.by_source.forward, table.by_source.backward]


def _restrict(table: Table, terms: Collection[str]) -> Table:
    """The table entries with both terms in `terms`, a set or a dictionary."""
    side = table.by_source
    in_terms = [
        np.fromiter((term in terms for term in names), bool, len(names)) for names in (table.sources, table.targets)
    ]
    owners = side.owners()
    chosen = np.flatnonzero(in_terms[0][owners] & in_terms[1][side.ids])
    return Table.from_arrays(
        table.source,
        table.target,
        list(table.sources),
        list(table.targets),
        owners[chosen],
        side.ids[chosen],
        side.forward[chosen],
        side.backward[chosen],
        side.origins[chosen],
    )
