"""The neural models of the service: loaded when the first request needs them, on a thread, and used by the worker's."""

from __future__ import annotations

import gc
import logging
import math
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread, local
from typing import TYPE_CHECKING, Any, cast

from dragoman import cores
from dragoman.engine.core.errors import InternalError, NotInstalled, ServiceError, Unavailable
from dragoman.engine.core.memory import return_freed
from dragoman.engine.core.names import without_folders
from dragoman.engine.core.priority import wait_limit
from dragoman.engine.models.batches import Limits
from dragoman.engine.models.encoding import EncodedQuery, EncoderInfo, embed_passages, encode_queries
from dragoman.engine.models.gathering import gather
from dragoman.engine.models.generation import Generate, advance_generations
from dragoman.engine.models.loading import (
    LOADERS,
    RerankerInfo,
    has_reranker,
    may_be_of_encoder,
    reranker_place,
)
from dragoman.engine.models.readers import Judge, ReadTask, find_spans, judge_statements
from dragoman.engine.models.tagging import SHORT_QUERY, TaggerTask, TagTexts, tagger_model, tags
from dragoman.engine.models.translating import Translate, TranslatorInfo, translate_sentences
from dragoman.engine.models.worker import Cancelled, Worker
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
from dragoman.installation import advice
from dragoman.ranking.about import name_of

if TYPE_CHECKING:
    import torch

    from dragoman.backbone.encoder import Encoder
    from dragoman.ranking.passages import Passage
    from dragoman.ranking.scoring import AnyScorer
    from dragoman.reasoning.inference import SpanScorer, StatementScorer
    from dragoman.reasoning.layalign.reasoner import Reasoner
    from dragoman.tagging.tagger import Tagger

logger = logging.getLogger("dragoman")

ANSWERS = 32
"""Most answers that are generated together."""
_EMBED_CHARS = 4_096
"""Most characters of passages in one forward pass."""
_SCORED = 4
"""How much longer than others a batch of documents to score may take: it makes way for queries between its parts, and
shorter ones encode one query again and again."""
_RETRY_SECONDS = 30.0
_CLOSE_SECONDS = 5.0
_LOAD_SECONDS = 600.0
"""How long a model may take to be loaded before others are not waited for."""
NEARLY = 0.9
"""The share of its time after which a request counts as having waited in vain: work starts a little after its clock."""


@dataclass(frozen=True, slots=True)
class Encode:
    """The task of encoding queries; a result is an :class:`EncodedQuery`."""

    long: bool = False
    """Whether they take so long that short ones should not wait for them."""


@dataclass(frozen=True, slots=True)
class Embed:
    """The task of encoding passages, each a :class:`PassageText`; a result is an :class:`Embedding`."""

    states: bool = False
    """Whether the states of their subwords are wanted too, quantised."""


@dataclass(frozen=True, slots=True)
class Score:
    """The task of scoring documents, each given as its passages paired with the query; a result is a score."""


@dataclass(frozen=True, slots=True)
class Load:
    """The task of loading a model, one of ``LOADERS``; the result describes it."""

    model: str


