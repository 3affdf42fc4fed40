"""The neural models in this process: loaded when the first request needs them, on a thread, used by the worker's."""

from __future__ import annotations

import gc
import logging
import math
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock, Thread, local
from typing import TYPE_CHECKING, Any, cast

from dragoman import cores
from dragoman.backbone.pretrained.packages import look_in
from dragoman.engine.core.errors import InternalError, NotInstalled, ServiceError, Unavailable
from dragoman.engine.core.memory import return_freed
from dragoman.engine.core.names import without_folders
from dragoman.engine.models.drafts import SourceSentence, join_drafts, prompts_of
from dragoman.engine.models.encoding import embed_passages, embed_texts, encode_queries
from dragoman.engine.models.generation import (
    Generate,
    Generating,
    Generation,
    Prompted,
    advance_generations,
    streams_of,
)
from dragoman.engine.models.loading import LOADERS
from dragoman.engine.models.queue.batches import Limits
from dragoman.engine.models.queue.worker import Cancelled, Worker
from dragoman.engine.models.readers import Judge, ReadTask, find_spans, judge_statements
from dragoman.engine.models.reading import FindAnswers, JudgeStatement, find_answers, judge_statement
from dragoman.engine.models.tagging import TagTexts, tagger_model, tags
from dragoman.engine.models.tasks import Embed, EmbedText, Encode, Load, Score
from dragoman.engine.models.translating import Translate, translate_sentences
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
from dragoman.installation import advice

if TYPE_CHECKING:
    import torch

    from dragoman.backbone.encoder import Encoder
    from dragoman.ranking.passages import Passage
    from dragoman.ranking.scoring import AnyScorer

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


StoredPrecision = Callable[[], str | None]
"""Tells the precision of the embeddings that are stored; None if there are none."""


class ModelHost:
    """Loads the models and computes with them. Safe from any thread.

    Nothing is imported or loaded before the first request for a model. A model that cannot be loaded is retried after
    half a minute.
    """

    def __init__(self, settings: Settings, metrics: Metrics, stored_precision: StoredPrecision = lambda: None) -> None:
        """The encoder computes in the precision of the embeddings that are stored, where this machine has it."""
        self._stored_precision = stored_precision
        self._settings = settings
        look_in(settings.store.models_dir)
        self._metrics = metrics
        self._loaded: dict[str, tuple[Any, Any]] = {}
        self._encoders: dict[str, tuple[Any, Encoder]] = {}
        self._failed: dict[str, tuple[float, Unavailable]] = {}
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

    def read(self, work: FindAnswers | JudgeStatement, cancelled: Cancelled | None) -> Any:
        """The best answers to a question, or whether a statement is true; on this thread, which prepares the texts.

        Raises:
            InvalidRequest: the question or statement is too long for the reader.
            ServiceError: the worker was full, too slow or failed, or the client disconnected.
        """
        seconds = self._settings.worker.worker_seconds
        if isinstance(work, FindAnswers):
            return find_answers(self._model("reader"), self.worker, seconds, work, cancelled)
        return judge_statement(self._model("statement_reader"), self.worker, seconds, work, cancelled)

    def window(self, text: str, start: int, tokens: int) -> tuple[int, int]:
        """The span of a text that has at most so many of the LLM's tokens; see :meth:`Reasoner.window`."""
        span: tuple[int, int] = self._model("reasoner").window(text, start, tokens)
        return span

    def generate(
        self, model: str, prompts: Sequence[Prompted], emit: Callable[[str], None] | None = None
    ) -> list[Generating]:
        """Queue the answers of a bridge, all of them or none; `emit` receives their pieces on the worker's thread.

        Raises:
            InvalidRequest: a text is too long, by itself or with what is quoted.
            TooManyRequests: the worker's queue is full.
        """
        generations = [Generation(stream, emit) for stream in streams_of(self._model(model), prompts)]
        costs = [generation.stream.size + generation.stream.limit for generation in generations]
        futures = self.worker.submit(Generate(model), generations, costs=costs)
        return [
            Generating(future, generation.cancelled.set)
            for future, generation in zip(futures, generations, strict=True)
        ]

    def translate(self, source: str, target: str, sentences: Sequence[SourceSentence]) -> list[Generating]:
        """Queue the drafts of sentences, all of them or none; a result is :class:`Drafts`.

        Raises as :meth:`generate`.
        """
        if self.description("translator").bridge:
            prompts = [list(prompts_of(sentence)) for sentence in sentences]
            drafts = iter(self.generate("translator", [prompt for those in prompts for prompt in those]))
            return [join_drafts([next(drafts) for _ in those]) for those in prompts]
        costs = [len(sentence.text) for sentence in sentences]
        return [Generating(future) for future in self.worker.submit(Translate(source, target), sentences, costs=costs)]

    def _model(self, model: str) -> Any:
        """A model; who has not had it loaded before waits for that here."""
        return self._load(model)[0]

    def _limits(self, task: Any) -> Limits:
        if isinstance(task, Generate):
            return Limits(ANSWERS, self._settings.qa.reason_batch_tokens, padded=True)
        worker = self._settings.worker
        items, cost, seconds = worker.worker_batch, worker.worker_batch_chars, worker.worker_batch_seconds
        if isinstance(task, Score | ReadTask | Judge):
            items = cost = worker.worker_batch_tokens
            if isinstance(task, Score):
                seconds *= _SCORED
        elif isinstance(task, Embed | EmbedText):  # searches wait for a batch that is being computed
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
        if isinstance(task, EmbedText):
            return embed_texts(encoder, task.kind, texts)
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
        self._set_threads()
        self._loaded[model] = loaded
        self.trim()  # its vocabulary and its weights were read several times as large
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
        return self._encoders[place]

    def _encoder_dtype(self, encoder: Encoder) -> torch.dtype:
        import torch

        from dragoman.backbone.products import fastest

        self._set_threads()  # before a measurement
        chosen = self._settings.models.encoder_precision
        if chosen != "auto":
            return cast("torch.dtype", getattr(torch, chosen))
        stored = self._stored_precision()
        first = None if stored is None else getattr(torch, stored)
        return fastest(next(encoder.parameters()).device.type, encoder.precisions, first)

    def _set_threads(self) -> None:
        """Set the thread count on this thread, the worker's or that which loads: OpenMP keeps it per thread."""
        torch = sys.modules.get("torch")  # a model that needs it has imported it
        if torch is None or hasattr(self._threads, "set"):
            return
        torch.set_num_threads(self._settings.models.torch_threads or cores.for_models())
        self._threads.set = True


def _is_urgent(task: Any) -> bool:
    """Whether a search waits for it, and it does not take long."""
    return (isinstance(task, Encode) and not task.long) or (isinstance(task, TagTexts) and task.query)


def _first_line(fault: Exception) -> str:
    lines = without_folders(str(fault)).strip().splitlines()
    return lines[0] if lines else type(fault).__name__
