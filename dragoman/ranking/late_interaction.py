"""Late interaction: matches query words with a document by the table or by the similarity of states.

    match = sum over i of r_i m_i / sum over i of r_i
    m_i = max(LINKED, maxsim_i) if the table links word i to the document, else maxsim_i

maxsim_i is the mean over the subwords of word i of max over the document's subwords j of cos(h, h_j), with an encoder's
states h of query and document, encoded separately: ColBERT's MaxSim (Khattab and Zaharia 2020) without a
projection. r_i is the rarity of the word: the sum of -log p of its subwords, with p from the vocabulary's training
text; if the vocabulary has no probabilities, r_i is the number of subwords.
Shapes: D documents, Q subwords of a query, N its words, W width.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import Encoder, Pair
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.packing import packed
from dragoman.backbone.padding import batches, padded
from dragoman.backbone.weights import shipped_names
from dragoman.ranking.about import Floats, LateInteractionAbout, MartAbout
from dragoman.ranking.attention import Ints
from dragoman.ranking.structured_query import word_surprisals, words_read

if TYPE_CHECKING:
    from dragoman.ranking.passages import Passage

LINKED = 0.8
"""The similarity of linked words: above most cosines, below that of the same word in the same context."""
LEAST_LINK = 0.05
"""Links with a lower T are ignored."""
LEAST_COSINE = -1.0
"""The similarity to a document without subwords."""
SENTINEL = -1
"""Not the id of any subword."""

Ids = tuple[int, ...]


class LateInteraction:
    """Matches of documents, given as their passages, by an encoder that encodes queries and passages separately."""

    def __init__(self, encoder: Encoder, about: LateInteractionAbout) -> None:
        """
        Raises:
            ValueError: if the encoder has no such layer, or it is the last one.
        """
        if not 0 <= about.layer < encoder.layers:
            raise ValueError(f"late_interaction: layer {about.layer} is not one of 0 to {encoder.layers - 1}")
        self._encoder, self.about = encoder, about
        self._fast = encoder.for_inference(torch.float32)
        self._begin = encoder.framed([SENTINEL]).index(SENTINEL)
        self._surprisals = encoder.surprisals()

    def added(self, documents: Sequence[Sequence[Passage]], tokens: int) -> list[float]:
        """The addition to the score of each document (D,), of any queries, in batches of at most `tokens` subwords."""
        return [self.about.weight * match for match in self.matches(documents, tokens).tolist()]

    def matches(self, documents: Sequence[Sequence[Passage]], tokens: int) -> Floats:
        """The match (D,) of each document with its query, in inference mode; 0 for a query without words."""
        sides = [[_sides(passage) for passage in document] for document in documents]
        states = self._states(list(dict.fromkeys(chain.from_iterable(chain.from_iterable(sides)))), tokens)
        matches = np.empty(len(documents))
        keys = [
            (found[0][0], document[0].row.query.tobytes()) for found, document in zip(sides, documents, strict=True)
        ]
        order = sorted(range(len(documents)), key=keys.__getitem__)
        for (query, _), group in groupby(order, key=keys.__getitem__):
            numbers = list(group)
            maxsim = _maxsim(states[query], [[states[own] for _, own in sides[number]] for number in numbers])
            matches[numbers] = self._matches([documents[number] for number in numbers], maxsim)
        return matches

    def _matches(self, documents: Sequence[Sequence[Passage]], maxsim: Floats) -> Floats:
        """The match (D,) of documents with a query, of `maxsim` (D, Q)."""
        rarity = word_surprisals(documents[0][0], self._surprisals)
        if not rarity.any():
            return np.zeros(len(documents))
        words = documents[0][0].row.query
        inside = words >= 0
        shares = np.zeros((len(words), len(rarity)))  # (Q, N): subwords to words
        shares[inside, words[inside]] = 1
        similarity = maxsim @ (shares / np.maximum(shares.sum(0), 1))
        for row, document in zip(similarity, documents, strict=True):
            linked = _linked(document)
            linked = linked[linked < len(row)]
            row[linked] = np.maximum(row[linked], LINKED)
        found: Floats = similarity @ rarity / rarity.sum()
        return found

    def _states(self, texts: Sequence[Ids], tokens: int) -> dict[Ids, Tensor]:
        """Unit states (length, W) of texts."""
        found: dict[Ids, Tensor] = {}
        for batch in batches([len(text) for text in texts], tokens):
            part = [texts[number] for number in batch]
            found |= dict(zip(part, self._encode(part), strict=True))
        return found

    def _encode(self, texts: Sequence[Ids]) -> Sequence[Tensor]:
        framed = [self._encoder.framed(text) for text in texts]
        device = next(self._encoder.parameters()).device
        if self._fast is not None:
            tokens = packed([Pair(ids, 0, 0) for ids in framed], self._encoder.pad, device)
            (states,) = self._fast.states(tokens, self.about.layer)
            rows = torch.split(states[: sum(tokens.lengths)], list(tokens.lengths))
        else:
            ids, mask = padded(framed, device, self._encoder.pad)
            rows = self._encoder(ids, mask)[self.about.layer].unbind(0)
        return [
            F.normalize(row[self._begin : self._begin + len(text)].float(), dim=-1)
            for row, text in zip(rows, texts, strict=True)
        ]


def _sides(passage: Passage) -> tuple[Ids, Ids]:
    """The subwords of the query and of the passage."""
    row, ids = passage.row, passage.pair.ids
    query, own = ids[row.first :][: len(row.query)], ids[row.second :][: len(row.passage)]
    return tuple(query), tuple(own)


def _linked(document: Sequence[Passage]) -> Ints:
    """The query words that are linked to the part of the document that is read."""
    links = document[0].row.links
    return links.left[np.isin(links.right, words_read(document)) & (links.weights >= LEAST_LINK)]


def _maxsim(query: Tensor, documents: Sequence[Sequence[Tensor]]) -> Floats:
    """MaxSim (D, Q): the maximal cosine of unit states (Q, W) with the states of each document's passages."""
    lengths = [sum(map(len, passages)) for passages in documents]
    owner = torch.repeat_interleave(torch.tensor(lengths)).to(query.device)
    cosines = query @ torch.cat([states for passages in documents for states in passages]).T
    best = query.new_full((len(query), len(documents)), LEAST_COSINE)
    found: Floats = best.scatter_reduce(1, owner.expand(len(query), -1), cosines, "amax").T.cpu().numpy()
    return found


def load_late_interaction(about: MartAbout, encoder: Encoder, device: str = "cpu") -> LateInteraction | None:
    """Load the late interaction of a model with this encoder; None if it has none.

    Raises:
        CheckpointError: if its encoder cannot be loaded, or its tokenizer differs from the model's.
    """
    if about.late_interaction is None:
        return None
    name_or_path = about.late_interaction.encoder
    if name_or_path not in shipped_names() and not Path(name_or_path).is_dir():
        raise CheckpointError(f"late_interaction: encoder {name_or_path!r} is neither a shipped encoder nor a folder")
    own = load_encoder(name_or_path, device)
    if own.tokenizer_checksum != encoder.tokenizer_checksum or own.room < encoder.room:
        raise CheckpointError(f"late_interaction: {own.name} does not tokenize texts as {encoder.name} does")
    try:
        return LateInteraction(own, about.late_interaction)
    except ValueError as error:
        raise CheckpointError(str(error)) from error
