"""What the worker computes with a sentence encoder: embeddings of passages, and encoded queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.core.errors import InternalError
from dragoman.indexes.dense.language_means import LanguageMeans

if TYPE_CHECKING:
    from dragoman.backbone.sentences import TokenStates
    from dragoman.indexes.dense.state_codec import StateCodec

COMPARED_SUBWORDS = 64
"""Subwords of a query that late interaction compares, the rarest ones."""
PRECISIONS = ("float32", "bfloat16", "float16", "int8")
NOT_FINITE = "the encoder's vector of a text is not finite"


class SentenceEncoder(Protocol):
    """Encodes sentences; see :class:`dragoman.backbone.sentences.SentenceEncoder`."""

    name: str
    width: int

    def encode(self, texts: Sequence[str], kind: str = "passage") -> NDArray[np.float32]: ...

    def embed(self, texts: Sequence[str], kind: str = "passage") -> tuple[NDArray[np.float32], list[int]]: ...

    def encode_passages(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]], layer: int | None = None
    ) -> tuple[NDArray[np.float32], list[NDArray[np.float32]], list[NDArray[np.float32]]]: ...

    def encode_tokens(
        self, texts: Sequence[str], kind: str, layer: int
    ) -> tuple[NDArray[np.float32], list[TokenStates]]: ...

    def surprisals(self) -> NDArray[np.float64] | None: ...


@dataclass(frozen=True, slots=True)
class PassageText:
    """A passage to embed, and the spans of its sentences; none if it is a single one."""

    text: str
    sentences: Sequence[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.text)


class Embedding(NamedTuple):
    """A passage's vector (width,), and the vectors (sentences, width) of its sentences."""

    vector: NDArray[np.float32]
    sentences: NDArray[np.float32]
    codes: NDArray[np.uint8] | None = None
    """The quantised states (subwords, size) of its subwords, if they were wanted."""


class EmbeddedText(NamedTuple):
    """A text's vector (width,), of the length that the encoder's files say, and how many tokens it has."""

    vector: NDArray[np.float32]
    tokens: int


class EncodedQuery(NamedTuple):
    """A query's unit vector (width,) and, if the encoder has a codec, what late interaction needs of its subwords."""

    vector: NDArray[np.float32]
    states: NDArray[np.float32]
    """Unit states (subwords, width) of the codec's layer."""
    weights: NDArray[np.float64]
    """The surprisal of each subword, capped."""
    offsets: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class EncoderInfo:
    """``identity`` identifies an encoder: its name, a checksum of its weights, and the precision it computes in.

    Vectors of two precisions differ by about a hundredth, and are not compared with each other.
    """

    identity: str
    width: int
    unrelated_cosine: float = 0.0
    """The cosine of unrelated sentences."""
    codec: StateCodec | None = None
    """Quantises the states of subwords for late interaction; None if there is none for this encoder."""
    surprisals: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    """-log p of each subword, capped, for encoders with a codec."""
    means: LanguageMeans = field(default_factory=lambda: LanguageMeans({}), compare=False, repr=False)
    """What the vectors of passages have in common, by language."""
    earlier: tuple[str, ...] = ()
    """What earlier versions wrote for it: without the precision or, for one of Hugging Face, its name alone."""
    sizes: tuple[int, ...] = ()
    """Sizes that its vectors may be cut to."""
    pooling: str = "mean"
    normalized: bool = True
    """Whether the vectors that it gives to who asks for them have length 1."""
    max_length: int = 512
    """The longest row, in tokens; longer texts are read in several."""

    def recognises(self, identity: str) -> bool:
        """Whether vectors of this identity are this encoder's; those of earlier versions count as made by it."""
        return identity == self.identity or identity in self.earlier


def precision_of(identity: str | None) -> str | None:
    """The precision that an encoder's identity names; None if it is of an earlier version."""
    last = (identity or "").rpartition(" ")[2]
    return last if last in PRECISIONS else None


def embed_passages(
    encoder: SentenceEncoder, info: EncoderInfo, texts: Sequence[PassageText], states: bool
) -> list[Embedding | Exception]:
    """The embeddings of passages, with the quantised ``states`` of their subwords if these are wanted."""
    codec = info.codec if states else None
    vectors, parts, states_of_texts = encoder.encode_passages(
        [passage.text for passage in texts], [passage.sentences for passage in texts], codec.layer if codec else None
    )
    return [
        Embedding(vector, part, codec.encode(token_states) if codec else None)
        if np.isfinite(vector).all() and np.isfinite(part).all()
        else InternalError(NOT_FINITE)
        for vector, part, token_states in zip(vectors, parts, states_of_texts, strict=True)
    ]


def embed_texts(encoder: SentenceEncoder, kind: str, texts: Sequence[str]) -> list[EmbeddedText | Exception]:
    """The vectors of texts of a `kind`, and their tokens."""
    vectors, tokens = encoder.embed(texts, kind)
    return [
        EmbeddedText(vector, count) if np.isfinite(vector).all() else InternalError(NOT_FINITE)
        for vector, count in zip(vectors, tokens, strict=True)
    ]


def encode_queries(encoder: SentenceEncoder, info: EncoderInfo, texts: Sequence[str]) -> list[EncodedQuery | Exception]:
    """The queries' vectors and, if the encoder has a codec, the states of their subwords."""
    if info.codec is None or info.surprisals is None:
        none = np.zeros((0, info.width), np.float32)
        queries = [EncodedQuery(vector, none, np.zeros(0), ()) for vector in encoder.encode(texts, "query")]
    else:
        vectors, tokens = encoder.encode_tokens(texts, "query", info.codec.layer)
        queries = [
            _with_rarest(vector, states, info.surprisals) for vector, states in zip(vectors, tokens, strict=True)
        ]
    return [query if np.isfinite(query.vector).all() else InternalError(NOT_FINITE) for query in queries]


def _with_rarest(vector: NDArray[np.float32], tokens: TokenStates, surprisals: NDArray[np.float64]) -> EncodedQuery:
    """A query with its rarest subwords, in order: the others of a long one hardly count, and would take time."""
    weights = surprisals[tokens.ids]
    rarest = np.sort(np.argsort(-weights, kind="stable")[:COMPARED_SUBWORDS])
    return EncodedQuery(vector, tokens.states[rarest], weights[rarest], [tokens.offsets[index] for index in rarest])
