"""Small stand-ins for the neural models, of which a test can say what they know."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
import regex
from numpy.typing import NDArray

from dragoman.engine.models import model_host
from dragoman.engine.models.encoding import EncoderInfo
from dragoman.engine.models.loading import ENCODER, RerankerInfo
from dragoman.engine.models.translating import TranslatorInfo
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.indexes.dense.language_means import LanguageMeans
from dragoman.ranking.about import RerankerAbout, StandaloneAbout
from dragoman.service.runtime import Runtime

if TYPE_CHECKING:
    from dragoman.backbone.sentences import TokenStates
    from dragoman.backbone.translator import Translation
    from dragoman.indexes.dense.state_codec import StateCodec

WIDTH = 256
SAME = {"vulkan": "volcano", "volkano": "volcano", "asche": "ash", "biene": "bee", "nyuki": "bee", "hafen": "harbour"}

GERMAN = (
    {"id": "v", "text": "Der Vulkan spuckt Asche.", "title": "Island"},
    {"id": "h", "text": "Schiffe im Hafen."},
    {"id": "b", "text": "Eine Biene fliegt."},
)


class WordEncoder:
    """A text's vector is the sum of its words'; a word has that of its translation in ``SAME``.

    A word ``poison`` makes the whole batch fail, ``nan`` gives a vector that is none; ``barrier`` holds it up.
    """

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.width = WIDTH
        self.means = LanguageMeans({})
        self.codec: StateCodec | None = None
        self.batches: list[list[str]] = []
        self.barrier = Event()
        self.barrier.set()
        self.seconds = 0.0

    def encode(self, texts: Sequence[str], kind: str = "passage") -> NDArray[np.float32]:
        self.batches.append(list(texts))
        self.barrier.wait(60)
        time.sleep(self.seconds)
        if any("poison" in text for text in texts):
            raise RuntimeError("poisoned")
        return np.stack([self.vector(text) for text in texts])

    def embed(self, texts: Sequence[str], kind: str = "passage") -> tuple[NDArray[np.float32], list[int]]:
        return self.encode(texts, kind), [len(text.split()) for text in texts]

    def encode_passages(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]], layer: int | None = None
    ) -> tuple[NDArray[np.float32], list[NDArray[np.float32]], list[NDArray[np.float32]]]:
        states = [np.zeros((0, WIDTH), np.float32) if layer is None else self.states(text).states for text in texts]
        parts = [
            np.stack([np.zeros(WIDTH, np.float32), *(self.vector(text[start:end]) for start, end in wanted)])[1:]
            for text, wanted in zip(texts, spans, strict=True)
        ]
        return self.encode(texts), parts, states

    def encode_tokens(
        self, texts: Sequence[str], kind: str, layer: int
    ) -> tuple[NDArray[np.float32], list[TokenStates]]:
        return self.encode(texts), [self.states(text) for text in texts]

    def states(self, text: str) -> TokenStates:
        """The words of a text, each with its vector as its state."""
        from dragoman.backbone.sentences import TokenStates

        words = list(regex.finditer(r"\w+", text))
        vectors = [np.zeros(WIDTH, np.float32), *(self.vector(word[0]) for word in words)]
        return TokenStates([len(word[0]) for word in words], [word.span() for word in words], np.stack(vectors)[1:])

    def surprisals(self) -> NDArray[np.float64] | None:
        """Long words are rare."""
        return None if self.codec is None else np.arange(1000, dtype=np.float64)

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]

    @staticmethod
    def vector(text: str) -> NDArray[np.float32]:
        total = np.full(WIDTH, 1e-3)
        for word in regex.findall(r"\w+", text.lower()):
            seed = hashlib.sha256(SAME.get(word, word).encode()).digest()
            total += np.random.default_rng(list(seed)).standard_normal(WIDTH)
        if "nan" in text:
            total[0] = np.nan
        return (total / np.linalg.norm(total)).astype(np.float32)


class UpperTranslator:
    """Translates between English, German and Swahili by shouting; ``barrier`` and ``poison`` as above.

    It comes to no end with a text that says ``endless``.
    """

    def __init__(self) -> None:
        self.name = "upper"
        self.languages = frozenset({"en", "de", "sw", "zh"})
        self.batches: list[list[str]] = []
        self.barrier = Event()
        self.barrier.set()

    def translate(self, texts: Sequence[str], source: str, target: str, *, beam: int = 5) -> list[Translation]:
        self.batches.append(list(texts))
        self.barrier.wait(60)
        if any("poison" in text for text in texts):
            raise RuntimeError("poisoned")
        from dragoman.backbone.translator import Translation  # a server that is idle must not have it in memory

        return [Translation(text.upper(), "endless" not in text) for text in texts]


@dataclass(frozen=True)
class Piece:
    """A text or a passage of the stand-in: the numbers of its words, and its links' sum."""

    ids: list[int]
    linked: float = 0.0

    @property
    def pair(self) -> Piece:
        return self