class Models:
    """Sentence encoding and translation through the worker. Safe from any thread.

    Nothing is imported or loaded before the first request for a model. A model that cannot be loaded is retried after
    half a minute.
    """

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._loaded: dict[str, tuple[Any, Any]] = {}
        self._encoders: dict[str, tuple[Any, Encoder]] = {}
        self._failed: dict[str, tuple[float, Unavailable]] = {}
        self.stored_precision: str | None = None
        """The precision of embeddings that are stored: that of the encoder, unless another is much faster here."""
        self._threads = local()
        self._loading = Lock()
        self.worker = Worker(
            self._compute,
            queue=settings.worker.worker_queue,
            limits=self._limits,
            observer=metrics,
            urgent=_is_urgent,
        )
        self._loader = Worker(self._load_on_thread, settings.worker.worker_queue, lambda task: Limits(1, 1), metrics)
        """Loads models one by one, while those that are loaded compute on."""

    def encoder(self, cancelled: Cancelled | None = None) -> EncoderInfo:
        """The configured sentence encoder, loaded now if necessary.

        Raises:
            Unavailable: it cannot be loaded.
        """
        info: EncoderInfo = self._info("encoder", cancelled)
        return info

    def translator(self, cancelled: Cancelled | None = None) -> TranslatorInfo:
        """The configured translator, loaded now if necessary.

        Raises:
            Unavailable: none is configured, or it cannot be loaded.
        """
        info: TranslatorInfo = self._info("translator", cancelled)
        return info

    def reranker(self, cancelled: Cancelled | None = None, seconds: float | None = None) -> RerankerInfo:
        """The configured reranker, loaded now if necessary; waits at most ``seconds``.

        Raises:
            Unavailable: it cannot be loaded.
        """
        info: RerankerInfo = self._info("reranker", cancelled, seconds)
        return info

    def reranker_name(self) -> str | None:
        """The name of the reranker, which its files say until it is loaded; None where none can be read."""
        info: RerankerInfo | None = self.description("reranker")
        if info is not None:
            return info.about.name
        return name_of(reranker_place(self._settings)) if has_reranker(self._settings) else None

    def reader(self, cancelled: Cancelled | None = None) -> SpanScorer:
        """The configured reader, loaded now if necessary; any thread may use its encoder's vocabulary.

        Raises:
            Unavailable: none is configured, or it cannot be loaded.
        """
        info: SpanScorer = self._info("reader", cancelled)
        return info

    def statement_reader(self, cancelled: Cancelled | None = None) -> StatementScorer:
        """The configured reader of statements, as :meth:`reader`.

        Raises:
            Unavailable: there is none, or it cannot be loaded.
        """
        info: StatementScorer = self._info("statement_reader", cancelled)
        return info

    def reasoner(self, cancelled: Cancelled | None = None) -> Reasoner:
        """The configured bridge with its LLM, loaded now if necessary; any thread may prepare questions with it.

        Raises:
            Unavailable: there is none, or it cannot be loaded.
        """
        info: Reasoner = self._info("reasoner", cancelled)
        return info

    def tagger(self, task: TaggerTask, cancelled: Cancelled | None = None) -> Tagger:
        """The tagger of a task, loaded now if necessary.

        Raises:
            Unavailable: there is none, or it cannot be loaded.
        """
        info: Tagger = self._info(tagger_model(task), cancelled)
        return info

    def begin_encoding(self, text: str) -> Future[EncodedQuery]:
        """Start to encode a query, with those of other requests that wait.

        Raises:
            TooManyRequests: the worker's queue is full.
            Unavailable: the worker hangs, or is closed.
        """
        if reason := self.stuck(wait_limit(self._settings.worker.worker_seconds)):
            raise Unavailable(reason)
        return self.worker.submit(Encode(len(text) > SHORT_QUERY), [text])[0]

    def trim(self) -> None:
        """Return memory that a load or large batches have freed to the system; glibc would keep it."""
        return_freed()

    def close(self) -> None:
        """End both workers, within a few seconds together."""
        until = time.monotonic() + _CLOSE_SECONDS
        for worker in self.workers:
            worker.stop()
        for worker in self.workers:
            worker.close(max(0.0, until - time.monotonic()))

    @property
    def workers(self) -> tuple[Worker, Worker]:
        """What computes, and what loads models."""
        return self.worker, self._loader

    def load(self, model: str, *, background: bool = False) -> list[Future[Any]]:
        """Begin to load a model; the result describes it.

        Raises:
            TooManyRequests: too many wait for models to be loaded.
            Unavailable: the service is stopping, or the loading of a model hangs.
        """
        if reason := self.loading_hangs():
            raise Unavailable(reason)
        return self._loader.submit(Load(model), [model], background=background)

    def description(self, model: str) -> Any:
        """The description of a loaded model; None for one that still has to be loaded through the queue."""
        loaded = self._loaded.get(model)
        return None if loaded is None else loaded[1]

    def may_be_of_encoder(self, identity: str) -> bool:
        """Whether vectors of this identity are the encoder's; until it is loaded, whether it has the same name."""
        encoder: EncoderInfo | None = self.description("encoder")
        return may_be_of_encoder(self._settings, identity) if encoder is None else encoder.recognises(identity)

    def failure(self, model: str) -> str | None:
        """Why a model could not be loaded; None if it was, or was not tried yet."""
        return str(self._failed[model][1]) if model in self._failed and model not in self._loaded else None

    def loading_hangs(self) -> str | None:
        """Why the loading of a model counts as hung; None if it makes progress."""
        running = self._loader.computing()
        hangs = running is not None and running[1] > _LOAD_SECONDS
        return f"a model has been loading for {running[1]:.0f} seconds" if running is not None and hangs else None

    def stuck(self, seconds: float = math.inf) -> str | None:
        """Why the worker counts as hung, which is a forward pass over its time limit; None if it makes progress.

        For a request that can wait for ``seconds``, it is hung after so long without progress: the request would only
        wait in vain, as another one did before it.
        """
        running = self.worker.computing()
        if running is None:
            return None
        taken = running[1]
        limit = min(self._settings.worker.worker_hung_seconds, NEARLY * seconds)
        return f"the models have been computing one batch for {taken:.0f} seconds" if taken > limit else None

    def _info(self, model: str, cancelled: Cancelled | None, seconds: float | None = None) -> Any:
        info = self.description(model)
        if info is not None:
            return info
        return gather(self.load(model), seconds or wait_limit(self._settings.worker.worker_seconds), cancelled)[0]

    def _limits(self, task: Any) -> Limits:
        if isinstance(task, Generate):
            return Limits(ANSWERS, self._settings.qa.reason_batch_tokens, padded=True)
        worker = self._settings.worker
        items, cost, seconds = worker.worker_batch, worker.worker_batch_chars, worker.worker_batch_seconds
        if isinstance(task, Score | ReadTask | Judge):
            items = cost = worker.worker_batch_tokens
            if isinstance(task, Score):
                seconds *= _SCORED
        elif isinstance(task, Embed):  # in the background: requests wait for a batch that is being computed
            cost = min(cost, _EMBED_CHARS)
        return Limits(items, cost, seconds=seconds or None)

    def _compute(self, task: Any, texts: list[Any]) -> Sequence[Any]:
        self._set_threads()
        if isinstance(task, Score):
            return self._score(texts)
        if isinstance(task, Translate):
            return translate_sentences(self._load("translator")[0], task, texts, self._settings.translation.beam)
        if isinstance(task, ReadTask):
            return find_spans(self._load("reader")[0], texts)
        if isinstance(task, Generate):
            reasoner = self._load(task.model)[0]
            results = advance_generations(reasoner, texts)
            if not reasoner.decoder.decoding:
                self.trim()
            return results
        if isinstance(task, Judge):
            return judge_statements(self._load("statement_reader")[0], texts)
        if isinstance(task, TagTexts):
            return tags(self._load(tagger_model(task.task))[0], texts)
        encoder, info = self._load("encoder")
        if isinstance(task, Embed):
            return embed_passages(encoder, info, texts, task.states)
        return encode_queries(encoder, info, texts)

    def _score(self, documents: list[list[Passage]]) -> list[float | Exception]:
        scorer: AnyScorer = self._load("reranker")[0]
        fault = InternalError("the model's score of a document is not a number")
        scores = scorer.scores(documents)
        return [score if math.isfinite(score) else fault for score in scores]

    def _load_on_thread(self, task: Load, models: Sequence[str]) -> Sequence[Any]:
        """Load a model on a thread that ends with it.

        A thread that has computed keeps OpenMP's threads for as long as it lives. Where those of all such threads are
        more than the processors, each product of the models waits for them a tenth longer.
        """
        done: Future[Any] = Future()

        def load() -> None:
            try:
                self._set_threads()
                done.set_result(self._load(task.model)[1])
            except BaseException as fault:
                done.set_exception(fault)
            gc.freeze()  # a collection of garbage reads all objects there are, and holds every thread for so long

        thread = Thread(target=load, name="dragoman-load", daemon=True)
        thread.start()
        thread.join()
        return [done.result()] * len(models)

    def _load(self, model: str) -> tuple[Any, Any]:
        if (loaded := self._loaded.get(model)) is not None:
            return loaded
        with self._loading:
            return self._loaded.get(model) or self._load_now(model)

    def _load_now(self, model: str) -> tuple[Any, Any]:
        if model in self._failed:
            moment, failure = self._failed[model]
            if time.monotonic() < moment + _RETRY_SECONDS:
                raise type(failure)(str(failure))
        started = time.perf_counter()
        try:
            loaded = LOADERS[model](self._settings, self._shared_encoder)
        except ServiceError:
            raise
        except Exception as fault:
            logger.warning("the %s cannot be loaded", model, exc_info=fault)
            missing = advice(fault) if isinstance(fault, ImportError) else None
            kind = NotInstalled if missing else Unavailable
            failure = kind(
                f"the {model} cannot be loaded: {without_folders(missing) if missing else _first_line(fault)}"
            )
            self._failed[model] = (time.monotonic(), failure)
            raise failure from fault
        self._loaded[model] = loaded
        logger.info("the %s is loaded", model)
        self._metrics.stage(f"load_{model}", time.perf_counter() - started)
        return loaded

    def _shared_encoder(self, place: str) -> tuple[Any, Encoder]:
        """A sentence encoder, and what it was made of. Searches and reranking share one: it takes much memory."""
        if place not in self._encoders:
            from dragoman.backbone.loading import load_encoder
            from dragoman.backbone.sentences import SentenceEncoder

            loaded = load_encoder(place, self._settings.models.device)
            encoder = SentenceEncoder(loaded, dtype=self._encoder_dtype(loaded))
            encoder.release()
            self._encoders[place] = encoder, loaded
            self.trim()  # its vocabulary and its weights were read several times as large
        return self._encoders[place]

    def _encoder_dtype(self, encoder: Encoder) -> torch.dtype:
        import torch

        from dragoman.backbone.products import fastest

        chosen = self._settings.models.encoder_precision
        if chosen != "auto":
            return cast("torch.dtype", getattr(torch, chosen))
        stored = self.stored_precision and getattr(torch, self.stored_precision)
        return fastest(next(encoder.parameters()).device.type, encoder.precisions, stored)

    def _set_threads(self) -> None:
        """Set the thread count on this thread, the worker's or that which loads: OpenMP keeps it per thread."""
        if hasattr(self._threads, "set"):
            return
        with suppress(ModuleNotFoundError):  # what loads a model says that it is missing
            import torch

            torch.set_num_threads(self._settings.models.torch_threads or cores.for_models())
        self._threads.set = True


def _is_urgent(task: Any) -> bool:
    """Whether a search waits for it, and it does not take long."""
    return (isinstance(task, Encode) and not task.long) or (isinstance(task, TagTexts) and task.query)


def _first_line(fault: Exception) -> str:
    lines = without_folders(str(fault)).strip().splitlines()
    return lines[0] if lines else type(fault).__name__
