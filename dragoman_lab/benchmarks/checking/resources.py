"""What the checker asks for, as a service has it: analysis, tables of public dictionaries, vectors of the encoder."""

from __future__ import annotations

import gzip
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dragoman
from dragoman.checking import Knowledge
from dragoman.checking.knowledge import Vectors
from dragoman.indexes.analysis.common_words import common_words
from dragoman.indexes.analysis.japanese_names import list_name_forms
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.indexes.analysis.transliteration import romanise
from dragoman.indexes.dense.language_means import shipped_means
from dragoman.lexicon import Table, analyse_table, fold_term

__all__ = ["DictionaryView", "Encoding", "read_dictionary", "resources_of"]

ENCODER = "e5-small"


@dataclass(frozen=True)
class DictionaryView:
    """A table for the checker."""

    analysed: Table
    glossaries: frozenset[int] = frozenset()


class Encoding:
    """The encoder of the package with vectors that are kept in a file, so that nothing is encoded twice."""

    def __init__(self, cache: Path | None) -> None:
        self._path = cache
        self._means = shipped_means(ENCODER)
        self._vectors: dict[str, Vectors] = {}
        if cache is not None and cache.is_file():
            with np.load(cache) as stored:
                self._vectors = dict(zip(stored["keys"].tolist(), stored["vectors"].astype(np.float32), strict=True))

    def __call__(self, texts: Sequence[str], language: str) -> Vectors:
        """Unit vectors without the language's mean."""
        keys = [hashlib.sha1(text.encode()).hexdigest()[:20] for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        if missing:
            vectors = dragoman.encode(list(missing.values()), "passage", ENCODER)
            self._vectors |= dict(zip(missing, vectors, strict=True))
        return self._means.centre(np.stack([self._vectors[key] for key in keys]), language)

    def save(self) -> None:
        """Write what was encoded."""
        if self._path is not None and self._vectors:
            vectors = np.stack(list(self._vectors.values())).astype(np.float16)
            np.savez(self._path, keys=np.array(list(self._vectors)), vectors=vectors)


def resources_of(data: Path, language: str, encoding: Encoding | None, *, tables: bool) -> Knowledge:
    """What checks of translations from ``language`` into English have; ``tables`` are its dictionaries in ``data``."""
    table = read_dictionary(data, language) if tables else None
    return Knowledge(
        source=language,
        target="en",
        analysis=analysis,
        forward=None if table is None else DictionaryView(table),
        backward=None if table is None else DictionaryView(table.inverse()),
        romanise=romanise,
        name_forms=list_name_forms,
        common=common_words,
        encode=encoding,
    )


def read_dictionary(data: Path, language: str) -> Table | None:
    """The public dictionaries between a language and English as one table of index terms; None without one."""
    translations: dict[str, set[str]] = defaultdict(set)
    for name, inverse in ((f"{language}-en.tsv.gz", False), (f"en-{language}.tsv.gz", True)):
        path = data / "dictionaries" / name
        if not path.is_file():
            continue
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                cells = line.rstrip("\n").split("\t")[:2]
                first, second = cells[::-1] if inverse else cells
                source, target = fold_term(first, language), fold_term(second, "en")
                if source and target:
                    translations[source].add(target)
    if not translations:
        return None
    sources: dict[str, int] = defaultdict(int)
    for targets in translations.values():
        for target in targets:
            sources[target] += 1
    table = Table.from_entries(
        language,
        "en",
        (
            (source, target, 1 / len(targets), 1 / sources[target])
            for source, targets in translations.items()
            for target in sorted(targets)
        ),
    )
    return analyse_table(table, analysis(language), analysis("en"))
