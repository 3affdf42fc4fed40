"""Jobs beside live traffic and beside each other, with tables that change and parts that fail."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import func, select, update

from dragoman.engine.core.errors import Conflict, TooLarge, TooManyRequests
from dragoman.engine.core.priority import Traffic, background, in_background, wait_limit
from dragoman.engine.settings import Settings
from dragoman.service.jobs import job_scheduler, submission
from dragoman.service.jobs.submission import NewJob
from dragoman.service.rerank.schemas import RerankV1
from dragoman.service.runtime import Runtime
from dragoman.store import jobs as repository
from dragoman.store.jobs import JobInfo
from dragoman.store.models import Job, JobLine, now
from dragoman.store.tables.service import Upload
from tests.support.job_client import FINISHED, TABLE, body, rerank_lines
from tests.support.modelling import LinkScorer, WordEncoder, standing_in
from tests.support.searching import running
from tests.support.serving import wait_for

pytestmark = pytest.mark.slow

CHANGED = TABLE.replace(b"Asche\t0.6\t0.6", b"Asche\t0.2\t0.2")


@pytest.fixture
def scorer(monkeypatch: pytest.MonkeyPatch) -> Iterator[LinkScorer]:
    made = LinkScorer()
    with standing_in(monkeypatch, WordEncoder(), None, made):
        yield made
        made.barrier.set()


@contextmanager
def service(settings: Settings, scorer: LinkScorer, **more: Any) -> Iterator[Runtime]:
    with pytest.MonkeyPatch.context() as patched, running(settings.replace(**more)) as runtime:
        patched.setattr(job_scheduler, "CHUNK_LINES", 4)
        try:
            yield runtime
        finally:
            scorer.barrier.set()


def submit(runtime: Runtime, lines: list[dict[str, Any]], key: str | None = None) -> str:
    return runtime.jobs.submit(NewJob("rerank", "tag", key), iter([body(lines)])).id


def finished(runtime: Runtime, id: str) -> JobInfo:
    wait_for(lambda: runtime.jobs.get(id).status in FINISHED)
    return runtime.jobs.get(id)


def read(lines: Iterator[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in b"".join(lines).splitlines()]


def scores(runtime: Runtime, id: str) -> list[dict[int, float]]:
    found = [one["response"]["results"] for one in read(runtime.jobs.results(id))]
    return [{one["index"]: round(one["relevance_score"], 3) for one in results} for results in found]


def versions(runtime: Runtime, id: str) -> set[int]:
    """Of the tables that the results of a job name."""
    metas = [one["response"]["meta"] for one in read(runtime.jobs.results(id))]
    return {table["version"] for meta in metas for table in meta["translation"]["tables"]}


def held(scorer: LinkScorer) -> None:
    """Wait until the scorer has a batch that it does not finish."""
    before = len(scorer.batches)
    scorer.barrier.clear()
    wait_for(lambda: len(scorer.batches) > before)


def upload_table(runtime: Runtime, content: bytes) -> None:
    runtime.tables.upload(Upload("words", "en", "de", activate=True), iter([content]))


def test_all_lines_of_a_job_see_the_tables_of_its_beginning(settings: Settings, scorer: LinkScorer) -> None:
    scorer.barrier.clear()
    with service(settings, scorer) as runtime:
        upload_table(runtime, TABLE)
        id = submit(runtime, rerank_lines(12))
        wait_for(lambda: bool(scorer.batches))
        upload_table(runtime, CHANGED)
        with pytest.raises(Conflict, match=f"version 1 of table 'words' is needed by the unfinished job '{id}'"):
            runtime.tables.delete("words", 1)
    with service(settings, scorer) as runtime:  # and after a restart
        done = finished(runtime, id)
        assert [(one["name"], one["version"]) for one in done.table_versions] == [("words", 1)]
        first = scores(runtime, id)
        assert len(first) == 12 and first[0][1] == 0.661
        assert versions(runtime, id) == {1}
        runtime.tables.delete("words", 1)
        again = submit(runtime, rerank_lines(12))
        assert finished(runtime, again).table_versions[0]["version"] == 2
        assert scores(runtime, again)[0][1] == 0.221
        assert versions(runtime, again) == {2}


def test_requests_go_before_the_lines_of_a_job(tmp_path: Path, scorer: LinkScorer) -> None:
    with service(Settings.load(data_dir=tmp_path), scorer, job_threads=4) as runtime:
        upload_table(runtime, TABLE)
        scorer.barrier.clear()
        id = submit(runtime, rerank_lines(40))
        wait_for(lambda: bool(scorer.batches))
        asked = RerankV1(query="ash", query_language="en", document_language="de", documents=["Asche " * 9] * 3)
        pending = runtime.rerank_requests.begin(asked.as_query(), asked.texts()).pending
        batches = len(scorer.batches)
        scorer.barrier.set()
        pending.result(time.monotonic() + 60)
        assert [9, 9, 9] in scorer.batches[batches : batches + 2]  # one batch in eight is a job's all the same
        assert finished(runtime, id).completed == 40


def test_a_short_job_does_not_wait_for_a_long_one(
    tmp_path: Path, scorer: LinkScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_scheduler, "TURN_SECONDS", 0.01)
    with service(Settings.load(data_dir=tmp_path), scorer, jobs_at_a_time=1) as runtime:
        scorer.barrier.clear()
        long = submit(runtime, rerank_lines(3000))
        wait_for(lambda: bool(scorer.batches))
        short = submit(runtime, rerank_lines(4))
        scorer.barrier.set()
        assert finished(runtime, short).completed == 4
        assert runtime.jobs.get(long).status == "in_progress"
        runtime.jobs.cancel(long)
        finished(runtime, long)


def test_what_was_done_of_a_cancelled_job_stays(settings: Settings, scorer: LinkScorer) -> None:
    with service(settings, scorer) as runtime:
        id = submit(runtime, rerank_lines(500))
        wait_for(lambda: runtime.jobs.get(id).completed > 0)
        held(scorer)
        with pytest.raises(Conflict, match="the job is in_progress: cancel it first"):
            runtime.jobs.delete(id)
        assert runtime.jobs.cancel(id).status == "cancelling"
        scorer.barrier.set()
        done = finished(runtime, id)
        assert done.status == runtime.jobs.cancel(id).status == "cancelled"
        assert done.completed + done.failed == 500 and done.completed and done.failed
        results, errors = read(runtime.jobs.results(id)), read(runtime.jobs.errors(id))
        assert (len(results), len(errors)) == (done.completed, done.failed)
        assert {one["error"]["error_type"] for one in errors} == {"cancelled"}
        assert Counter(one["custom_id"] for one in results + errors) == {f"q{n}": 1 for n in range(500)}
        runtime.jobs.delete(id)
        with runtime.store.read() as session:
            assert session.scalar(select(func.count()).select_from(JobLine)) == 0


def test_a_job_that_has_not_begun_is_cancelled_at_once(tmp_path: Path, scorer: LinkScorer) -> None:
    with service(Settings.load(data_dir=tmp_path), scorer, jobs_at_a_time=1, jobs_unfinished=2) as runtime:
        scorer.barrier.clear()
        submit(runtime, rerank_lines(50))
        wait_for(lambda: bool(scorer.batches))
        waiting = submit(runtime, rerank_lines(3))
        with pytest.raises(TooManyRequests, match="2 jobs are unfinished"):
            submit(runtime, rerank_lines(3))
        assert runtime.jobs.cancel(waiting).status == "cancelled"
        assert len(read(runtime.jobs.errors(waiting))) == 3


def test_one_key_has_half_of_the_unfinished_jobs(tmp_path: Path, scorer: LinkScorer) -> None:
    with service(Settings.load(data_dir=tmp_path), scorer, jobs_at_a_time=1, jobs_unfinished=4) as runtime:
        scorer.barrier.clear()

        def made(key: str) -> str:
            return runtime.jobs.submit(NewJob("rerank", "tag", key_id=key), iter([body(rerank_lines(3))])).id

        first = [made("first"), made("first")]
        with pytest.raises(TooManyRequests, match="2 jobs of this key are unfinished"):
            made("first")
        made("second")
        runtime.jobs.cancel(first[1])
        wait_for(lambda: runtime.jobs.get(first[1]).status in FINISHED)
        made("first")
        made("second")
        with pytest.raises(TooManyRequests, match="4 jobs are unfinished"):
            made("third")
        scorer.barrier.set()


def test_a_job_between_two_turns_is_cancelled_while_another_has_its_turn(
    tmp_path: Path, scorer: LinkScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_scheduler, "TURN_SECONDS", 0.01)
    with service(Settings.load(data_dir=tmp_path), scorer, jobs_at_a_time=1) as runtime:
        jobs = [submit(runtime, rerank_lines(3000)) for _ in range(3)]
        wait_for(lambda: all(runtime.jobs.get(id).completed for id in jobs))  # each has had a turn, and none is done
        held(scorer)
        runs = runtime.jobs._runner._runs
        between = [id for id in jobs if runs[id].thread is None]
        assert len(between) == 2
        for id in between:
            runtime.jobs.cancel(id)
            assert finished(runtime, id).status == "cancelled"
        scorer.barrier.set()
        (last,) = set(jobs) - set(between)
        assert runtime.jobs.cancel(last).status == "cancelling"
        assert finished(runtime, last).status == "cancelled"


def test_a_job_expires_with_what_is_done(tmp_path: Path, scorer: LinkScorer) -> None:
    scorer.barrier.clear()
    with service(Settings.load(data_dir=tmp_path), scorer, job_keep_hours=1e-9) as runtime:
        id = submit(runtime, rerank_lines(20))
        wait_for(lambda: bool(scorer.batches))
        with runtime.store.write() as session:
            session.execute(update(Job).values(expires_at=now()))
        scorer.barrier.set()
        done = finished(runtime, id)
        assert done.status == "expired" and done.completed + done.failed == 20
        assert {one["error"]["error_type"] for one in read(runtime.jobs.errors(id))} == {"expired"}
        runtime.jobs._runner._clean()
        assert runtime.jobs.all(10) == []


def test_a_job_waits_for_what_is_down_and_gives_lines_up_after_a_while(tmp_path: Path, scorer: LinkScorer) -> None:
    down = {"worker_url": "http://127.0.0.1:9", "job_retry_seconds": 2.0}
    with service(Settings.load(data_dir=tmp_path), scorer, **down) as runtime:
        id = submit(runtime, rerank_lines(3))
        wait_for(lambda: runtime.jobs.get(id).message is not None)
        assert runtime.jobs.get(id).message == "waiting: the worker cannot be reached: ConnectError"
        assert runtime.jobs.get(id).status == "in_progress"
        assert finished(runtime, id).failed == 3
        assert {one["error"]["status"] for one in read(runtime.jobs.errors(id))} == {503}


def test_a_line_that_fails_does_so_alone(tmp_path: Path, scorer: LinkScorer) -> None:
    lines = rerank_lines(3)
    lines[1]["documents"] = ["poison", "poison poison"]
    with service(Settings.load(data_dir=tmp_path), scorer) as runtime:
        id = submit(runtime, lines)
        assert finished(runtime, id).completed == 2
        (error,) = read(runtime.jobs.errors(id))
        assert (error["custom_id"], error["line"], error["error"]["status"]) == ("q1", 2, 500)


def test_large_answers_are_read_some_at_a_time(
    tmp_path: Path, scorer: LinkScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service(Settings.load(data_dir=tmp_path), scorer) as runtime:
        id = submit(runtime, rerank_lines(7))
        finished(runtime, id)
        (whole,) = runtime.jobs.results(id)
        line = len(whole) // 7
        for chars, batches in ((1, 7), (3 * line, range(3, 6)), (10 * line, 1)):
            monkeypatch.setattr(repository, "_READ_CHARS", chars)
            parts = list(runtime.jobs.results(id))
            assert b"".join(parts) == whole
            assert len(parts) in (batches if isinstance(batches, range) else (batches,))
        assert list(runtime.jobs.errors(id)) == []


def test_limits(tmp_path: Path, scorer: LinkScorer) -> None:
    with service(Settings.load(data_dir=tmp_path), scorer, job_lines=5, rerank_documents=2) as runtime:
        with pytest.raises(TooLarge, match="line 6: a job has at most 5 lines; no job was made"):
            submit(runtime, rerank_lines(6))
        with runtime.store.read() as session:
            assert session.scalar(select(func.count()).select_from(Job)) == 0
        id = submit(runtime, [*rerank_lines(4), {"custom_id": "many", "query": "x", "documents": ["a"] * 3}])
        assert finished(runtime, id).failed == 1
        (error,) = read(runtime.jobs.errors(id))
        assert error["error"]["message"] == "documents: 3 of them; at most 2 are allowed"


def test_clearing_up_leaves_uploads_alone(
    settings: Settings, scorer: LinkScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, "BATCH_LINES", 2)
    with service(settings, scorer) as runtime:

        def slowly() -> Iterator[bytes]:
            for line in rerank_lines(8):
                runtime.jobs._runner._clean()
                yield body([line])

        id = runtime.jobs.submit(NewJob("rerank", "tag"), slowly()).id
        assert finished(runtime, id).completed == 8


def test_two_uploads_with_one_key_are_not_two_jobs(settings: Settings, scorer: LinkScorer) -> None:
    with service(settings, scorer) as runtime:
        lines, faults, ids = rerank_lines(40), [], []

        def send() -> None:
            try:
                ids.append(submit(runtime, lines, "key"))
            except Conflict as fault:
                faults.append(fault)

        threads = [Thread(target=send) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(ids)) == 1 and len(ids) + len(faults) == 6
        assert len(runtime.jobs.all(10)) == 1
        finished(runtime, ids[0])


def test_background_work_knows_that_it_is_and_lets_requests_pass() -> None:
    traffic = Traffic()
    assert not in_background() and wait_limit(3.0) == 3.0
    with background(9.0), traffic.live():
        assert in_background() and wait_limit(3.0) == 9.0
        assert traffic.wait_until_idle(60.0)  # nothing to wait for: it is no request itself
    assert not in_background()
    passed: list[bool] = []
    with traffic.live():
        waiting = Thread(target=lambda: passed.append(traffic.wait_until_idle(60.0)))
        waiting.start()
        assert not passed
    waiting.join(60)
    assert passed
