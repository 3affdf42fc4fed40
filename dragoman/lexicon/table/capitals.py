"""The terms that a glossary has in capitals alone: those match nothing else where a function word is written alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.table.file import CorruptTable, read_arrays, write_arrays
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.vocabulary import Vocabulary
from dragoman.lexicon.table.written import WrittenForms

__all__ = ["Capitals", "capitals", "is_capitals"]

FORMAT = "dragoman-capitals"
FORMAT_VERSION = "1"
_DOTLESS = {ord("I"): "ı", ord("İ"): "i"}


def is_capitals(written: str, key: str) -> bool:
    """Whether a term is written in capitals alone, at least two, and differs from its folded form only in case."""
    if not written.isupper() or sum(character.isalpha() for character in written) < 2:
        return False
    return key in (written.lower(), written.casefold(), written.translate(_DOTLESS).lower())


@dataclass(frozen=True, slots=True)
class Capitals:
    """The folded terms of either side whose every entry was written in capitals: ``us`` of ``US``."""

    sources: Vocabulary
    targets: Vocabulary

    @classmethod
    def none(cls) -> Capitals:
        """Where no glossary has any."""
        return cls(Vocabulary.from_terms([]), Vocabulary.from_terms([]))

    @property
    def nbytes(self) -> int:
        """The size of its arrays, bytes."""
        return sum(one.blob.nbytes + one.offsets.nbytes for one in (self.sources, self.targets))

    def inverse(self) -> Capitals:
        """The same from the target language to the source language."""
        return Capitals(self.targets, self.sources)

    def save(self, path: Path) -> None:
        """Write them as safetensors, durably and atomically.

        Raises:
            OSError: if they cannot be written.
        """
        arrays: dict[str, NDArray[np.generic]] = {}
        for name, terms in (("source", self.sources), ("target", self.targets)):
            arrays |= {f"{name}_blob": terms.blob, f"{name}_offsets": terms.offsets}
        write_arrays(path, arrays, {"format": FORMAT, "format_version": FORMAT_VERSION})

    @classmethod
    def open(cls, path: Path) -> Capitals:
        """Map saved ones into memory, read-only; raises as :meth:`WrittenForms.open`."""
        arrays, metadata = read_arrays(path, verify=True)
        if metadata.get("format") != FORMAT or metadata.get("format_version") != FORMAT_VERSION:
            raise CorruptTable(path, f"not terms in capitals, format version {FORMAT_VERSION}")
        try:
            sides = [Vocabulary(arrays[f"{name}_blob"], arrays[f"{name}_offsets"]) for name in ("source", "target")]  # type: ignore[arg-type]
        except KeyError as fault:
            raise CorruptTable(path, f"incomplete: {fault}") from fault
        return cls(*sides)


def capitals(source: str, glossaries: Iterable[tuple[Table, WrittenForms]]) -> Capitals:
    """The terms that at least one of some glossaries of one pair of languages has, and all of them in capitals alone.

    ``source`` is the language of the sources; a glossary may be from the other language.
    """
    found = []
    for table, written in glossaries:
        sides = list(zip((table.sources, table.targets), _capitals(table, written), strict=True))
        found.append(sides if table.source == source else sides[::-1])
    kept = []
    for side in (0, 1):
        members = [sides[side] for sides in found]
        terms = {term for _, own in members for term in own}
        every = (term for term in terms if all(term in own or term not in present for present, own in members))
        kept.append(Vocabulary.from_terms(sorted(every)))
    return Capitals(*kept)


def _capitals(table: Table, written: WrittenForms) -> tuple[set[str], set[str]]:
    sides = (
        (written.source, table.sources, table.by_source.indptr),
        (written.target, table.targets, table.by_target.indptr),
    )
    found: list[set[str]] = []
    for number, (side, terms, indptr) in enumerate(sides):
        entries = side.entries
        owners = table.target_ids[entries] if number else np.searchsorted(indptr, entries, side="right") - 1
        _, places, inverse = np.unique(side.records, return_index=True, return_inverse=True)
        own = np.fromiter(
            (is_capitals(side.text(place), terms[int(owners[place])]) for place in places.tolist()), bool, len(places)
        )
        counts = np.bincount(owners[own[inverse]], minlength=len(terms)) if len(own) else np.zeros(len(terms), int)
        every = np.flatnonzero((counts > 0) & (counts == np.diff(indptr)))
        found.append({terms[term] for term in every.tolist()})
    return found[0], found[1]
