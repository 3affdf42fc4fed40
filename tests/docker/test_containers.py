"""The containers' commands with their environment as plain processes, over a real PostgreSQL.

Where whoever runs the tests may mount, they run as the images' user, with the whole file system mounted read-only but
for what the compose file lets them write to; otherwise as whoever runs the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.docker.wiring import FILLED_IN, ROOT, command, compose, environment, services
from tests.support import postgresql
from tests.support.searching import ndjson
from tests.support.serving import Server, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgresql,
    pytest.mark.skipif(not postgresql.available(), reason="PostgreSQL is not installed"),
]

HEALTHCHECK = [sys.executable, ROOT / "docker" / "healthcheck.py"]
USER = services()["api"]["user"].split(":")[0]
CONFINED = os.getuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


class Folders:
    """What the containers can write to: a volume for data, and /tmp."""

    def __init__(self, root: Path) -> None:
        self.data, self.models, self.temporary = self.all = [root / name for name in ("data", "models", "tmp")]
        for folder in self.all:
            folder.mkdir()
            if CONFINED:
                shutil.chown(folder, int(USER), int(USER))

    def confined(self, words: list[str]) -> list[str]:
        """The command as the images' user runs it, on a read-only root."""
        if not CONFINED:
            return words
        mounts = [f"mount --bind {folder} {folder}" for folder in (self.data, self.models)]
        mounts.append(f"mount -t tmpfs -o noexec,nosuid,nodev,mode=1777 tmpfs {self.temporary}")
        script = " && ".join([*mounts, "mount -o remount,bind,ro /", f"cd {self.data}", 'exec "$@"'])
        rights = ["--no-new-privs", "--clear-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        return [
            *("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"),
            *("setpriv", f"--reuid={USER}", f"--regid={USER}", *rights),  # may read all: Python is root's own here
            *words,
        ]


class Container(Server):
    """A service of the compose file as a process; its health is what the image's health check says."""

    def __init__(self, name: str, folders: Folders, **changed: str) -> None:
        stage = compose(**FILLED_IN)["services"][name]["build"]["target"]
        given = {**environment(stage), **services()[name]["environment"]}
        given |= {"DRAGOMAN_DATA_DIR": str(folders.data), "HF_HOME": str(folders.models), "DRAGOMAN_PORT": "0"}
        given |= {"DRAGOMAN_HOST": "127.0.0.1", "DRAGOMAN_RERANK": "never", "TMPDIR": str(folders.temporary), **changed}
        tests_own = ("PATH", "PYTHONPATH", "LANG", "JAVA_TOOL_OPTIONS", "OMP_NUM_THREADS")
        kept = {key: os.environ[key] for key in tests_own if key in os.environ}
        self._environment = {**given, **kept, "PYTHONPATH": str(ROOT)}
        _, *arguments = command(stage)
        words = [sys.executable, "-m", "dragoman.cli.main", *arguments]
        self._process = subprocess.Popen(
            folders.confined(words), env=self._environment, cwd=folders.data, stderr=subprocess.PIPE, text=True
        )
        self._follow()

    def healthy(self) -> bool:
        port = str(httpx.URL(self.url).port)
        check = subprocess.run(HEALTHCHECK, env=self._environment | {"DRAGOMAN_PORT": port}, capture_output=True)
        return check.returncode == 0


@contextmanager
def container(name: str, folders: Folders, **changed: str) -> Iterator[Container]:
    running = Container(name, folders, **changed)
    try:
        yield running
    finally:
        if running._process.poll() is None:
            running.kill()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ExitStack() as opened:
        yield opened.enter_context(postgresql.database(opened.enter_context(postgresql.server())))


@pytest.fixture
def folders() -> Iterator[Folders]:
    root = Path(tempfile.mkdtemp(prefix="dragoman-volumes-"))
    root.chmod(0o755)
    yield Folders(root)
    shutil.rmtree(root)


def test_the_services_work_together_and_stop_when_told(folders: Folders, url: str) -> None:
    with (
        container("worker", folders) as worker,
        container("api", folders, DRAGOMAN_DATABASE_URL=url, DRAGOMAN_WORKER_URL=worker.url) as api,
    ):
        assert worker.healthy() and api.healthy()
        wait_for(lambda: api.client.get("/readyz").status_code == 200)
        _use(api.client)
        assert worker.stop() in (0, -15)
        assert not worker.healthy()
        found = api.client.post("/v1/search", json={**SEARCH, "rerank": {"depth": 10}}).json()
        assert [one["stage"] for one in found["degraded"]] == ["rerank"]
        assert [hit["id"] for hit in found["hits"]] == ["1"]
        assert api.stop() in (0, -15)
        assert not api.healthy()
    with container("api", folders, DRAGOMAN_DATABASE_URL=url) as again:
        assert [hit["id"] for hit in again.client.post("/v1/search", json=SEARCH).json()["hits"]] == ["1"]


SEARCH = {"query": "the house", "query_language": "en", "collections": ["news"], "method": "psq"}
"""By words alone: the default method changes once the documents have embeddings."""


def _use(client: httpx.Client) -> None:
    client.post("/v1/collections", json={"name": "news", "language": "de"}).raise_for_status()
    lines = ndjson([{"id": "1", "text": "Das Haus steht am See."}, {"id": "2", "text": "Der Baum blüht."}])
    headers = {"content-type": "application/x-ndjson"}
    client.post("/v1/collections/news/documents", content=lines, headers=headers).raise_for_status()
    table = {"source": "en", "target": "de", "activate": "true"}
    client.put("/v1/tables/words", params=table, content=b"house\tHaus\n").raise_for_status()
    found = client.post("/v1/search", json={**SEARCH, "rerank": {"depth": 10}}).json()
    assert (found["degraded"], [hit["id"] for hit in found["hits"]]) == ([], ["1"])
    assert found["hits"][0]["scores"]["rerank"] is not None


def test_derived_files_are_made_again_on_an_empty_volume(folders: Folders, url: str) -> None:
    with container("api", folders, DRAGOMAN_DATABASE_URL=url) as api:
        api.client.post("/v1/collections", json={"name": "other", "language": "de"}).raise_for_status()
        lines = ndjson([{"id": "a", "text": "Ein Satz."}])
        headers = {"content-type": "application/x-ndjson"}
        api.client.post("/v1/collections/other/documents", content=lines, headers=headers).raise_for_status()
        api.kill()
    for path in folders.data.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    search = {"query": "Satz", "query_language": "de", "collections": ["other"], "method": "none"}
    with container("api", folders, DRAGOMAN_DATABASE_URL=url) as api:
        wait_for(lambda: [hit["id"] for hit in api.client.post("/v1/search", json=search).json()["hits"]] == ["a"])


@pytest.mark.skipif(not CONFINED, reason="only root can mount and become another user")
def test_nothing_can_be_written_but_the_volumes(folders: Folders) -> None:
    with tempfile.TemporaryDirectory() as other:  # on the disk that is not to be written to
        Path(other).chmod(0o777)
        script = f"touch {folders.data}/yes; touch {other}/no {ROOT}/no; id -u"
        done = subprocess.run(folders.confined(["sh", "-c", script]), capture_output=True, text=True)
    assert done.stdout.strip() == USER
    assert (folders.data / "yes").exists()
    assert done.stderr.count("Read-only file system") == 2


def test_a_health_check_says_what_is_wrong() -> None:
    done = subprocess.run(HEALTHCHECK, env={"DRAGOMAN_PORT": "9"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "127.0.0.1:9 does not answer" in done.stderr
