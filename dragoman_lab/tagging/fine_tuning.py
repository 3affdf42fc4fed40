"""A pretrained encoder that learns with the tagger above it; its positions may stay as they are (Liu et al. 2020, 3.3).

Fine-tuning in one language bends the table of positions towards the order of that language's words. Frozen, it stays
what it was for all languages. Word embeddings are never trained: most of them are of other languages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.padding import batches, pad_rows
from dragoman.tagging.tagger import TaggerModel
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.tagging.sentences import Sentence, SentencesError

TOKENS_AT_ONCE = 4_096
KIND = "passage"
"""The kind of text as which `word_states` reads sentences."""


@dataclass(frozen=True)
class SubwordBatch:
    """Sentences as subwords, and the numbers of their words' labels."""

    rows: list[list[int]]
    words: list[list[tuple[int, int]]]
    """The first subword of each word and the one after its last, counted in the whole row."""
    labels: list[list[int]]

    @property
    def tokens(self) -> int:
        return sum(map(len, self.labels))


class SubwordSentences:
    """Labelled sentences as the subwords of an encoder, special tokens and prefix included."""

    def __init__(self, encoder: Encoder, sentences: Sequence[Sentence]) -> None:
        """
        Raises:
            SentencesError: if one is longer than the encoder reads.
        """
        self.sentences = list(sentences)
        prefix = encoder.subwords([encoder.prefixes[KIND]])[0].ids if KIND in encoder.prefixes else []
        before = encoder.frame([_SENTINEL]).index(_SENTINEL) + len(prefix)
        self.rows: list[list[int]] = []
        self.words: list[list[tuple[int, int]]] = []
        for sentence, encoded in zip(
            sentences, encoder.subwords([sentence.text for sentence in sentences]), strict=True
        ):
            row = encoder.frame([*prefix, *encoded.ids])
            if len(row) > encoder.max_length:
                raise SentencesError(f"a sentence is longer than {encoder.name} reads: {sentence.text[:60]}")
            self.rows.append(row)
            self.words.append([(a + before, b + before) for a, b in _inside(sentence.offsets, encoded.offsets)])

    def batch(self, places: Sequence[int], numbers: Mapping[str, int]) -> SubwordBatch:
        """Some sentences, labels by their numbers."""
        labels = [[numbers[label] for label in self.sentences[place].labels] for place in places]
        return SubwordBatch([self.rows[place] for place in places], [self.words[place] for place in places], labels)


class FineTunedTagger(nn.Module):
    """A tagger with what it changes of the encoder below it, which it does not own."""

    def __init__(self, encoder: Encoder, tagger: TaggerModel, layer: int, *, positions: bool) -> None:
        """The encoder's weights up to `layer` learn, those of positions only if told to.

        Raises:
            ConfigError: positions are to stay, and the encoder has no table of them.
        """
        super().__init__()
        self.tagger, self._layer = tagger, layer
        self._encoder = (encoder,)  # in a tuple, its weights are no part of this module
        fixed = set(map(id, _word_tables(encoder)))
        if not positions:
            fixed.add(id(position_table(encoder)[0]))
        used = [(name, parameter) for name, parameter in _used_parameters(encoder, layer) if id(parameter) not in fixed]
        encoder.requires_grad_(False).eval()
        self.pretrained = nn.ParameterDict(
            {name.replace(".", "/"): parameter.requires_grad_() for name, parameter in used}
        )

    @property
    def encoder(self) -> Encoder:
        """The encoder below."""
        return self._encoder[0]

    def loss(self, batch: SubwordBatch) -> Tensor:
        """-log p of the labels, a word."""
        states, mask = self._words(batch.rows, batch.words)
        labels = pad_sequence([torch.tensor(row) for row in batch.labels], batch_first=True).to(mask.device)
        return self.tagger.loss(states, labels, mask)

    @torch.inference_mode()
    def tag(self, sentences: SubwordSentences, labels: Sequence[str]) -> list[list[str]]:
        """The likeliest labels of sentences."""
        best: list[list[str]] = [[] for _ in sentences.rows]
        for batch in batches([len(row) for row in sentences.rows], TOKENS_AT_ONCE):
            states, mask = self._words(
                [sentences.rows[place] for place in batch], [sentences.words[place] for place in batch]
            )
            for place, row in zip(batch, self.tagger.best(states, mask)[0].tolist(), strict=True):
                best[place] = [labels[label] for label in row[: len(sentences.words[place])]]
        return best

    def changed_weights(self) -> dict[str, Tensor]:
        """The encoder's weights that have learned, by their names in it."""
        return {name.replace("/", "."): weight.detach() for name, weight in self.pretrained.items()}

    def _words(self, rows: Sequence[list[int]], words: Sequence[list[tuple[int, int]]]) -> tuple[Tensor, Tensor]:
        """The states (batch, words, width) that `word_states` has, and their mask (batch, words)."""
        encoder = self.encoder
        device = self.tagger.output.weight.device
        ids, mask = pad_rows(rows, device, encoder.pad)
        states = F.normalize(encoder(ids, mask)[self._layer].float(), dim=-1) * encoder.width**0.5
        vectors = []
        for row_states, places in zip(states, words, strict=True):
            sums = torch.cat([row_states.new_zeros(1, row_states.shape[1]), row_states.cumsum(0)])
            starts, ends = torch.tensor(places, device=device).reshape(-1, 2).unbind(1)
            vectors.append((sums[ends] - sums[starts]) / (ends - starts).clamp(min=1)[:, None])
        lengths = torch.tensor([len(places) for places in words], device=device)
        word_mask = torch.arange(int(lengths.max()), device=device) < lengths[:, None]
        return pad_sequence(vectors, batch_first=True), word_mask


_SENTINEL = -1


def position_table(encoder: Encoder) -> tuple[Tensor, int]:
    """The table of learned positions (longest, width) of an encoder with BERT's layers, and the row of the first.

    Raises:
        ConfigError: it has none.
    """
    model: Any = getattr(encoder, "model", None)
    table = getattr(model, "positions", None)
    if isinstance(table, nn.Embedding):
        return table.weight, int(model.config.position_offset)
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    if isinstance(table, nn.Embedding):
        return table.weight, 0 if table.padding_idx is None else table.padding_idx + 1
    raise ConfigError(f"{encoder.name} has no table of positions")


def _inside(words: Sequence[tuple[int, int]], subwords: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The first subword of each word and the one after its last."""
    for start, end in words:
        inside = [index for index, (a, b) in enumerate(subwords) if a < end and b > start]
        yield (inside[0], inside[-1] + 1) if inside else (0, 0)


def _word_tables(encoder: Encoder) -> list[Tensor]:
    """The embeddings of the vocabulary; none where they cannot be trained anyway."""
    model: Any = getattr(encoder, "model", None)
    layers = [getattr(model, "tokens", None), getattr(model, "get_input_embeddings", lambda: None)()]
    return [table.weight for table in layers if isinstance(table, nn.Embedding)]


def _used_parameters(encoder: Encoder, layer: int) -> list[tuple[str, nn.Parameter]]:
    """The parameters that the states of a layer depend on."""
    encoder.requires_grad_(True)
    ids, mask = pad_rows([encoder.frame([encoder.pad])], next(encoder.parameters()).device, encoder.pad)
    (encoder(ids, mask)[layer] ** 2).sum().backward()
    parameters = [(name, parameter) for name, parameter in encoder.named_parameters() if parameter.grad is not None]
    encoder.zero_grad(set_to_none=True)
    return parameters
