"""An in-memory index of one collection, and point-in-time snapshots of it for searches without Java.

The postings are a copy of Lucene's, for collections that are small enough; larger ones use Lucene alone. Changes
become visible with :meth:`MemoryIndex.snapshot`, as Lucene's do with a refresh.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.documents import Row
from dragoman.indexes.memory.postings import Postings
from dragoman.indexes.memory.term_ids import term_dictionary

__all__ = ["Budget", "IndexSnapshot", "MemoryIndex"]

_MAX_INDEX_TOKENS = 2_000_000
"""Maximal number of tokens of one index, including replaced ones; each takes 8 bytes, 16 when searched."""
_MAX_TOTAL_TOKENS = 6_000_000
"""Maximal number of tokens of all in-memory indexes together."""
_MAX_DELETED = 1_024
"""Replaced or deleted documents that are kept before a compaction frees their tokens."""
_BLOCKS = 64


class Budget:
    """The token budget of all in-memory indexes of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used = 0

    def take(self, tokens: int) -> bool:
        """Reserve tokens; False if the budget is exhausted. A negative number releases them."""
        with self._lock:
            if tokens > 0 and self._used + tokens > _MAX_TOTAL_TOKENS:
                return False
            self._used += tokens
            return True


_BUDGET = Budget()


class _Block(NamedTuple):
    """Documents of one language that were written together. A slot is a document's number in the index."""

    slots: NDArray[np.int32]
    """The slot of each token."""
    terms: NDArray[np.int32]


class IndexSnapshot:
    """A point-in-time snapshot of the documents. Postings are built on first use."""

    def __init__(
        self,
        languages: dict[str, list[_Block]],
        keys: NDArray[np.int64],
        live: NDArray[np.bool_],
    ) -> None:
        self._languages = languages
        self._keys = keys
        self._live = live
        self._postings: dict[str, Postings] = {}
        self._lock = threading.Lock()

    def postings(self, language: str) -> Postings:
        """The postings of a language; empty if no document is in it."""
        found = self._postings.get(language)
        if found is None:
            with self._lock:
                found = self._postings.get(language)
                if found is None:
                    found = self._postings[language] = self._build(language)
        return found

    def _build(self, language: str) -> Postings:
        slots, terms = _joined(self._languages.get(language, []))
        live = self._live[slots]
        slots, terms = slots[live], terms[live]
        held = np.zeros(len(self._keys), dtype=np.bool_)
        held[slots] = True
        documents = (np.cumsum(held) - 1).astype(np.int32)[slots]
        return Postings(term_dictionary(language), self._keys[held], documents, terms)


class MemoryIndex:
    """The in-memory copy of one index. Not thread-safe."""

    def __init__(self) -> None:
        self._languages: dict[str, list[_Block]] = {}
        self._slots: dict[int, int] = {}
        self._keys: list[int] = []
        self._dead: list[int] = []
        self._tokens = 0
        self.complete = True
        """Whether the index holds every document; otherwise it holds none."""

    def add(self, rows: Sequence[Row]) -> None:
        """Add documents; a document with a known key is replaced."""
        if not self.complete:
            return
        slots = [self._slot(row.key) for row in rows]
        for language in {row.language for row in rows}:
            texts = [
                (slot, row.terms.split()) for slot, row in zip(slots, rows, strict=True) if row.language == language
            ]
            self._add_block(language, [slot for slot, _ in texts], [terms for _, terms in texts])

    def remove(self, keys: Iterable[int]) -> None:
        """Delete documents; unknown keys are ignored."""
        for key in keys:
            slot = self._slots.pop(key, None)
            if slot is not None:
                self._dead.append(slot)

    def snapshot(self) -> IndexSnapshot | None:
        """A snapshot of all documents so far, or None if the index is too large for memory."""
        if not self.complete:
            return None
        if len(self._dead) > max(_MAX_DELETED, len(self._slots)):
            self._compact()
        for blocks in self._languages.values():
            if len(blocks) > _BLOCKS:
                blocks[:] = [_joined(blocks)]
        languages = {language: blocks.copy() for language, blocks in self._languages.items()}
        return IndexSnapshot(languages, np.array(self._keys, dtype=np.int64), self._live())

    def abandon(self) -> None:
        """Drop everything and ignore later documents."""
        self.complete = False
        _BUDGET.take(-self._tokens)
        self._tokens = 0
        self._languages, self._slots, self._keys, self._dead = {}, {}, [], []

    def _slot(self, key: int) -> int:
        self.remove([key])
        slot = self._slots[key] = len(self._keys)
        self._keys.append(key)
        return slot

    def _add_block(self, language: str, slots: Sequence[int], texts: Sequence[Sequence[str]]) -> None:
        lengths = [len(text) for text in texts]
        tokens = sum(lengths)
        if not self.complete:
            return
        if max(self._tokens + tokens, len(self._keys)) > _MAX_INDEX_TOKENS or not _BUDGET.take(tokens):
            self.abandon()
            return
        self._tokens += tokens
        terms = term_dictionary(language).extended([term for text in texts for term in text])
        if terms is None:
            self.abandon()
            return
        block = _Block(np.repeat(np.array(slots, dtype=np.int32), lengths), terms)
        self._languages.setdefault(language, []).append(block)

    def _compact(self) -> None:
        """Free the tokens of deleted and replaced documents, and renumber the others."""
        live = self._live()
        renumbered = (np.cumsum(live) - 1).astype(np.int32)
        for blocks in self._languages.values():
            block = _joined(blocks)
            kept = live[block.slots]
            terms = block.terms[kept]
            blocks[:] = [_Block(renumbered[block.slots[kept]], terms)]
            _BUDGET.take(len(terms) - len(kept))
            self._tokens += len(terms) - len(kept)
        self._keys = [key for key, kept in zip(self._keys, live.tolist(), strict=True) if kept]
        self._slots = {key: slot for slot, key in enumerate(self._keys)}
        self._dead = []

    def _live(self) -> NDArray[np.bool_]:
        live = np.ones(len(self._keys), dtype=np.bool_)
        live[self._dead] = False
        return live


def _joined(blocks: Sequence[_Block]) -> _Block:
    empty = np.zeros(0, dtype=np.int32)
    slots = np.concatenate([empty, *[block.slots for block in blocks]])
    return _Block(slots, np.concatenate([empty, *[block.terms for block in blocks]]))
