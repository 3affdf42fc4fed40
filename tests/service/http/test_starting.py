"""An application that answers while it is being made."""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from dragoman.service.http import starting
from dragoman.service.http.errors import ErrorBody
from dragoman.service.http.starting import StartingApp
from tests.support.errorbody import check_error
from tests.support.forking import Forked
from tests.support.serving import COMMAND, dragoman, environment, module_of, server, wait_for

pytestmark = pytest.mark.slow


@contextmanager
def serving(app: StartingApp) -> Iterator[tuple[uvicorn.Server, httpx.Client]]:
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="on"))
    thread = Thread(target=running.run)
    thread.start()
    wait_for(lambda: running.started)
    app.listening()
    port = running.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            yield running, client
    finally:
        running.should_exit = True
        thread.join()


class Made:
    """An application whose making is held until it is let through, and what happened to it."""

    def __init__(self) -> None:
        self.let_through = Event()
        self.ready = Event()
        self.opened = self.closed = False

    def make(self) -> FastAPI:
        self.let_through.wait(30)

        @asynccontextmanager
        async def lifespan(app: FastAPI) -> AsyncIterator[None]:
            self.opened = True
            yield
            self.closed = True

        app = FastAPI(lifespan=lifespan)
        app.add_api_route("/there", lambda: "there")
        return app


@pytest.fixture
def made() -> Iterator[Made]:
    held = Made()
    yield held
    held.let_through.set()


def test_it_is_alive_before_it_is_made_and_answers_all_else_from_then_on(made: Made) -> None:
    with serving(StartingApp(made.make, made.ready.set)) as (_, client):
        assert client.get("/healthz").json() == {"status": "starting"}
        assert client.head("/healthz").status_code == 200
        refused = client.get("/readyz", headers={"X-Request-Id": "mine"})
        check_error(refused, 503, "the service is starting")
        assert set(refused.json()) == set(ErrorBody.model_fields)
        assert refused.headers["x-request-id"] == "mine" and "retry-after" in refused.headers
        assert not made.ready.is_set()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.get, "/there")
            time.sleep(0.2)
            assert not waiting.done()
            made.let_through.set()
            assert waiting.result().json() == "there"
        assert made.ready.wait(30)
    assert made.closed


def test_a_request_that_waits_too_long_for_the_start_is_refused(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "_WAIT_SECONDS", 0.2)
    with serving(StartingApp(made.make, made.ready.set)) as (_, client):
        check_error(client.get("/there"), 503, "the service is starting")
        made.let_through.set()


def test_a_stop_while_it_is_being_made_neither_opens_nor_announces_it(made: Made) -> None:
    app = StartingApp(made.make, made.ready.set)
    with serving(app) as (running, _):
        running.should_exit = True
        time.sleep(0.2)
        made.let_through.set()
    assert not made.opened and not made.ready.is_set() and app.fault is None


@pytest.mark.parametrize("where", ["made", "started"])
def test_a_fault_is_kept_for_the_server_to_end_with(where: str) -> None:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        raise OSError("no way")
        yield

    def broken() -> FastAPI:
        raise OSError("no way")

    make: Callable[[], FastAPI] = broken if where == "made" else lambda: FastAPI(lifespan=lifespan)
    app = StartingApp(make, lambda: None)
    with serving(app) as (_, client):
        wait_for(lambda: app.fault is not None)
        assert str(app.fault) == "no way"
        check_error(client.get("/"), 503, "the service is starting")


def test_a_service_that_cannot_start_says_why_and_ends(tmp_path: Path) -> None:
    with server(tmp_path):
        ended = dragoman("serve", "--data-dir", tmp_path, "--port", "0")
    assert ended.returncode == 2
    assert "is in use by another dragoman process" in ended.stderr and "Traceback" not in ended.stderr


def test_a_signal_while_it_starts_ends_the_process_soon(tmp_path: Path) -> None:
    process = Forked(module_of(COMMAND), ["serve", "--data-dir", str(tmp_path), "--port", "0"], environment())
    wait_for(lambda: (tmp_path / "lock").exists())
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) in (0, -signal.SIGTERM)
