"""Continuous batching: answers of many requests are decoded together, and one may begin or end at any step.

Each request has a row of preallocated keys and values and a position of its own in it. So no row is padded to the
longest, and a request's answer does not depend on which others are decoded with it (Yu et al. 2022, Orca).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.padding import batches
from dragoman.deadline import check
from dragoman.reasoning.layalign.model import FusedCache, LayAlign, Prompt, Read
from dragoman.reasoning.layalign.states import read_texts

_STEP = 64
"""Rows grow by so many places at a time."""
_SPARE = 2
"""Rows that are so many times as long as need be are made shorter."""
_TOKENS = 256
"""Most tokens of prompts that are read at once."""


@dataclass(eq=False)
class Stream:
    """An answer that is being generated."""

    ids: Sequence[int]
    """The encoder's subwords of the text, special tokens included."""
    prompt: Prompt
    limit: int
    """Most tokens of the answer."""
    temperature: float = 0.0
    """0 takes the likeliest token; else one is drawn."""
    seed: int = 0
    tokens: list[int] = field(default_factory=list)
    ended: bool = False
    """Whether the LLM ended its answer; if it did not, the limit cut it off."""

    def __post_init__(self) -> None:
        self._noise: torch.Generator | None = None

    @property
    def size(self) -> int:
        """The tokens of the prompt, the soft ones and the separator included, without those of the answer."""
        return len(self.ids) + 1 + len(self.prompt.before) + len(self.prompt.after)

    @property
    def done(self) -> bool:
        """Whether nothing is left to generate."""
        return self.ended or len(self.tokens) >= self.limit

    def take(self, logits: Tensor, ends: Sequence[int]) -> None:
        """Choose the next token by its logits (vocabulary,)."""
        token = int(logits.argmax()) if self.temperature == 0 else self._drawn(logits)
        if token in ends:
            self.ended = True
        else:
            self.tokens.append(token)

    def _drawn(self, logits: Tensor) -> int:
        if self._noise is None:
            self._noise = torch.Generator().manual_seed(self.seed)
        logits = logits.double().cpu()
        chances = ((logits - logits.max()) / self.temperature).softmax(-1)  # divided first, it could be no number
        return int(torch.multinomial(chances, 1, generator=self._noise))


