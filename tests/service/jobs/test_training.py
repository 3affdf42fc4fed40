"""Jobs that train a table outlast a stop, end when they are cancelled, and leave no text behind."""

from __future__ import annotations

import json

import pytest

from dragoman.engine.core.errors import Conflict
from dragoman.engine.settings import Settings
from dragoman.service.jobs.submission import NewJob
from dragoman.service.jobs.training import TRAIN, TableTrainer, Training
from dragoman.service.runtime import Runtime
from dragoman.store.jobs import JobInfo, JobRepository
from tests.support.searching import running
from tests.support.serving import wait_for

pytestmark = pytest.mark.slow

TEXT = b"Das Haus.\tThe house.\nDas Buch.\tThe book.\nEin Buch.\tA book.\nEin Haus.\tA house.\n"
WORDS = Training(name="words", source="en", target="de", activate=True)


def submit(runtime: Runtime, text: bytes = TEXT, key: str | None = None, training: Training = WORDS) -> str:
    return runtime.jobs.submit(NewJob(TRAIN, "tag", key, training=training), iter([text])).id


def finish(runtime: Runtime, id: str) -> JobInfo:
    wait_for(lambda: runtime.jobs.get(id).finished)
    return runtime.jobs.get(id)


def texts(settings: Settings) -> list[str]:
    return [path.name for path in (settings.store.data_dir / "training").glob("*")]


def test_a_training_outlasts_a_stop(settings: Settings) -> None:
    stopped = Runtime(settings)
    try:
        trained, lost, given_up = submit(stopped, key="once"), submit(stopped, training=WORDS), submit(stopped)
        assert submit(stopped, key="once") == trained
        with pytest.raises(Conflict):
            submit(stopped, TEXT + TEXT, key="once")
        assert stopped.jobs.cancel(given_up).status == "cancelled"
        assert sorted(texts(settings)) == sorted(f"{id}.tsv" for id in (trained, lost, given_up))
        (settings.store.data_dir / "training" / f"{lost}.tsv").unlink()
        jobs = JobRepository(stopped.store)
        trainer = TableTrainer(jobs, stopped.tables, settings)
        assert trainer.work(jobs.get(trained), lambda: True) is None
    finally:
        stopped.close()
    with running(settings) as runtime:
        assert finish(runtime, trained).status == "completed"
        (line,) = b"".join(runtime.jobs.results(trained)).splitlines()
        assert json.loads(line)["response"]["version"] == 1
        assert [version.active for version in runtime.tables.get("words").versions] == [True]
        failed = finish(runtime, lost)
        assert (failed.status, failed.message) == (
            "failed",
            "the text of the training is not on this machine any more: send it again",
        )
        wait_for(lambda: texts(settings) == [])


def test_a_text_beyond_the_bound_is_an_error(settings: Settings) -> None:
    with running(settings.replace(table_training_pairs=3)) as runtime:
        job = finish(runtime, submit(runtime))
        assert (job.status, job.failed) == ("completed", 1)
        (line,) = b"".join(runtime.jobs.errors(job.id)).splitlines()
        assert json.loads(line)["error"]["message"] == "the text has more than 3 sentence pairs"
