"""The neural models of the service, as those who need them ask for them: in this process, or in worker processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from dragoman.backbone.pretrained.packages import look_in
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.priority import wait_limit
from dragoman.engine.models.drafts import SourceSentence
from dragoman.engine.models.encoding import EncodedQuery, EncoderInfo
from dragoman.engine.models.generation import Generating, Prompted, ReasonerInfo
from dragoman.engine.models.loading import RerankerInfo, has_reranker, may_be_of_encoder, reranker_place
from dragoman.engine.models.model_host import NEARLY, ModelHost
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.readers import ReaderInfo
from dragoman.engine.models.reading import AnswersRead, FindAnswers, JudgeStatement, StatementRead
from dragoman.engine.models.tagging import SHORT_QUERY, TaggerInfo, TaggerTask, tagger_model
from dragoman.engine.models.tasks import Embed, Encode, Load, Score
from dragoman.engine.models.translating import TranslatorInfo
from dragoman.engine.observability.gauges import Worker
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
from dragoman.ranking.about import RerankerAbout, name_of

__all__ = ["NEARLY", "Embed", "Encode", "Host", "Load", "Models", "Queue", "Score"]


class Queue(Worker, Protocol):
    """Takes the items of requests, and computes those of many together; see :class:`Worker`."""

    def submit(
        self, task: Any, contents: Sequence[Any], background: bool = False, costs: Sequence[int] | None = None
    ) -> list[Future[Any]]: ...

    def admit(self, task: Any, items: int) -> None: ...


class Host(Protocol):
    """Where the models are: :class:`ModelHost` has them in this process."""

    @property
    def worker(self) -> Queue: ...

    @property
    def workers(self) -> Sequence[Worker]:
        """Those of this process, for its gauges."""

    def load(self, model: str, *, background: bool = False) -> list[Future[Any]]: ...

    def description(self, model: str) -> Any: ...

    def failure(self, model: str) -> str | None: ...

    def loading_hangs(self) -> str | None: ...

    def stuck(self, seconds: float = math.inf) -> str | None: ...

    def read(self, work: FindAnswers | JudgeStatement, cancelled: Cancelled | None) -> Any: ...

    def window(self, text: str, start: int, tokens: int) -> tuple[int, int]: ...

    def generate(
        self, model: str, prompts: Sequence[Prompted], emit: Callable[[str], None] | None = None
    ) -> list[Generating]: ...

    def translate(self, source: str, target: str, sentences: Sequence[SourceSentence]) -> list[Generating]: ...

    def trim(self) -> None: ...

    def close(self) -> None: ...


class Models:
    """The models and what they are asked for. Safe from any thread.

    Nothing is imported or loaded before the first request for a model.
    """

    def __init__(self, settings: Settings, metrics: Metrics, host: Host | None = None) -> None:
        """Without ``host`` the models are loaded in this process."""
        self._settings = settings
        look_in(settings.store.models_dir)
        self.host: Host = host or ModelHost(settings, metrics)

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
        info: RerankerInfo | RerankerAbout | None = self.description("reranker")
        if info is not None:  # of another process there is no scorer here
            return info.about.name if isinstance(info, RerankerInfo) else info.name
        return name_of(reranker_place(self._settings)) if has_reranker(self._settings) else None

    def reader(self, cancelled: Cancelled | None = None) -> ReaderInfo:
        """The configured reader, loaded now if necessary.

        Raises:
            Unavailable: none is configured, or it cannot be loaded.
        """
        info: ReaderInfo = self._info("reader", cancelled)
        return info

    def statement_reader(self, cancelled: Cancelled | None = None) -> ReaderInfo:
        """The configured reader of statements, as :meth:`reader`.

        Raises:
            Unavailable: there is none, or it cannot be loaded.
        """
        info: ReaderInfo = self._info("statement_reader", cancelled)
        return info

    def reasoner(self, cancelled: Cancelled | None = None) -> ReasonerInfo:
        """The configured bridge with its LLM, loaded now if necessary.

        Raises:
            Unavailable: there is none, or it cannot be loaded.
        """
        info: ReasonerInfo = self._info("reasoner", cancelled)
        return info

    def tagger(self, task: TaggerTask, cancelled: Cancelled | None = None) -> TaggerInfo:
        """The tagger of a task, loaded now if necessary.

        Raises:
            Unavailable: there is none, or it cannot be loaded.
        """
        info: TaggerInfo = self._info(tagger_model(task), cancelled)
        return info

    def begin_encoding(self, text: str) -> Future[EncodedQuery]:
        """Start to encode a query, with those of other requests that wait.

        Raises:
            TooManyRequests: the worker's queue is full.
            Unavailable: the worker hangs, or is closed.
        """
        return self.begin_encodings([text])[0]

    def begin_encodings(self, texts: Sequence[str]) -> list[Future[EncodedQuery]]:
        """Start to encode several queries, as :meth:`begin_encoding` does one."""
        if reason := self.stuck(wait_limit(self._settings.worker.worker_seconds)):
            raise Unavailable(reason)
        return self.worker.submit(Encode(max(map(len, texts), default=0) > SHORT_QUERY), texts)

    def find_answers(self, work: FindAnswers, cancelled: Cancelled | None = None) -> AnswersRead:
        """The best answers in texts.

        Raises:
            InvalidRequest: the question is too long for the reader.
            ServiceError: the worker was full, too slow or failed, or the client disconnected.
        """
        answers: AnswersRead = self.host.read(work, cancelled)
        return answers

    def judge_statement(self, work: JudgeStatement, cancelled: Cancelled | None = None) -> StatementRead | None:
        """Whether a statement is true by texts; None where there is nothing to read. Raises as :meth:`find_answers`."""
        judgement: StatementRead | None = self.host.read(work, cancelled)
        return judgement

    def window(self, text: str, start: int, tokens: int) -> tuple[int, int]:
        """The span of a text that has at most so many of the LLM's tokens; see :meth:`Reasoner.window`."""
        return self.host.window(text, start, tokens)

    def generate(self, prompt: Prompted, emit: Callable[[str], None] | None = None) -> Generating:
        """Queue an answer of the LLM; `emit` receives its pieces, on another thread.

        Raises:
            InvalidRequest: the question is too long, by itself or with what is quoted.
            TooManyRequests: the worker's queue is full.
        """
        (generating,) = self.host.generate("reasoner", [prompt], emit)
        return generating

    def translate(self, source: str, target: str, sentences: Sequence[SourceSentence]) -> list[Generating]:
        """Queue the translations of sentences, all of them or none; a result is :class:`Drafts`.

        Raises:
            InvalidRequest: a sentence is too long for the translator.
            TooManyRequests: the worker's queue is full.
        """
        return self.host.translate(source, target, sentences)

    def trim(self) -> None:
        """Return memory that a load or large batches have freed to the system; glibc would keep it."""
        self.host.trim()

    def close(self) -> None:
        """End what computes, or the connections to it, within a few seconds."""
        self.host.close()

    @property
    def worker(self) -> Queue:
        """What computes."""
        return self.host.worker

    @property
    def workers(self) -> Sequence[Worker]:
        """What computes in this process, and what loads models."""
        return self.host.workers

    def load(self, model: str, *, background: bool = False) -> list[Future[Any]]:
        """Begin to load a model; the result describes it.

        Raises:
            TooManyRequests: too many wait for models to be loaded.
            Unavailable: the service is stopping, or the loading of a model hangs.
        """
        return self.host.load(model, background=background)

    def description(self, model: str) -> Any:
        """The description of a loaded model; None for one that still has to be loaded through the queue."""
        return self.host.description(model)

    def may_be_of_encoder(self, identity: str) -> bool:
        """Whether vectors of this identity are the encoder's; until it is loaded, whether it has the same name."""
        encoder: EncoderInfo | None = self.description("encoder")
        return may_be_of_encoder(self._settings, identity) if encoder is None else encoder.recognises(identity)

    def failure(self, model: str) -> str | None:
        """Why a model could not be loaded; None if it was, or was not tried yet."""
        return self.host.failure(model)

    def loading_hangs(self) -> str | None:
        """Why the loading of a model counts as hung; None if it makes progress."""
        return self.host.loading_hangs()

    def stuck(self, seconds: float = math.inf) -> str | None:
        """Why the worker counts as hung, which is a forward pass over its time limit; None if it makes progress.

        For a request that can wait for ``seconds``, it is hung after so long without progress: the request would only
        wait in vain, as another one did before it.
        """
        return self.host.stuck(seconds)

    def _info(self, model: str, cancelled: Cancelled | None, seconds: float | None = None) -> Any:
        info = self.description(model)
        if info is not None:
            return info
        return gather(self.load(model), seconds or wait_limit(self._settings.worker.worker_seconds), cancelled)[0]