class RowsCache(FusedCache):
    """Keys and values of rows that are at places of their own."""

    def __init__(self, model: LayAlign) -> None:
        super().__init__(model.llm.model.config, [], model.bridge.separator.new_zeros(0), None)
        self._rotated = model.bridge.config.compat
        self.own: list[tuple[Tensor, Tensor]] = []
        """Keys and values (rows, heads, places, head width) by layer."""
        self.places: list[int] = []
        """Of each row, the place of the token that is read."""

    @property
    def rotated(self) -> bool:
        return self._rotated

    def update(self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: Any, **__: Any) -> Any:
        """Write one token of each row, and return the rows as far as the longest of them goes."""
        longest = max(self.places) + 1
        found = []
        for stored, new in zip(self.own[layer_idx], (key_states, value_states), strict=True):
            stored[self._numbers, :, self.at] = new[:, :, 0]
            found.append(stored[: len(self.places), :, :longest])
        return tuple(found)

    def step(self) -> Tensor:
        """Prepare a pass over one token of each row; what each may attend to, (rows, 1, 1, places)."""
        device = self.own[0][0].device
        self.at = torch.tensor(self.places, device=device)
        self._numbers = torch.arange(len(self.places), device=device)
        return (torch.arange(max(self.places) + 1, device=device) <= self.at[:, None])[:, None, None]

    def reserve(self, rows: int, places: int, like: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Have room for so many rows of so many places, and not much more, with heads and widths as those of `like`.

        Layer by layer, so that no more than one layer is there twice.
        """
        old = self.own[0][0].shape if self.own else (0, 0, 0, 0)
        places = -(-places // _STEP) * _STEP
        if rows <= old[0] and places <= old[2] < _SPARE * places:
            return
        kept, held = len(self.places), min(places, old[2])
        if not self.own:
            self.own = [(pair[0][:0], pair[1][:0]) for pair in like]
        for layer, pair in enumerate(self.own):
            made = []
            for before, one in zip(pair, like[layer], strict=True):
                room = one.new_zeros(max(rows, old[0]), one.shape[1], places, one.shape[3])
                if old[0]:
                    room[:kept, :, :held] = before[:kept, :, :held]
                made.append(room)
            self.own[layer] = (made[0], made[1])


class Decoder:
    """Decodes streams together; used by one thread at a time."""

    def __init__(self, model: LayAlign, encoder: Encoder) -> None:
        self._model, self._encoder = model, encoder
        self._streams: list[Stream] = []
        self._fused: list[tuple[list[tuple[Tensor, Tensor]], Tensor]] = []
        self._cache = RowsCache(model)

    @property
    def decoding(self) -> int:
        """The streams that have a row."""
        return len(self._streams)

    @property
    def room(self) -> tuple[int, int]:
        """Rows, and places of each, that there is room for."""
        rows, _, places, _ = self._cache.own[0][0].shape if self._cache.own else (0, 0, 0, 0)
        return rows, places

    @torch.inference_mode()
    def advance(self, streams: Sequence[Stream], steps: int) -> None:
        """Generate at most so many tokens of each stream, and drop the rows of streams that are not among them.

        A stream that lost its row goes on where it was when it is named again; what it has is read anew.
        """
        known = set(streams)
        self._keep([one in known and not one.done for one in self._streams])
        new = [one for one in streams if not one.done and one not in set(self._streams)]
        if new:
            self._begin(new)
        for _ in range(steps - bool(new)):
            check()
            self._keep([not one.done for one in self._streams])
            if self._streams:
                self._step()
        self._keep([not one.done for one in self._streams])

    def _begin(self, new: Sequence[Stream]) -> None:
        """Read the prompts of streams and what they have of their answers, and choose the next tokens."""
        for places in batches([one.size + len(one.tokens) for one in new], _TOKENS):
            some = [new[place] for place in places]
            device = self._model.bridge.separator.device
            read = read_texts(self._encoder, [one.ids for one in some], device)
            check()
            cache = self._model.cache(read)
            embeds, mask, _ = self._model.embedded(read, [replace(one.prompt, answer=one.tokens) for one in some])
            states = self._model.states(embeds, mask, cache)
            lengths = mask.sum(1).tolist()
            self._store(some, cache, read, lengths)
            logits = self._logits(torch.stack([row[length - 1] for row, length in zip(states, lengths, strict=True)]))
            for one, row in zip(some, logits, strict=True):
                one.take(row, self._model.llm.ends)

    def _store(self, new: Sequence[Stream], cache: FusedCache, read: Read, lengths: Sequence[int]) -> None:
        """Put what was read of new streams into rows of their own."""
        kept: list[Any] = cache.layers
        layers: list[tuple[Tensor, Tensor]] = [(layer.keys, layer.values) for layer in kept]
        first = len(self._streams)
        room = max(one.size + one.limit for one in (*self._streams, *new))
        self._cache.reserve(first + len(new), room, layers)
        for number, (one, length) in enumerate(zip(new, lengths, strict=True)):
            for own, pair in zip(self._cache.own, layers, strict=True):
                for stored, values in zip(own, pair, strict=True):
                    stored[first + number, :, :length] = values[number, :, :length]
            soft = len(one.ids)
            fused = [(key[number, :, :soft], value[number, :, :soft]) for key, value in cache.fused]
            self._fused.append((fused, read.mask[number, :soft]))
            self._streams.append(one)
            self._cache.places.append(length - 1)
        self._fuse()

    def _step(self) -> None:
        """Read the last token of each stream, and choose the next."""
        cache = self._cache
        cache.places = [place + 1 for place in cache.places]
        mask = cache.step()
        last = torch.tensor([[one.tokens[-1]] for one in self._streams], device=mask.device)
        found = self._model.llm.model.get_decoder()(
            input_ids=last, attention_mask=mask, position_ids=cache.at[:, None], past_key_values=cache, use_cache=True
        )
        for one, row in zip(self._streams, self._logits(found.last_hidden_state[:, 0]), strict=True):
            one.take(row, self._model.llm.ends)

    def _logits(self, states: Tensor) -> Tensor:
        found: Tensor = self._model.llm.model.get_output_embeddings()(states)
        return found

    def _keep(self, wanted: Sequence[bool]) -> None:
        """Drop rows; the last ones move into their places."""
        if all(wanted):
            return
        for row in reversed([number for number, one in enumerate(wanted) if not one]):
            last = len(self._streams) - 1
            if row != last:
                for pair in self._cache.own:
                    for stored in pair:
                        stored[row] = stored[last]
            rows: list[list[Any]] = [self._streams, self._fused, self._cache.places]
            for held in rows:
                held[row] = held[last]
                held.pop()
        self._fuse()

    def _fuse(self) -> None:
        """Put what the rows attend to of the encoder into one batch, and keep of each row only its part of that."""
        if not self._streams:
            self._cache = RowsCache(self._model)
            return
        if not self._fused[0][0]:
            return
        pad = nn.utils.rnn.pad_sequence
        self._cache.gates = self._model.bridge.gates
        self._cache.fused_mask = pad([mask for _, mask in self._fused], batch_first=True)
        self._cache.gates, self._cache.fused = self._model.bridge.gates, []
        for layer in range(len(self._fused[0][0])):
            both = [
                pad([fused[layer][part].transpose(0, 1) for fused, _ in self._fused], batch_first=True).transpose(1, 2)
                for part in (0, 1)
            ]
            self._cache.fused.append((both[0], both[1]))
            for number, (fused, own) in enumerate(self._fused):
                fused[layer] = both[0][number, :, : len(own)], both[1][number, :, : len(own)]