SPECIAL = {"poison": -1, "nan": -2}


class LinkScorer:
    """A document's score is the sum of T over its links to the query, and a little for each of its words.

    Its share is a tenth of that sum, which joins the score.

    A document that says ``poison`` makes its whole batch fail, ``nan`` scores what is no number, and more than
    ``most`` words at once are out of memory.
    """

    def __init__(self, name: str = "links") -> None:
        self.about = RerankerAbout(name, first_stage_weight=1.0, standalone=StandaloneAbout(1.0, 1.0, 0.0))
        self.encoder = self
        self.batches: list[list[int]] = []
        self.most = 10**9
        self.barrier = Event()
        self.barrier.set()

    def subwords(self, texts: Sequence[str]) -> list[Any]:
        from dragoman.backbone.tokenizer import Encoded

        found = [list(regex.finditer(r"\w+", text)) for text in texts]
        return [
            Encoded([SPECIAL.get(one[0].lower(), len(one[0])) for one in words], [one.span() for one in words], [])
            for words in found
        ]

    def room_beside(self, first: int) -> int:
        return 100 if first <= 100 else 0

    def read_part(self, query: Any, documents: Sequence[Any]) -> Any:
        from dragoman.ranking.passages import read_part

        return read_part(cast(Any, self), query, documents)

    def rows(self, query: Any, documents: Sequence[Any], links: Sequence[Any]) -> list[list[Piece]]:
        assert len(query.ids) <= 100
        pairs = zip(documents, links, strict=True)
        return [[Piece(document.ids, float(own.weights.sum()))] for document, own in pairs]

    def shares(self, documents: Sequence[Sequence[Piece]]) -> list[float]:
        return [row.linked / 10 for (row,) in documents]

    def scores(self, documents: Sequence[Sequence[Piece]]) -> list[float]:
        self.batches.append([len(row.ids) for (row,) in documents])
        self.barrier.wait(60)
        if sum(self.batches[-1]) > self.most:
            raise RuntimeError("CUDA out of memory")
        if any(-1 in row.ids for (row,) in documents):
            raise RuntimeError("poisoned")
        return [math.nan if -2 in row.ids else row.linked + len(row.ids) / 1000 for (row,) in documents]


@contextmanager
def standing_in(
    monkeypatch: pytest.MonkeyPatch,
    encoder: WordEncoder,
    translator: UpperTranslator | None = None,
    scorer: LinkScorer | None = None,
) -> Iterator[None]:
    """Have the service load these models."""

    def load_encoder(settings: Settings, shared: Any) -> tuple[Any, EncoderInfo]:
        place = settings.models.encoder or ENCODER
        identity = f"{place} {encoder.name}"  # the same name as the configured one, with weights of its own
        codec, surprisals = encoder.codec, encoder.surprisals()
        info = EncoderInfo(
            identity, encoder.width, codec=codec, surprisals=surprisals, means=encoder.means, earlier=(place,)
        )
        return encoder, info

    def load_translator(settings: Settings, shared: Any) -> tuple[Any, TranslatorInfo]:
        if translator is None:
            raise FileNotFoundError("no translator here")
        return translator, TranslatorInfo(translator.name, translator.languages)

    def load_reranker(settings: Settings, shared: Any) -> tuple[Any, RerankerInfo]:
        if scorer is None:
            raise FileNotFoundError("no reranker here")
        return scorer, RerankerInfo(scorer.about, cast(Any, scorer))

    loaders = {"encoder": load_encoder, "translator": load_translator, "reranker": load_reranker}
    with monkeypatch.context() as patch:
        patch.setattr(model_host, "LOADERS", loaders)
        yield


def ask(runtime: Runtime, query: str, method: str = "dense", **more: Any) -> SearchResponse:
    request = SearchQuery(query=query, method=method, query_language=more.pop("query_language", "en"), **more)
    return runtime.search.search(request, "id")


def ids(answer: SearchResponse) -> list[str]:
    return [hit.id for hit in answer.hits]


def settled(runtime: Runtime) -> None:
    """Wait until the background has embedded everything."""
    for _ in range(500):
        with runtime.dense.follower._state:
            if not runtime.dense.follower._queue:
                return
        time.sleep(0.01)
    raise AssertionError("not embedded")


def reasons(answer: SearchResponse, stage: str = "dense") -> list[str]:
    return [one.reason for one in answer.degraded if one.stage == stage]
