"""The states of an encoder, computed once for texts and kept on disk in bfloat16."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.padding import batches, pad_rows
from dragoman.backbone.products import autocast
from dragoman.files.atomic import atomic_folder
from dragoman.reasoning.layalign.model import EncoderStates

TOKENS_AT_ONCE = 4_096
STATES, ENDS = "states.bf16", "ends.npy"


class StateReader(Protocol):
    """What reads rows of ids (B, L), as encoders do: the states (B, L, width) of each layer."""

    pad: int

    def __call__(self, ids: Tensor, mask: Tensor) -> Sequence[Tensor]: ...


def read_texts(encoder: StateReader, rows: Sequence[Sequence[int]], device: torch.device) -> EncoderStates:
    """The states of rows of subwords, special tokens included, of all layers."""
    ids, mask = pad_rows(rows, device, encoder.pad)
    with torch.inference_mode():
        return EncoderStates(torch.stack(list(encoder(ids, mask))), mask)


class StoredStates:
    """The states of texts by their places in a folder."""

    def __init__(self, folder: Path, layers: int, width: int) -> None:
        self._ends = np.load(folder / ENDS)
        shape = (int(self._ends[-1]), layers, width)
        self._states = np.memmap(folder / STATES, np.int16, "r", shape=shape)

    def lengths(self) -> list[int]:
        """The subwords of each text, special tokens included."""
        return [int(length) for length in np.diff(self._ends, prepend=0)]

    def read_batch(self, places: Sequence[int], device: torch.device) -> EncoderStates:
        """The states of some texts, in one batch."""
        rows = [self._states[self._start(place) : int(self._ends[place])] for place in places]
        longest = max(map(len, rows))
        values = np.zeros((len(rows), longest, *self._states.shape[1:]), np.int16)
        mask = torch.zeros(len(rows), longest, dtype=torch.bool)
        for index, row in enumerate(rows):
            values[index, : len(row)] = row
            mask[index, : len(row)] = True
        states: Tensor = torch.from_numpy(values).view(torch.bfloat16).to(device).float()
        return EncoderStates(states.movedim(2, 0), mask.to(device))

    def _start(self, place: int) -> int:
        return int(self._ends[place - 1]) if place else 0


class FreshStates:
    """The states of texts, computed each time they are read: for encoders whose states would fill a disk."""

    def __init__(self, encoder: Encoder, texts: Sequence[str]) -> None:
        self._encoder = encoder
        self._rows = [encoder.frame(subwords.ids) for subwords in encoder.subwords(texts)]

    def lengths(self) -> list[int]:
        """The subwords of each text, special tokens included."""
        return [len(row) for row in self._rows]

    def read_batch(self, places: Sequence[int], device: torch.device) -> EncoderStates:
        """The states of some texts, in one batch."""
        computed = read_texts(self._encoder, [self._rows[place] for place in places], device)
        # What inference made cannot be learned from.
        return EncoderStates(computed.states.clone().float(), computed.mask.clone())


States = StoredStates | FreshStates


def stored_states(encoder: Encoder, texts: Sequence[str], folder: Path, device: torch.device) -> StoredStates:
    """The states of texts in a folder, which are computed unless they lie there: about 10 kB a subword of e5-small."""
    digest = hashlib.sha256(f"{encoder.name} {encoder.checksum} {encoder.tokenizer_checksum}".encode())
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    target = folder / digest.hexdigest()[:16]
    layers = encoder.layers + 1
    if not target.exists():
        rows = [encoder.frame(subwords.ids) for subwords in encoder.subwords(texts)]
        with atomic_folder(target) as unfinished:
            _compute(encoder, rows, unfinished, device)
    return StoredStates(target, layers, encoder.width)


def _compute(encoder: Encoder, rows: Sequence[Sequence[int]], folder: Path, device: torch.device) -> None:
    ends = np.cumsum([len(row) for row in rows])
    np.save(folder / ENDS, ends)
    shape = (int(ends[-1]), encoder.layers + 1, encoder.width)
    stored = np.memmap(folder / STATES, np.int16, "w+", shape=shape)
    for batch in batches([len(row) for row in rows], TOKENS_AT_ONCE):
        with autocast(device.type):
            encoded = read_texts(encoder, [rows[index] for index in batch], device)
        states = encoded.states.movedim(0, 2).to(torch.bfloat16).cpu()  # (B, L, layers, width)
        for text_states, index in zip(states, batch, strict=True):
            length = len(rows[index])
            stored[int(ends[index]) - length : int(ends[index])] = (
                text_states[:length].contiguous().view(torch.int16).numpy()
            )
    stored.flush()
