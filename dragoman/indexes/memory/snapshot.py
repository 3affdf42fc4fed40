"""An in-memory index of one collection, and point-in-time snapshots of it, which searches read without Java.

Its postings are a copy of what Lucene holds, for collections that are small enough; larger ones are left to Lucene.
What is written stays unseen until :meth:`MemoryIndex.snapshot`, as Lucene's documents do until a refresh.
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

_LARGEST = 2_000_000
"""Tokens of an index that is kept in memory at most, replaced ones included; each takes 8 bytes, 16 when searched."""
_TOGETHER = 6_000_000
"""Tokens of all indexes in memory at most."""
_REPLACED = 1_024
"""Documents that may be replaced or deleted before their tokens are let go of."""
_BLOCKS = 64


class Budget:
    """Tokens in memory, of all indexes of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used = 0

    def take(self, tokens: int) -> bool:
        """Whether there was room for so many more; a negative number gives them back."""
        with self._lock:
            if tokens > 0 and self._used + tokens > _TOGETHER:
                return False
            self._used += tokens
            return True


_BUDGET = Budget()


class _Block(NamedTuple):
    """Documents of one language that were written together; slots count the documents of the index."""

    slots: NDArray[np.int32]
    """The slot of each token."""
    terms: NDArray[np.int32]


class IndexSnapshot:
    """The documents as they were at a refresh; their postings are made when first asked for."""

    def __init__(
        self,
        languages: dict[str, list[_Block]],
        keys: NDArray[np.int64],
        live: NDArray[np.bool_],
    ) -> None:
        self._languages = languages
        self._keys = keys
        self._live = live
        self._made: dict[str, Postings] = {}
        self._making = threading.Lock()

    def postings(self, language: str) -> Postings:
        """The postings of a language; empty where no document is in it."""
        found = self._made.get(language)
        if found is None:
            with self._making:
                found = self._made.get(language)
                if found is None:
                    found = self._made[language] = self._make(language)
        return found

    def _make(self, language: str) -> Postings:
        slots, terms = _joined(self._languages.get(language, []))
        live = self._live[slots]
        slots, terms = slots[live], terms[live]
        held = np.zeros(len(self._keys), dtype=np.bool_)
        held[slots] = True
        documents = (np.cumsum(held) - 1).astype(np.int32)[slots]
        return Postings(term_dictionary(language), self._keys[held], documents, terms)


class MemoryIndex:
    """Follows what is written to one index. One thread at a time."""

    def __init__(self) -> None:
        self._languages: dict[str, list[_Block]] = {}
        self._slots: dict[int, int] = {}
        self._keys: list[int] = []
        self._dead: list[int] = []
        self._tokens = 0
        self.complete = True
        """Whether every document is held; once it is not, none is."""

    def add(self, rows: Sequence[Row]) -> None:
        """Add documents; one whose key is already there is replaced."""
        if not self.complete:
            return
        slots = [self._slot(row.key) for row in rows]
        for language in {row.language for row in rows}:
            texts = [
                (slot, row.terms.split()) for slot, row in zip(slots, rows, strict=True) if row.language == language
            ]
            self._collect(language, [slot for slot, _ in texts], [terms for _, terms in texts])

    def remove(self, keys: Iterable[int]) -> None:
        """Delete documents; keys that are not there are ignored."""
        for key in keys:
            slot = self._slots.pop(key, None)
            if slot is not None:
                self._dead.append(slot)

    def snapshot(self) -> IndexSnapshot | None:
        """All documents so far, or None where they are too many for this memory."""
        if not self.complete:
            return None
        if len(self._dead) > max(_REPLACED, len(self._slots)):
            self._compact()
        for blocks in self._languages.values():
            if len(blocks) > _BLOCKS:
                blocks[:] = [_joined(blocks)]
        languages = {language: blocks.copy() for language, blocks in self._languages.items()}
        return IndexSnapshot(languages, np.array(self._keys, dtype=np.int64), self._live())

    def abandon(self) -> None:
        """Forget everything and collect no more."""
        self.complete = False
        _BUDGET.take(-self._tokens)
        self._tokens = 0
        self._languages, self._slots, self._keys, self._dead = {}, {}, [], []

    def _slot(self, key: int) -> int:
        self.remove([key])
        slot = self._slots[key] = len(self._keys)
        self._keys.append(key)
        return slot

    def _collect(self, language: str, slots: Sequence[int], texts: Sequence[Sequence[str]]) -> None:
        lengths = [len(text) for text in texts]
        tokens = sum(lengths)
        if not self.complete:
            return
        if max(self._tokens + tokens, len(self._keys)) > _LARGEST or not _BUDGET.take(tokens):
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
        """Let go of the tokens of documents that were deleted or replaced, and number the others anew."""
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
    nothing = np.zeros(0, dtype=np.int32)
    slots = np.concatenate([nothing, *[block.slots for block in blocks]])
    return _Block(slots, np.concatenate([nothing, *[block.terms for block in blocks]]))
