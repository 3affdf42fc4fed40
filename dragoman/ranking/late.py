"""Late interaction as a reranker: how alike a query and a document are, as a whole and subword by subword.

    score = match + w cos(query, document)

The match is that of `maxsim`, over the states of a middle layer; cos is that of the vectors of sentences, of a
document's best passage. Both are of one sentence encoder, which reads query and passage separately, each once. Nothing
of it is trained. A score depends on the query, the document and their links, and on no other document.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dragoman.backbone.checkpoints import CONFIG, CheckpointError, read_json
from dragoman.backbone.sentences import TOKENS_AT_ONCE, SentenceEncoder
from dragoman.deadline import check_each
from dragoman.ranking.about import Floats, LateAbout, RerankerAbout
from dragoman.ranking.attention import Links
from dragoman.ranking.maxsim import GLOSSARY, LINKED, MAX_RARITY, matches
from dragoman.ranking.memory import DECIMALS, TOKENS_AT_ONCE_ON_GPU, while_memory_lasts
from dragoman.ranking.passages import Ids, Passage, ReadPart, TokenizedText, read_part, rows, sides
from dragoman.ranking.structured_query import share, words_read


class EncodedText(NamedTuple):
    """A text as the encoder sees it: its unit vector (W,), and unit states (subwords, W) of the layer."""

    vector: Floats
    states: Floats


class LateScorer:
    """Scores documents in the calling thread; tokenization is thread-safe. It has the methods of `scoring.Scorer`."""

    def __init__(self, sentences: SentenceEncoder, about: LateAbout, tokens_at_once: int | None = None) -> None:
        """
        Raises:
            ValueError: if the encoder computes no such layer.
        """
        if not 0 <= about.layer <= sentences.layer:
            raise ValueError(f"late: layer {about.layer} is not one of 0 to {sentences.layer}")
        self.encoder, self.sentences, self._about = sentences.encoder, sentences, about
        self._surprisals = sentences.surprisals()
        self._rarity = None if self._surprisals is None else np.minimum(self._surprisals, MAX_RARITY)
        on_gpu = sentences.device.type != "cpu"
        self._tokens = tokens_at_once or (TOKENS_AT_ONCE_ON_GPU if on_gpu else TOKENS_AT_ONCE)

    def read_part(self, query: TokenizedText, documents: Sequence[TokenizedText]) -> ReadPart:
        """The query, cut so that a passage fits, and the documents that are truncated."""
        return read_part(self.encoder, query, documents)

    def rows(
        self, query: TokenizedText, documents: Sequence[TokenizedText], links: Sequence[Links]
    ) -> list[list[Passage]]:
        """Each document's passages, with its links to the query.

        Raises:
            QueryTooLong: if the query leaves no room for a passage.
        """
        return rows(self.encoder, query, documents, links)

    def shares(self, documents: Sequence[Sequence[Passage]]) -> list[float]:
        """The structured query score of each document alone, given as its passages."""
        return [round(share(document, self._surprisals), DECIMALS) for document in documents]

    def scores(self, documents: Sequence[Sequence[Passage]]) -> list[float]:
        """The scores of documents, given as their passages, of any queries."""
        cosines, matched = self.parts(documents)
        return [round(score, DECIMALS) for score in (matched + self._about.cosine * cosines).tolist()]

    def parts(self, documents: Sequence[Sequence[Passage]]) -> tuple[Floats, Floats]:
        """The cosines (D,) and the matches (D,) of documents; NaN where the encoder's states are no numbers."""
        pairs = [[sides(passage) for passage in document] for document in documents]
        queries = list(dict.fromkeys(document[0][0] for document in pairs))
        texts = list(dict.fromkeys(text for document in pairs for _, text in document))
        encoded_queries, encoded_passages = self._encode(queries, "query"), self._encode(texts, "passage")
        cosines, matched = np.empty(len(documents)), np.empty(len(documents))
        for index, (document, sides_of_passages) in enumerate(check_each(zip(documents, pairs, strict=True))):
            query, passages = (
                encoded_queries[sides_of_passages[0][0]],
                [encoded_passages[text] for _, text in sides_of_passages],
            )
            cosines[index] = np.max([passage.vector @ query.vector for passage in passages])
            matched[index] = self._match(
                document, sides_of_passages[0][0], query.states, [passage.states for passage in passages]
            )
        return cosines, matched

    def _encode(self, texts: Sequence[Ids], kind: str) -> dict[Ids, EncodedText]:
        """Each text is encoded once, so that equal documents have equal scores."""

        def encode_in_passes(tokens: int) -> dict[Ids, EncodedText]:
            vectors, states = self.sentences.encode_ids(texts, kind, self._about.layer, tokens)
            return {
                text: EncodedText(*encoded)
                for text, encoded in zip(texts, zip(vectors, states, strict=True), strict=True)
            }

        return while_memory_lasts(encode_in_passes, self._tokens) if texts else {}

    def _match(
        self, document: Sequence[Passage], query: Ids, query_states: Floats, passage_states: Sequence[Floats]
    ) -> float:
        states = np.concatenate(passage_states)
        # A document without subwords is like nothing.
        maxsim = (query_states @ states.T).max(1) if len(states) else np.zeros(len(query))
        if not np.isfinite(maxsim).all():
            return float("nan")  # which `matches` would take for a document whose states are not known
        rarity = np.ones(len(query)) if self._rarity is None else self._rarity[np.asarray(query, np.int64)]
        return float(matches(maxsim[None].astype(np.float64), _links(document)[None], rarity)[0])


def _links(document: Sequence[Passage]) -> Floats:
    """What the links of the word of each subword of the query to the document count (Q,)."""
    words, links = document[0].row.query, document[0].row.links
    read = np.isin(links.right, words_read(document))
    counts = np.zeros(max(words.max(initial=-1), links.left.max(initial=-1)) + 2)  # the last one is of no word
    counts[links.left[read]] = LINKED
    if links.glossary is not None:
        counts[links.left[read & links.glossary]] = GLOSSARY
    counts_by_subword: Floats = counts[words]
    return counts_by_subword


def late_about(folder: Path) -> tuple[LateAbout, RerankerAbout]:
    """The description of a reranker of this kind, from its folder.

    Raises:
        CheckpointError: if its configuration is damaged.
    """
    try:
        about = RerankerAbout.of(read_json(folder / CONFIG))
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from error
    if about.late is None:
        raise CheckpointError(f"{folder / CONFIG}: has no field 'late'")
    return about.late, about
