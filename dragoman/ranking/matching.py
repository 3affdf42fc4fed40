"""Late interaction: how well the words of a query are met in a document, by a table or by the likeness of states.

    match = sum over i of r_i met_i / sum over i of r_i
    met_i = max(LINKED, likeness_i) where the table links word i to the document, else likeness_i

likeness_i is the mean over the subwords of word i of max over the document's subwords j of cos(h, h_j), of an
encoder's states h of query and document, each read by itself: ColBERT's MaxSim (Khattab and Zaharia 2020) with states
as they are, where the table knows nothing. r_i is how rare the word is: the sum of -log of its subwords' shares of
the text that the vocabulary was learned from, the same for all where a vocabulary has no shares.
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
from dragoman.backbone.padding import batches, padded
from dragoman.backbone.weights import shipped_names
from dragoman.ranking.about import Floats, LateInteractionAbout, MartAbout
from dragoman.ranking.attention import Ints
from dragoman.ranking.inference import one_after_another
from dragoman.ranking.structured import word_surprisals, words_read

if TYPE_CHECKING:
    from dragoman.ranking.passages import Passage

LINKED = 0.8
"""What a link counts: more than most likenesses, less than the same word in the same place."""
LEAST_LINK = 0.05
"""A translation less probable than this is no link here."""
NOT_MET = -1.0
"""The least cosine, where a document has no subword."""
MARK = -1
"""No subword's number."""

Ids = tuple[int, ...]


class LateInteraction:
    """Matches of documents given as their passages, by an encoder that reads queries and passages apart."""

    def __init__(self, encoder: Encoder, about: LateInteractionAbout) -> None:
        """
        Raises:
            ValueError: the encoder has no such layer, or it is the last.
        """
        if not 0 <= about.layer < encoder.layers:
            raise ValueError(f"late_interaction: layer {about.layer} is not one of 0 to {encoder.layers - 1}")
        self._encoder, self.about = encoder, about
        self._fast = encoder.for_inference(torch.float32)
        self._begin = encoder.framed([MARK]).index(MARK)
        self._surprisals = encoder.surprisals()

    def added(self, documents: Sequence[Sequence[Passage]], tokens: int) -> list[float]:
        """What joins the score of each document (D,), of any queries, reading at most `tokens` subwords at once."""
        return [self.about.weight * match for match in self.matches(documents, tokens).tolist()]

    def matches(self, documents: Sequence[Sequence[Passage]], tokens: int) -> Floats:
        """The match (D,) of each document with its query, in inference mode; 0 of a query without words."""
        sides = [[_sides(one) for one in document] for document in documents]
        states = self._states(list(dict.fromkeys(chain.from_iterable(chain.from_iterable(sides)))), tokens)
        matches = np.empty(len(documents))
        keys = [
            (found[0][0], document[0].row.query.tobytes()) for found, document in zip(sides, documents, strict=True)
        ]
        order = sorted(range(len(documents)), key=keys.__getitem__)
        for (query, _), group in groupby(order, key=keys.__getitem__):
            numbers = list(group)
            likeness = _likeness(states[query], [[states[own] for _, own in sides[one]] for one in numbers])
            matches[numbers] = self._matches([documents[one] for one in numbers], likeness)
        return matches

    def _matches(self, documents: Sequence[Sequence[Passage]], likeness: Floats) -> Floats:
        """The match (D,) of documents with a query, of `likeness` (D, Q)."""
        rare = word_surprisals(documents[0][0], self._surprisals)
        if not rare.any():
            return np.zeros(len(documents))
        words = documents[0][0].row.query
        inside = words >= 0
        shares = np.zeros((len(words), len(rare)))  # (Q, N): of subwords in words
        shares[inside, words[inside]] = 1
        met = likeness @ (shares / np.maximum(shares.sum(0), 1))
        for row, document in zip(met, documents, strict=True):
            linked = _linked(document)
            linked = linked[linked < len(row)]
            row[linked] = np.maximum(row[linked], LINKED)
        found: Floats = met @ rare / rare.sum()
        return found

    def _states(self, texts: Sequence[Ids], tokens: int) -> dict[Ids, Tensor]:
        """Unit states (length, W) of texts."""
        found: dict[Ids, Tensor] = {}
        for batch in batches([len(text) for text in texts], tokens):
            part = [texts[one] for one in batch]
            found |= dict(zip(part, self._read(part), strict=True))
        return found

    def _read(self, texts: Sequence[Ids]) -> Sequence[Tensor]:
        framed = [self._encoder.framed(text) for text in texts]
        device = next(self._encoder.parameters()).device
        if self._fast is not None:
            tokens = one_after_another([Pair(ids, 0, 0) for ids in framed], self._encoder.pad, device)
            states = self._fast.states(tokens, self.about.layer)
            rows = torch.split(states[: sum(tokens.lengths)], list(tokens.lengths))
        else:
            ids, mask = padded(framed, device, self._encoder.pad)
            rows = self._encoder(ids, mask)[self.about.layer].unbind(0)
        return [
            F.normalize(row[self._begin : self._begin + len(text)].float(), dim=-1)
            for row, text in zip(rows, texts, strict=True)
        ]


def _sides(passage: Passage) -> tuple[Ids, Ids]:
    """The subwords of a passage's query and its own."""
    row, ids = passage.row, passage.pair.ids
    query, own = ids[row.first :][: len(row.query)], ids[row.second :][: len(row.passage)]
    return tuple(query), tuple(own)


def _linked(document: Sequence[Passage]) -> Ints:
    """The query's words that are linked to a word of the document, as far as it is read."""
    links = document[0].row.links
    return links.left[np.isin(links.right, words_read(document)) & (links.weights >= LEAST_LINK)]


def _likeness(query: Tensor, documents: Sequence[Sequence[Tensor]]) -> Floats:
    """The best cosine (D, Q) of unit states (Q, W) with those of each document, given as its passages."""
    lengths = [sum(map(len, passages)) for passages in documents]
    owner = torch.repeat_interleave(torch.tensor(lengths)).to(query.device)
    cosines = query @ torch.cat([states for passages in documents for states in passages]).T
    best = query.new_full((len(query), len(documents)), NOT_MET)
    found: Floats = best.scatter_reduce(1, owner.expand(len(query), -1), cosines, "amax").T.cpu().numpy()
    return found


def load_late_interaction(about: MartAbout, encoder: Encoder, device: str = "cpu") -> LateInteraction | None:
    """What joins the score of a model with this encoder; None where nothing does.

    Raises:
        CheckpointError: its encoder cannot be loaded, or reads texts otherwise than the model's.
    """
    if about.late_interaction is None:
        return None
    place = about.late_interaction.encoder
    if place not in shipped_names() and not Path(place).is_dir():
        raise CheckpointError(f"late_interaction: encoder {place!r} is neither one that is shipped nor a folder")
    own = load_encoder(place, device)
    if own.tokenizer_checksum != encoder.tokenizer_checksum or own.room < encoder.room:
        raise CheckpointError(f"late_interaction: {own.name} does not read texts as {encoder.name} does")
    try:
        return LateInteraction(own, about.late_interaction)
    except ValueError as error:
        raise CheckpointError(str(error)) from error
