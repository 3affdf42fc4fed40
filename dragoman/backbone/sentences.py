"""Sentence encoding: the mean over all tokens of one layer, and the states of the tokens of an inner layer.

The layer is the model's: the last one of multilingual-e5, a middle one of ours (VECO, section 4.2: the 19th of 24).
An encoder of sentence-transformers pools as its files say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.backbone.encoder import Encoder, Pair
from dragoman.backbone.packing import pack_rows
from dragoman.backbone.padding import pad_rows
from dragoman.backbone.products import fastest
from dragoman.backbone.tokenizer import Encoded, cut_evenly
from dragoman.deadline import check

TOKENS_AT_ONCE = 1_024
"""Tokens of a pass: more are no faster, and whoever waits for the pass waits longer."""
UNRELATED = (
    "The ferry to the island leaves at seven every morning.",
    "She planted tomatoes behind the house.",
    "Das Konzert wurde wegen des Regens abgesagt.",
    "Il prezzo del grano è salito di nuovo.",
    "Les élèves ont visité un musée de la marine.",
    "Врач посоветовал ему больше спать.",
    "Mtoto alipoteza viatu vyake shuleni.",
    "昨天夜里电脑坏了。",
    "الحكومة تبني جسرا جديدا فوق النهر.",
    "Η ομάδα έχασε τον τελικό στα πέναλτι.",
)
"""Sentences that have nothing to do with each other."""
ONE_THREAD_TOKENS = 64


@dataclass(frozen=True)
class TokenStates:
    """The subwords of a text: ids, offsets, and unit states (subwords, width) of an inner layer."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    states: NDArray[np.float32]


@dataclass(frozen=True)
class _Window:
    """A part of a text, in a row of its own."""

    text: int
    ids: list[int]


