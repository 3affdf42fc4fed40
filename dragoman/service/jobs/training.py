"""Jobs that train a table: the text that was uploaded, kept in a file, and the work on it.

The file is in the data directory until the job is over. A job that is interrupted by a stop begins anew.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from dragoman.deadline import WorkCancelled
from dragoman.engine.core.errors import InvalidRequest, NotFound
from dragoman.engine.settings import Settings
from dragoman.engine.tables.training.parallel_text import Columns
from dragoman.engine.tables.training.table_training import TrainingError, TrainingReport, train_table
from dragoman.lexicon.table.compose import Kind
from dragoman.store.jobs import Answered, JobInfo, JobRepository
from dragoman.store.tables.service import Tables, Upload, Uploaded
from dragoman.store.tables.table_reader import ReadAs

TRAIN: Literal["train"] = "train"
_FOLDER = "training"
_NOTIFY_SECONDS = 1.0
_HEAD_BYTES = 64
_BLOCK = 1 << 16
_PHASES = {"read": "reading sentence pairs", "index": "numbering word pairs", "align": "aligning", "count": "counting"}
_READ_AS = ReadAs("tsv", "utf-8", "tab", ".", "source,target,probability,inverse_probability", False)


@dataclass(frozen=True, slots=True)
class Training:
    """What is trained: the parameters of the request."""

    name: str
    source: str
    target: str
    format: str = "auto"
    """tsv, tmx, or auto for what the text shows."""
    columns: str = "target,source"
    kind: Kind = "statistical"
    weight: float = 1.0
    activate: bool = False
    created_by: str | None = None

    def as_upload(self) -> Upload:
        """The version that comes of it."""
        return Upload(
            name=self.name,
            source=self.source,
            target=self.target,
            read_as=_READ_AS,
            kind=self.kind,
            weight=self.weight,
            activate=self.activate,
            created_by=self.created_by,
        )

    def as_fields(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


class TableTrainer:
    """Keeps the texts of training jobs, and trains. Every method may be called from any thread."""

    def __init__(self, jobs: JobRepository, tables: Tables, settings: Settings) -> None:
        self._jobs = jobs
        self._tables = tables
        self._folder = settings.store.data_dir / _FOLDER
        self._most_pairs = settings.tables.table_training_pairs

    def check(self, training: Training) -> None:
        """
        Raises:
            InvalidRequest: a name, a language or columns that are not allowed.
            Conflict: the table exists with other languages.
        """
        self._tables.check(training.as_upload())
        try:
            Columns.parse(training.columns)
        except TrainingError as fault:
            raise InvalidRequest(f"columns: {fault}") from fault

    def keep(self, id: str, training: Training, parts: Iterator[bytes]) -> None:
        """Store the text of a job, unpacked; its name says what it is."""
        self._folder.mkdir(parents=True, exist_ok=True)
        unnamed = self._folder / f"{id}.part"
        head = b""
        with unnamed.open("wb") as file:
            for part in parts:
                head = head or part.lstrip(b"\xef\xbb\xbf \r\n\t")[:_HEAD_BYTES]
                file.write(part)
        shown = "tmx" if head.startswith((b"<?xml", b"<tmx", b"<!DOCTYPE", b"\xff\xfe", b"\xfe\xff")) else "tsv"
        unnamed.rename(self._folder / f"{id}.{shown if training.format == 'auto' else training.format}")

    def forget(self, id: str) -> None:
        """Remove the text of a job."""
        for path in self._folder.glob(f"{id}.*"):
            path.unlink(missing_ok=True)

    def list_texts(self) -> set[str]:
        """The jobs whose texts are there."""
        return {path.name.partition(".")[0] for path in self._folder.glob("job_*.*")}

    def forget_others(self, texts: Collection[str], needed: Collection[str]) -> None:
        """Remove the texts of jobs that are over."""
        for id in set(texts) - set(needed):
            self.forget(id)

    def work(self, job: JobInfo, cancelled: Callable[[], bool]) -> Answered | None:
        """Train the table of a job and store it; None if the job was cancelled.

        Raises:
            NotFound: its text is not there.
            ServiceError: the table cannot be stored now.
        """
        packed = self._jobs.request(job.id, 1)
        if packed is None:
            return None
        training = Training(**json.loads(zlib.decompress(packed)))
        text = next((path for path in self._folder.glob(f"{job.id}.t*")), None)
        if text is None:
            raise NotFound("the text of the training is not on this machine any more: send it again")
        try:
            with TemporaryDirectory(prefix="table-", dir=self._folder) as folder:
                output = Path(folder) / "table.tsv"
                notify = _Notify(self._jobs, job.id, self._most_pairs, cancelled)
                report = train_table([text], training.source, training.target, output, training.columns, notify=notify)
                with output.open("rb") as stream:
                    done = self._tables.upload(training.as_upload(), iter(lambda: stream.read(_BLOCK), b""))
        except WorkCancelled:
            return None
        except TrainingError as fault:
            reason = str(fault).replace(str(text), "the text")
            return Answered(1, True, json.dumps({"status": 422, "error_type": "validation", "message": reason}))
        return Answered(1, False, json.dumps(_response(training, done, report, text), ensure_ascii=False))


def _response(training: Training, done: Uploaded, report: TrainingReport, text: Path) -> dict[str, Any]:
    return {
        "name": training.name,
        "version": done.version,
        "source_terms": done.source_terms,
        "entries": done.entries,
        "active": done.active,
        "pairs_read": report.corpus.read,
        "pairs_used": report.corpus.kept,
        "left_out": [line.replace(str(text), "the text") for line in report.left_out()],
    }


class _Notify:
    """Tells a job how far its training is, once a second, and ends one that is cancelled or too large."""

    def __init__(self, jobs: JobRepository, id: str, most_pairs: int, cancelled: Callable[[], bool]) -> None:
        self._jobs = jobs
        self._id = id
        self._most_pairs = most_pairs
        self._cancelled = cancelled
        self._due = 0.0

    def __call__(self, phase: str, completed: int, total: int) -> None:
        if self._cancelled():
            raise WorkCancelled("the job is cancelled")
        if phase == "read" and completed > self._most_pairs:
            raise TrainingError(f"the text has more than {self._most_pairs:,} sentence pairs")
        moment = time.monotonic()
        if moment >= self._due:
            self._due = moment + _NOTIFY_SECONDS
            self._jobs.save(self._id, [], f"{_PHASES[phase]}: {completed:,}" + (f" of {total:,}" if total else ""))
