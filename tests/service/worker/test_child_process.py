"""The worker that a service starts for itself: it begins with the first use, comes again, and ends with its parent."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.tasks import Encode
from dragoman.engine.settings import Settings
from dragoman.service.remote.child_process import ChildProcess
from dragoman.service.remote.remote_host import RemoteHost
from tests.service.qa.test_endpoints import write_documents
from tests.support.backbones import tiny_veco
from tests.support.serving import Server, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.kill]

SETTINGS = {"worker_mode": "process", "embed": "always", "encoder_precision": "float32", "query_cache_bytes": 0}


def children(pid: int) -> list[int]:
    """The processes that a process has started and that run."""
    started: list[int] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):
            started += map(int, (thread / "children").read_text().split())
    return [child for child in started if runs(child)]


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def search(running: Server, query: str) -> dict[str, Any]:
    response = running.client.post("/v1/search", json={"query": query, "query_language": "de", "method": "dense"})
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def embedded(running: Server) -> bool:
    embeddings = running.client.get("/v1/collections/de").json()["embeddings"]
    return embeddings is not None and embeddings["embedded"] == 3


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Those of a service whose encoder is soon loaded."""
    return SETTINGS | {"encoder": tiny_veco(tmp_path_factory.mktemp("models") / "encoder")}


def test_a_child_comes_with_the_first_use_and_again_after_a_kill_and_ends_with_its_parent(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    running = Server(tmp_path, forked=False, **settings)
    try:
        running.client.get("/readyz").raise_for_status()
        assert children(running.pid) == []
        write_documents(running)
        wait_for(lambda: embedded(running))
        hits = search(running, "Vulkan")["hits"]
        (child,) = children(running.pid)
        assert "libtorch" not in Path(f"/proc/{running.pid}/maps").read_text()
        with ThreadPoolExecutor(4) as clients:
            answers = [clients.submit(search, running, "Vulkan") for _ in range(40)]
            wait_for(lambda: answers[0].done())
            os.kill(child, signal.SIGKILL)
            assert all(answer.result()["hits"] == hits for answer in answers)
            assert all(answer.result()["degraded"] == [] for answer in answers)
        (second,) = children(running.pid)
        assert second != child
        assert 'dragoman_batch_texts_count{task="encode"}' in running.client.get("/metrics").text
    finally:
        running.kill()
    wait_for(lambda: not runs(second))


def test_a_signal_to_all_leaves_the_child_to_its_parent_with_which_it_ends_in_mid_work(tmp_path: Path) -> None:
    running = Server(tmp_path, forked=False, **SETTINGS)
    try:
        write_documents(running)
        wait_for(lambda: embedded(running))
        (child,) = children(running.pid)
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(child, number)
        assert search(running, "Vulkan")["degraded"] == []
        assert children(running.pid) == [child]
        with ThreadPoolExecutor(2) as clients:
            for _ in range(2):
                clients.submit(search, running, "Vulkan " * 50)
            running.kill()
    finally:
        running.kill()
    wait_for(lambda: not runs(child))


def test_a_child_that_hangs_is_killed_and_what_was_asked_of_it_is_answered_by_the_next(tmp_path: Path) -> None:
    encoder = str(tiny_veco(tmp_path / "encoder"))
    child = ChildProcess(Settings.load(data_dir=tmp_path, encoder=encoder, encoder_precision="float32"), lambda: None)
    host = RemoteHost(lambda: [child.start()], None, 60.0, 4.0, child.close, child.kill)
    try:
        (before,) = gather(host.submit(Encode(), ["Vulkan"]), 60)
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        (after,) = gather(host.submit(Encode(), ["Vulkan"]), 60)
        assert np.array_equal(before.vector, after.vector)
        assert child.pid != first
        assert not runs(first)
    finally:
        host.close()
