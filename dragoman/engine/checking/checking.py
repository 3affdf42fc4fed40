"""The checker of translations with what the service has: active tables, the encoder, transliteration."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

import numpy as np

from dragoman.checking import Check, Knowledge, Status, TooManySentences, align, check_sentences
from dragoman.checking.knowledge import Vectors
from dragoman.engine.checking.doubts import add_doubts
from dragoman.engine.checking.response import AlignedCheck, CheckReason, CheckResponse, Place
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import ClientDisconnected, InvalidRequest, ServiceError
from dragoman.engine.core.priority import in_background, wait_limit
from dragoman.engine.models.encoding import EncoderInfo, PassageText
from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.tasks import Embed
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot, TableRegistry
from dragoman.indexes.analysis.common_words import common_words
from dragoman.indexes.analysis.japanese_names import list_name_forms
from dragoman.indexes.analysis.transliteration import romanise
from dragoman.lexicon.text.offsets import Unit, Utf16
from dragoman.lexicon.text.tokens import Analysis

T = TypeVar("T")

STAGE = "check"
_VECTORS = 4_096
"""Texts whose vectors are remembered."""
_AT_ONCE = 64
"""Texts that are queued for the encoder at a time."""
_WORST: dict[Status, int] = {"ok": 0, "draft": 1, "failed": 2}


class Checking:
    """Checks translations. Safe from any thread."""

    def __init__(
        self, models: Models, registry: TableRegistry, analysis: Callable[[str], Analysis], settings: Settings
    ) -> None:
        self._models, self._registry, self._analysis, self._settings = models, registry, analysis, settings
        self._remembered: OrderedDict[tuple[str, str, str], Vectors] = OrderedDict()
        self._lock = Lock()

    def check_pairs(
        self,
        pairs: Sequence[tuple[str, str]],
        source: str,
        target: str,
        snapshot: Snapshot | None = None,
        cancelled: Cancelled | None = None,
        *,
        doubtful: bool = False,
    ) -> tuple[list[Check], list[Degraded]]:
        """The checks of sentences and their translations, and why meaning was not checked, if it was not.

        Of a ``doubtful`` translator more is asked, see :mod:`dragoman.engine.checking.doubts`.

        Raises:
            ServiceError: in background work, the encoder is not available; ``cancelled()``.
        """

        def check(knowledge: Knowledge) -> list[Check]:
            checks = check_sentences(pairs, knowledge)
            return add_doubts(pairs, checks, knowledge) if doubtful else checks

        return self._with_encoder(check, source, target, snapshot, cancelled)

    def check_text(
        self,
        text: str,
        translation: str,
        source: str,
        target: str,
        cancelled: Cancelled | None = None,
        offsets: Unit = "codepoint",
    ) -> CheckResponse:
        """The check of a whole text, whose sentences are aligned first.

        Raises:
            InvalidRequest: a text has too many sentences.
            ServiceError: as :meth:`check_pairs`.
        """

        def check(knowledge: Knowledge) -> list[AlignedCheck]:
            try:
                aligned = align(text, translation, knowledge)
            except TooManySentences as fault:
                raise InvalidRequest(f"{'text' if fault.side == 'source' else 'translation'}: {fault}") from fault
            checks = check_sentences(
                [(text[slice(*spans.source)], translation[slice(*spans.target)]) for spans in aligned], knowledge
            )
            return [
                AlignedCheck(
                    source=Place(start=spans.source[0], end=spans.source[1]),
                    translation=Place(start=spans.target[0], end=spans.target[1]),
                    status=check.status,
                    reasons=CheckReason.list_of(check.reasons),
                )
                for spans, check in zip(aligned, checks, strict=True)
            ]

        sentences, degraded = self._with_encoder(check, source, target, None, cancelled)
        if offsets == "utf16":
            Utf16(text).count(sentence.source for sentence in sentences)
            Utf16(translation).count(sentence.translation for sentence in sentences)
        return CheckResponse(
            status=max((sentence.status for sentence in sentences), key=_WORST.__getitem__, default="ok"),
            reasons=[reason for sentence in sentences for reason in sentence.reasons],
            sentences=sentences,
            degraded=degraded,
        )

    def _with_encoder(
        self,
        work: Callable[[Knowledge], list[T]],
        source: str,
        target: str,
        snapshot: Snapshot | None,
        cancelled: Cancelled | None,
    ) -> tuple[list[T], list[Degraded]]:
        """The result of some work that may use the encoder; without it where the encoder is not available."""
        views = (snapshot or self._registry.snapshot).views
        knowledge = Knowledge(
            source=source,
            target=target,
            analysis=self._analysis,
            forward=views.get((source, target)),
            backward=views.get((target, source)),
            romanise=romanise,
            common=common_words,
            name_forms=list_name_forms,
        )
        try:
            encoder = self._models.encoder(cancelled)
            unrelated = 0.0 if encoder.means.languages else encoder.unrelated_cosine
            return work(
                knowledge.with_encoder(lambda texts, of: self._encode(encoder, texts, of, cancelled), unrelated)
            ), []
        except (ClientDisconnected, InvalidRequest):
            raise
        except ServiceError as fault:
            if in_background():
                raise
            reason = f"the meaning of translations was not checked, none is better than a draft: {fault}"
            return work(knowledge), [Degraded.of(STAGE, reason, fault.cause)]

    def _encode(
        self, encoder: EncoderInfo, texts: Sequence[str], language: str, cancelled: Cancelled | None
    ) -> Vectors:
        """Unit vectors of texts, less the mean of their language's or, where that is not there, of all languages."""
        distinct = list(dict.fromkeys(texts))
        vectors = {text: vector for text in distinct if (vector := self._recall(encoder, language, text)) is not None}
        missing = [text for text in distinct if text not in vectors]
        for start in range(0, len(missing), _AT_ONCE):
            part = missing[start : start + _AT_ONCE]
            futures = self._models.worker.submit(Embed(), [PassageText(text, []) for text in part])
            embeddings = gather(futures, wait_limit(self._settings.worker.worker_seconds), cancelled)
            centred = encoder.means.centre(np.stack([embedding.vector for embedding in embeddings]), language)
            vectors |= dict(zip(part, centred, strict=True))
            self._remember(encoder, language, dict(zip(part, centred, strict=True)))
        return np.stack([vectors[text] for text in texts])

    def _recall(self, encoder: EncoderInfo, language: str, text: str) -> Vectors | None:
        key = encoder.identity, language, text
        with self._lock:
            vector = self._remembered.get(key)
            if vector is not None:
                self._remembered.move_to_end(key)
            return vector

    def _remember(self, encoder: EncoderInfo, language: str, vectors: dict[str, Vectors]) -> None:
        with self._lock:
            for text, vector in vectors.items():
                self._remembered[encoder.identity, language, text] = vector
            while len(self._remembered) > _VECTORS:
                self._remembered.popitem(last=False)
