"""Jobs whose PostgreSQL goes away, or is taken over, while they are under way."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.engine.settings import Settings
from dragoman.store.database import Store
from dragoman.store.instance_lock import DatabaseClaim, mark_connections, retry_while_taken
from tests.service.jobs.test_service import finished, scorer, service, submit
from tests.store.test_instance_lock import claimed, cut_off
from tests.support import job_client, postgresql
from tests.support.job_client import rerank_lines
from tests.support.modelling import LinkScorer
from tests.support.serving import Server, server, wait_for
from tests.support.standing_in import STANDING_IN

__all__ = ["scorer"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgresql,
    pytest.mark.skipif(postgresql.programs() is None, reason="PostgreSQL's programs are not installed"),
]


@pytest.fixture
def cluster() -> Iterator[postgresql.Cluster]:
    started = postgresql.Cluster()
    yield started
    started.remove()


def test_a_service_whose_database_is_down_stops_all_the_same(
    tmp_path: Path, cluster: postgresql.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDING_IN_SECONDS", "0.02")
    monkeypatch.setenv("STANDING_IN_SMALL", "yes")
    settings = {"database_url": cluster.url}
    running = Server(tmp_path, STANDING_IN, **settings)
    id = job_client.submit(running.client, rerank_lines(80))
    wait_for(lambda: job_client.done(running.client, id) > 0)
    cluster.stop()
    wait_for(lambda: any("the database cannot be reached" in line for line in running.log))
    assert running.stop() == 0
    cluster.start()
    with server(tmp_path, STANDING_IN, **settings) as running:
        assert job_client.finished(running.client, id)["counts"]["completed"] == 80


@pytest.mark.parametrize("used", [True, False], ids=["used", "only opened"])
def test_an_instance_that_lost_its_database_to_another_stops_its_jobs_until_it_has_it_again(
    tmp_path: Path, cluster: postgresql.Cluster, scorer: LinkScorer, caplog: pytest.LogCaptureFixture, used: bool
) -> None:
    """It has it again where the other one did not get as far as using it."""
    settings = Settings.load(data_dir=tmp_path, database_url=cluster.url)
    with service(settings, scorer) as runtime, caplog.at_level(logging.ERROR, "dragoman"):
        scorer.barrier.clear()
        id = submit(runtime, rerank_lines(20))
        wait_for(lambda: bool(scorer.batches))
        cut_off(cluster.url)
        other = claimed(cluster.url) if used else opened(cluster.url)
        scorer.barrier.set()
        runtime.jobs._runner.wake()
        wait_for(lambda: bool(told(caplog)))
        wait_for(lambda: all(run.thread is None for run in runtime.jobs._runner._runs.values()))
        computed = len(scorer.batches)
        runtime.jobs._runner.wake()
        other.close()
        if not used:

            def looked_up() -> None:
                runtime.jobs.get(id)

            retry_while_taken(looked_up, 20)  # the server takes a moment to drop the other's mark
            assert finished(runtime, id).completed == 20
        assert (len(scorer.batches) > computed) != used
        (message,) = told(caplog)
        assert "in use by another instance" in message
    with service(settings, scorer) as runtime:
        assert finished(runtime, id).completed == 20


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if "jobs no longer run here" in one.getMessage()]


def opened(url: str) -> Store:
    """A database marked as another instance does it, before it records that it uses it."""
    store = Store(Settings.load(database_url=url).store.url)
    mark_connections(store.engine, DatabaseClaim())
    assert store.writable()
    return store
