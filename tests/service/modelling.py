"""Small stand-ins for the neural models, of which a test can say what they know."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import regex
from numpy.typing import NDArray

from dragoman.service import models
from dragoman.service.models import EncoderInfo, TranslatorInfo
from dragoman.service.runtime import Runtime
from dragoman.service.schemas.search import SearchRequest, SearchResponse
from dragoman.service.settings import Settings

if TYPE_CHECKING:
    from dragoman.backbone.translator import Translation

WIDTH = 256
SAME = {"vulkan": "volcano", "volkano": "volcano", "asche": "ash", "biene": "bee", "nyuki": "bee", "hafen": "harbour"}


class WordEncoder:
    """A text's vector is the sum of its words'; a word has that of its translation in ``SAME``.

    A word ``poison`` makes the whole batch fail, ``nan`` gives a vector that is none; ``barrier`` holds it up.
    """

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.width = WIDTH
        self.batches: list[list[str]] = []
        self.barrier = Event()
        self.barrier.set()
        self.seconds = 0.0

    def encode(self, texts: Sequence[str], batch_size: int = 32) -> NDArray[np.float32]:
        self.batches.append(list(texts))
        self.barrier.wait(60)
        time.sleep(self.seconds)
        if any("poison" in text for text in texts):
            raise RuntimeError("poisoned")
        return np.stack([self.vector(text) for text in texts])

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


@contextmanager
def standing_in(
    monkeypatch: pytest.MonkeyPatch, encoder: WordEncoder, translator: UpperTranslator | None = None
) -> Iterator[None]:
    """Have the service load these models."""

    def load_encoder(settings: Settings) -> tuple[Any, EncoderInfo]:
        return encoder, EncoderInfo(encoder.name, encoder.width)

    def load_translator(settings: Settings) -> tuple[Any, TranslatorInfo]:
        if translator is None:
            raise FileNotFoundError("no translator here")
        return translator, TranslatorInfo(translator.name, translator.languages)

    with monkeypatch.context() as patch:
        patch.setattr(models, "_LOADERS", {"encoder": load_encoder, "translator": load_translator})
        yield


def ask(runtime: Runtime, query: str, method: str = "dense", **more: Any) -> SearchResponse:
    request = SearchRequest(query=query, method=method, query_language=more.pop("query_language", "en"), **more)
    return runtime.search.search(request, "id")


def reasons(answer: SearchResponse, stage: str = "dense") -> list[str]:
    return [one.reason for one in answer.degraded if one.stage == stage]
