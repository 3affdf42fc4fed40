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

from dragoman.backbone.constraints.steering import Steering
from dragoman.backbone.padding import batches
from dragoman.deadline import check
from dragoman.reasoning.layalign.model import EncoderStates, FusedCache, LayAlign, Prompt
from dragoman.reasoning.layalign.states import StateReader, read_texts

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
    """The encoder's subwords of the text, special tokens included; none where the LLM reads the text by itself."""
    prompt: Prompt
    limit: int
    """Most tokens of the answer."""
    temperature: float = 0.0
    """0 takes the likeliest token; else one is drawn."""
    seed: int = 0
    tokens: list[int] = field(default_factory=list)
    ended: bool = False
    """Whether the LLM ended its answer; if it did not, the limit cut it off."""
    steering: Steering | None = None
    """Leads the answer to phrases that it has to have; it is of this stream alone."""

    def __post_init__(self) -> None:
        self._noise: torch.Generator | None = None
        self._coming: list[int] = []

    @property
    def size(self) -> int:
        """The tokens of the prompt, the soft ones and their separator included, without those of the answer."""
        return len(self.ids) + bool(self.ids) + len(self.prompt.before) + len(self.prompt.after)

    @property
    def done(self) -> bool:
        """Whether nothing is left to generate."""
        return self.ended or len(self.tokens) >= self.limit

    def take(self, logits: Tensor, ends: Sequence[int]) -> None:
        """Choose the next token by its logits (vocabulary,); a stream that is led may go back to an earlier one."""
        if self._coming:
            self.tokens.append(self._coming.pop(0))
            return
        if self.steering is not None:
            logits = self.steering.adjust(self.tokens, logits)
        token = int(logits.argmax()) if self.temperature == 0 else self._draw(logits)
        if self.steering is not None:
            self.steering.note(self.tokens, logits, token)
        if token not in ends:
            self.tokens.append(token)
        elif self.steering is not None and (inserted := self.steering.insert(self.tokens)) is not None:
            place, phrase = inserted
            self.tokens[place:] = phrase[:1]
            self._coming = list(phrase[1:])
        else:
            self.ended = True

    def _draw(self, logits: Tensor) -> int:
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
        self.keys_values: list[tuple[Tensor, Tensor]] = []
        """Keys and values (rows, heads, places, head width) by layer."""
        self.places: list[int] = []
        """Of each row, the place of the token that is read."""
        self.prompts: list[int] = []
        """Of each row, the places of its prompt."""

    @property
    def rotated(self) -> bool:
        return self._rotated

    def update(self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: Any, **__: Any) -> Any:
        """Write one token of each row, and return the rows as far as the longest of them goes."""
        longest = max(self.places) + 1
        views = []
        for stored, new in zip(self.keys_values[layer_idx], (key_states, value_states), strict=True):
            stored[self._row_indices, :, self.at] = new[:, :, 0]
            views.append(stored[: len(self.places), :, :longest])
        return tuple(views)

    def step(self) -> Tensor:
        """Prepare a pass over one token of each row; what each may attend to, (rows, 1, 1, places)."""
        device = self.keys_values[0][0].device
        self.at = torch.tensor(self.places, device=device)
        self._row_indices = torch.arange(len(self.places), device=device)
        return (torch.arange(max(self.places) + 1, device=device) <= self.at[:, None])[:, None, None]

    def reserve(self, rows: int, places: int, like: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Have room for so many rows of so many places, and not much more, with heads and widths as those of `like`.

        Layer by layer, so that no more than one layer is there twice.
        """
        old = self.keys_values[0][0].shape if self.keys_values else (0, 0, 0, 0)
        places = -(-places // _STEP) * _STEP
        if rows <= old[0] and places <= old[2] < _SPARE * places:
            return
        count, held = len(self.places), min(places, old[2])
        if not self.keys_values:
            self.keys_values = [(pair[0][:0], pair[1][:0]) for pair in like]
        for layer, pair in enumerate(self.keys_values):
            resized = []
            for before, sample in zip(pair, like[layer], strict=True):
                room = sample.new_zeros(max(rows, old[0]), sample.shape[1], places, sample.shape[3])
                if old[0]:
                    room[:count, :, :held] = before[:count, :, :held]
                resized.append(room)
            self.keys_values[layer] = (resized[0], resized[1])


class Decoder:
    """Decodes streams together; used by one thread at a time."""

    def __init__(self, model: LayAlign, encoder: StateReader) -> None:
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
        rows, _, places, _ = self._cache.keys_values[0][0].shape if self._cache.keys_values else (0, 0, 0, 0)
        return rows, places

    @torch.inference_mode()
    def advance(self, streams: Sequence[Stream], steps: int) -> None:
        """Generate at most so many tokens of each stream, and drop the rows of streams that are not among them.

        A stream that lost its row goes on where it was when it is named again; what it has is read anew.
        """
        advancing = set(streams)
        self._keep([stream in advancing and not stream.done for stream in self._streams])
        new = [stream for stream in streams if not stream.done and stream not in set(self._streams)]
        if new:
            self._begin(new)
        for _ in range(steps - bool(new)):
            check()
            self._keep([not stream.done for stream in self._streams])
            if self._streams:
                self._step()
        self._keep([not stream.done for stream in self._streams])

    def _begin(self, new: Sequence[Stream]) -> None:
        """Read the prompts of streams and what they have of their answers, and choose the next tokens."""
        for places in batches([stream.size + len(stream.tokens) for stream in new], _TOKENS):
            batch = [new[place] for place in places]
            device = self._model.bridge.separator.device
            encoded = read_texts(self._encoder, [stream.ids for stream in batch], device)
            check()
            cache = self._model.cache(encoded)
            embeds, mask, _ = self._model.embed_rows(
                encoded, [replace(stream.prompt, answer=stream.tokens) for stream in batch]
            )
            states = self._model.states(embeds, mask, cache)
            lengths = mask.sum(1).tolist()
            self._store(batch, cache, encoded, lengths)
            logits = self._logits(torch.stack([row[length - 1] for row, length in zip(states, lengths, strict=True)]))
            for stream, row in zip(batch, logits, strict=True):
                stream.take(row, self._model.llm.ends)

    def _store(self, new: Sequence[Stream], cache: FusedCache, encoded: EncoderStates, lengths: Sequence[int]) -> None:
        """Put what was read of new streams into rows of their own."""
        cached: list[Any] = cache.layers
        layers: list[tuple[Tensor, Tensor]] = [(layer.keys, layer.values) for layer in cached]
        first = len(self._streams)
        room = max(stream.size + stream.limit for stream in (*self._streams, *new))
        self._cache.reserve(first + len(new), room, layers)
        for row, (stream, length) in enumerate(zip(new, lengths, strict=True)):
            for stored_layer, pair in zip(self._cache.keys_values, layers, strict=True):
                for stored, values in zip(stored_layer, pair, strict=True):
                    stored[first + row, :, :length] = values[row, :, :length]
            soft = len(stream.ids)
            fused = [(key[row, :, :soft], value[row, :, :soft]) for key, value in cache.fused]
            self._fused.append((fused, encoded.mask[row, :soft]))
            self._streams.append(stream)
            self._cache.places.append(length - 1)
            self._cache.prompts.append(length - len(stream.tokens))
        self._fuse()

    def _step(self) -> None:
        """Read the last token of each stream, and choose the next."""
        cache = self._cache
        cache.places = [
            prompt + len(stream.tokens) - 1 for prompt, stream in zip(cache.prompts, self._streams, strict=True)
        ]
        mask = cache.step()
        last = torch.tensor([[stream.tokens[-1]] for stream in self._streams], device=mask.device)
        outputs = self._model.llm.model.get_decoder()(
            input_ids=last, attention_mask=mask, position_ids=cache.at[:, None], past_key_values=cache, use_cache=True
        )
        for stream, row in zip(self._streams, self._logits(outputs.last_hidden_state[:, 0]), strict=True):
            stream.take(row, self._model.llm.ends)

    def _logits(self, states: Tensor) -> Tensor:
        model = self._model.llm.model
        logits: Tensor = model.get_output_embeddings()(states)
        cap = getattr(model.config, "final_logit_softcapping", None)  # of Gemma
        return logits if cap is None else cap * torch.tanh(logits / cap)

    def _keep(self, stays: Sequence[bool]) -> None:
        """Keep the rows that ``stays`` marks, and drop the others; the last rows move into their places."""
        if all(stays):
            return
        for row in reversed([index for index, stay in enumerate(stays) if not stay]):
            last = len(self._streams) - 1
            if row != last:
                for pair in self._cache.keys_values:
                    for stored in pair:
                        stored[row] = stored[last]
            rows: list[list[Any]] = [self._streams, self._fused, self._cache.places, self._cache.prompts]
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
            for row, (fused, row_mask) in enumerate(self._fused):
                fused[layer] = both[0][row, :, : len(row_mask)], both[1][row, :, : len(row_mask)]