class SentenceEncoder:
    """Encodes texts as unit vectors; translations of a text have similar vectors."""

    def __init__(self, encoder: Encoder, layer: int | None = None, dtype: torch.dtype | None = None) -> None:
        """`dtype` is the precision, by default the fastest on this machine.

        Raises:
            ValueError: if the encoder has no such layer.
        """
        self.encoder = encoder
        self.layer = encoder.sentence_layer if layer is None else layer
        if not 0 <= self.layer <= encoder.layers:
            raise ValueError(f"layer {self.layer} is not one of {encoder.name}'s 0 to {encoder.layers}")
        self.name = f"{encoder.name}@{self.layer}"
        self.pooling = encoder.pooling
        self.width = self.pooling.width(encoder.width)
        self.device = next(encoder.parameters()).device
        dtype = dtype or fastest(self.device.type, encoder.precisions)
        self._fast = encoder.for_inference(dtype, whole=True)
        used = dtype if self._fast is not None else next(encoder.parameters()).dtype
        self.precision = str(used).removeprefix("torch.")
        """The number format it computes in, such as `bfloat16`."""
        self._prefixes = {kind: encoder.subwords([text])[0].ids for kind, text in encoder.prefixes.items()}
        self._begin = encoder.frame([_SENTINEL]).index(_SENTINEL)
        if self.pooling.head is not None:
            self.pooling.head.to(self.device)

    @cached_property
    def unrelated_cosine(self) -> float:
        """The cosine of unrelated sentences: the model's, or the mean over :data:`UNRELATED`, queries and passages.

        At most .99, as a share above it is computed.
        """
        if self.encoder.unrelated_cosine is not None:
            return self.encoder.unrelated_cosine
        cosines = self.encode(UNRELATED, "query") @ self.encode(UNRELATED, "passage").T
        return min(0.99, float(cosines[~np.eye(len(UNRELATED), dtype=bool)].mean()))

    def surprisals(self) -> NDArray[np.float64] | None:
        """-log p of each subword; None if the vocabulary has no probabilities."""
        return self.encoder.surprisals()

    def release(self) -> None:
        """Free the encoder's weights, of which inference has copies; the encoder computes nothing else from then on."""
        if self._fast is not None:
            self.encoder.to("meta")

    def encode(self, texts: Sequence[str], kind: str = "passage", tokens: int = TOKENS_AT_ONCE) -> NDArray[np.float32]:
        """Unit vectors (texts, width) of `kind` `query` or `passage`, in passes of at most `tokens` subwords.

        A text without tokens is encoded from the prefix and the special tokens alone. A text that is too long for the
        model is split into windows of equal length, and the mean is over all their tokens. Except for rounding, a
        vector does not depend on other texts. Of an encoder that takes one token's state, it is the mean over windows.
        """
        return self._encode(*self._read(texts, kind)[1:], tokens, ())[0]

    def embed(self, texts: Sequence[str], kind: str = "passage") -> tuple[NDArray[np.float32], list[int]]:
        """Vectors (texts, width), of the length that the encoder's files say, and each text's tokens, all of them."""
        _, ids, prefixes = self._read(texts, kind)
        vectors, _ = self._encode(ids, prefixes, TOKENS_AT_ONCE, (), unit=self.pooling.normalized)
        return vectors, [len(self.encoder.frame([*before, *text])) for before, text in zip(prefixes, ids, strict=True)]

    def _read(self, texts: Sequence[str], kind: str) -> tuple[list[Encoded], list[list[int]], list[list[int]]]:
        """The subwords of texts, their ids, and the ids of what precedes each."""
        prompt = self.encoder.prefixes.get(kind, "")
        if not (self.pooling.joint_prompts and prompt):
            encoded = self.encoder.subwords(texts)
            return encoded, [text.ids for text in encoded], [self._prefixes.get(kind, [])] * len(texts)
        encoded, prefixes = [], []
        for whole in self.encoder.subwords([prompt + text for text in texts]):
            first = next((i for i, (_, end) in enumerate(whole.offsets) if end > len(prompt)), len(whole.ids))
            offsets = [(max(0, start - len(prompt)), end - len(prompt)) for start, end in whole.offsets[first:]]
            encoded.append(Encoded(whole.ids[first:], offsets, whole.words[first:]))
            prefixes.append(whole.ids[:first])
        return encoded, [text.ids for text in encoded], prefixes

    def encode_passages(
        self,
        texts: Sequence[str],
        spans: Sequence[Sequence[tuple[int, int]]],
        layer: int | None = None,
        tokens: int = TOKENS_AT_ONCE,
    ) -> tuple[NDArray[np.float32], list[NDArray[np.float32]], list[NDArray[np.float32]]]:
        """The vectors of passages as :meth:`encode`, and from the same passes what they consist of.

        For each text, unit vectors (spans, width) of its parts, and unit states (subwords, width) of `layer`, none
        without one. The vector of a part `text[start:end]` is the mean over its own subwords, which have seen the whole
        passage ("late chunking", Günther et al. 2024, arXiv:2409.04701). A part without subwords has the passage's
        vector. Where one token's state is the vector, each part is encoded by itself.

        Raises:
            ValueError: if `layer` is above that of the vectors.
        """
        subwords, ids, prefixes = self._read(texts, "passage")
        layers = {self.layer} if layer is None else {self.layer, self._check_layer(layer)}
        vectors, states = self._encode(ids, prefixes, tokens, sorted(layers))
        if self.pooling.mode == "mean":
            of_texts = zip(vectors, subwords, states[self.layer], spans, strict=True)
            parts = [self._means_of_parts(*of_text) for of_text in of_texts]
        else:
            alone = [text[start:end] for text, of_text in zip(texts, spans, strict=True) for start, end in of_text]
            counts = np.cumsum([len(of_text) for of_text in spans])
            parts = np.split(self.encode(alone, "passage", tokens), counts[:-1]) if len(spans) else []
        none = np.zeros((0, self.encoder.width), np.float32)
        token_states = [none] * len(texts) if layer is None else [_unit(of_text) for of_text in states[layer]]
        return vectors, parts, token_states

    def _means_of_parts(
        self, vector: NDArray[np.float32], text: Encoded, states: NDArray[np.float32], spans: Sequence[tuple[int, int]]
    ) -> NDArray[np.float32]:
        """Unit vectors (spans, width) of the parts of a text with the `vector` and the states of its subwords."""
        starts = np.array([start for start, _ in text.offsets], np.int64)
        rows = np.empty((len(spans), self.width), np.float32)
        for row, (start, end) in zip(rows, spans, strict=True):
            inside = states[(starts >= start) & (starts < end)]
            if not len(inside):
                row[:] = vector
                continue
            mean = inside.mean(0)
            if self.pooling.head is not None:
                mean = self._finish(mean[None])[0]
            row[:] = mean / max(float(np.linalg.norm(mean)), 1e-12)
        return rows

    def encode_tokens(
        self, texts: Sequence[str], kind: str, layer: int, tokens: int = TOKENS_AT_ONCE
    ) -> tuple[NDArray[np.float32], list[TokenStates]]:
        """The vectors of :meth:`encode`, and from the same passes the states of each text's own subwords.

        Raises:
            ValueError: if `layer` is above that of the vectors.
        """
        subwords, ids, prefixes = self._read(texts, kind)
        vectors, states = self._encode(ids, prefixes, tokens, (self._check_layer(layer),))
        return vectors, [
            TokenStates(text.ids, text.offsets, _unit(text_states))
            for text, text_states in zip(subwords, states[layer], strict=True)
        ]

    def states(self, texts: Sequence[str], kind: str, layer: int, tokens: int = TOKENS_AT_ONCE) -> list[TokenStates]:
        """As :meth:`encode_tokens`, without vectors: layers above `layer` are not computed.

        Raises:
            ValueError: if `layer` is above that of the vectors.
        """
        subwords, ids, prefixes = self._read(texts, kind)
        _, states = self._encode(ids, prefixes, tokens, (self._check_layer(layer),), vectors=False)
        return [
            TokenStates(text.ids, text.offsets, text_states)
            for text, text_states in zip(subwords, map(_unit, states[layer]), strict=True)
        ]

    def encode_ids(
        self, texts: Sequence[Sequence[int]], kind: str, layer: int, tokens: int = TOKENS_AT_ONCE
    ) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
        """As :meth:`encode_tokens`, of texts that are given as subwords: vectors, and unit states of each text.

        Raises:
            ValueError: if `layer` is above that of the vectors.
        """
        prefixes = [self._prefixes.get(kind, [])] * len(texts)
        vectors, states = self._encode(texts, prefixes, tokens, (self._check_layer(layer),))
        return vectors, [_unit(text_states) for text_states in states[layer]]

    def _check_layer(self, layer: int) -> int:
        if not 0 <= layer <= self.layer:
            raise ValueError(f"layer {layer} is not one of 0 to {self.layer}")
        return layer

    def _encode(
        self,
        texts: Sequence[Sequence[int]],
        prefixes: Sequence[Sequence[int]],
        tokens: int,
        layers: Sequence[int],
        *,
        vectors: bool = True,
        unit: bool = True,
    ) -> tuple[NDArray[np.float32], dict[int, list[NDArray[np.float32]]]]:
        """Vectors (texts, width), or 0, and of each of `layers` the states of each text's own subwords.

        The vectors have length 1, or with `unit` false that which the encoder's files say.
        """
        windows = [
            _Window(index, part)
            for index, (text, prefix) in enumerate(zip(texts, prefixes, strict=True))
            for part in cut_evenly(text, self.encoder.room - len(prefix))
        ]
        rows = [self.encoder.frame([*prefixes[window.text], *window.ids]) for window in windows]
        starts = [self._begin + len(prefixes[window.text]) for window in windows]
        sums = np.zeros((len(texts), self.encoder.width), np.float32)
        counts = np.zeros((len(texts), 1), np.float32)
        parts: dict[int, dict[int, NDArray[np.float32]]] = {layer: {} for layer in layers}
        with torch.inference_mode(), _threads(sum(map(len, rows))):
            for batch in _batches([len(row) for row in rows], tokens):
                computed = {*layers, self.layer} if vectors else {*layers}
                states_of = self._states([rows[index] for index in batch], sorted(computed))
                if vectors:
                    for index, states in zip(batch, states_of[self.layer], strict=True):
                        summed, count = self.pooling.sum_states(states, starts[index])
                        sums[windows[index].text] += summed.cpu().numpy()
                        counts[windows[index].text] += count
                for layer in layers:
                    for index, states in zip(batch, states_of[layer], strict=True):
                        subword_states = states[starts[index] : starts[index] + len(windows[index].ids)]
                        parts[layer][index] = subword_states.float().cpu().numpy()
        if self.pooling.head is not None or not unit:
            sums = self._finish((sums / np.maximum(counts, 1)).astype(np.float32))
        if unit:
            sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        joined: dict[int, list[NDArray[np.float32]]] = {}
        for layer in layers:
            of_texts: list[list[NDArray[np.float32]]] = [[] for _ in texts]
            for index, window in enumerate(windows):
                of_texts[window.text].append(parts[layer][index])
            joined[layer] = [np.concatenate(pieces) for pieces in of_texts]
        return sums, joined

    def _finish(self, pooled: NDArray[np.float32]) -> NDArray[np.float32]:
        """Vectors (texts, width) of pooled states (texts, W), as the encoder's files say."""
        vectors: NDArray[np.float32] = self.pooling.finish(torch.from_numpy(pooled).to(self.device)).cpu().numpy()
        return vectors

    def _states(self, rows: list[list[int]], layers: Sequence[int]) -> dict[int, Sequence[Tensor]]:
        """The states (length, width) of each row, by layer."""
        lengths = [len(row) for row in rows]
        if self._fast is None:
            ids, mask = pad_rows(rows, self.device, self.encoder.pad)
            states = self.encoder(ids, mask)
            return {layer: [states[layer][row, :length] for row, length in enumerate(lengths)] for layer in layers}
        tokens = pack_rows([Pair(ids, 0, 0) for ids in rows], self.encoder.pad, self.device)
        packed_states = self._fast.states(tokens, *layers)
        return {layer: torch.split(x[: sum(lengths)], lengths) for layer, x in zip(layers, packed_states, strict=True)}


@contextmanager
def _threads(tokens: int) -> Iterator[None]:
    """Compute few tokens on one thread: on a busy machine they cost less than threads that wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if tokens <= ONE_THREAD_TOKENS else threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _unit(states: NDArray[np.float32]) -> NDArray[np.float32]:
    units: NDArray[np.float32] = states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-12)
    return units


_SENTINEL = -1
"""Not the id of any subword."""


def _batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Indices of rows by ascending length, in batches of at most `tokens` tokens, but at least one row."""
    batch: list[int] = []
    size = 0
    for index in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        if batch and size + lengths[index] > tokens:
            yield batch
            check()
            batch, size = [], 0
        batch.append(index)
        size += lengths[index]
    if batch:
        yield batch
