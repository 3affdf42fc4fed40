"""Activating a table: killed at every step of it, and hundreds of times while others search.

``DRAGOMAN_TEST_SWAPS`` is how often; docs/reliability.md has the result of a thousand.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

from dragoman.engine.settings import Settings
from dragoman.lexicon.text.tokens import PlainAnalysis
from dragoman.store.database import Store
from dragoman.store.tables.service import Tables, Upload
from tests.support.searching import ndjson
from tests.support.serving import server

pytestmark = [pytest.mark.slow, pytest.mark.kill]

SWAPS = int(os.environ.get("DRAGOMAN_TEST_SWAPS", "300"))
VERSIONS = 3
STEPS = frozenset({"write", "tofile", "flush", "fsync", "truncate", "rename", "replace", "unlink", "rmdir", "mkdir"})
"""What is called that changes files; what changes the database is seen by SQLAlchemy."""
CHANGING = ("INSERT", "UPDATE", "DELETE", "COPY")
FORK = multiprocessing.get_context("fork")


def content(mark: int) -> bytes:
    """A table whose every entry tells its mark."""
    return b"".join(b"word%d\twort%dx%d\t0.5\t0.5\n" % (one, one, mark) for one in range(20))


def put(tables: Tables, mark: int, activate: bool = False) -> None:
    tables.upload(Upload("words", "en", "de", activate=activate), iter([content(mark)]))


def activate_second(tables: Tables) -> None:
    tables.activate("words", 2)


def upload_third(tables: Tables) -> None:
    put(tables, 3, activate=True)


class Steps:
    """Counts the steps of a change in this thread, and kills the process at the one that is named."""

    def __init__(self, fatal: int, files: bool) -> None:
        """With ``files`` what changes files is a step as well."""
        self.taken = 0
        self._fatal = fatal
        self._files = files

    def watch(self, change: Callable[[], None]) -> None:
        event.listen(Engine, "before_cursor_execute", self._executed)
        event.listen(Engine, "commit", lambda *_: self._step())
        event.listen(Session, "after_commit", lambda *_: self._step())
        sys.setprofile(self._called if self._files else None)
        try:
            change()
        finally:
            sys.setprofile(None)

    def _called(self, frame: Any, kind: str, called: Any) -> None:
        if kind != "c_call" or getattr(called, "__name__", "") not in STEPS:
            return
        if not isinstance(getattr(called, "__self__", None), str):  # texts have `replace`, too
            self._step()

    def _executed(self, connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.lstrip().upper().startswith(CHANGING):
            self._step()

    def _step(self) -> None:
        if self.taken == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        self.taken += 1


class Trial:
    """A change in processes of their own, forked, since importing what they need takes a second."""

    def __init__(self, settings: Settings, change: Callable[[Tables], None]) -> None:
        self.settings = settings
        self.change = change
        self.active = FORK.Value("i", 0)

    def run(self, work: Callable[..., None], *arguments: int) -> int:
        process = FORK.Process(target=self._opened, args=(work, *arguments))
        process.start()
        process.join(120)
        assert process.exitcode is not None
        return process.exitcode

    def _opened(self, work: Callable[..., None], *arguments: int) -> None:
        store = Store(self.settings.store.url)
        tables = Tables(store, self.settings, PlainAnalysis)
        tables.start()
        work(tables, *arguments)
        store.close()

    def checked_and_changed(self, tables: Tables, fatal: int) -> None:
        self.checked(tables)
        self.changed(tables, fatal)

    def changed(self, tables: Tables, fatal: int) -> None:
        steps = Steps(
            fatal, files=self.settings.store.url.startswith("sqlite")
        )  # the files are the same with the other
        steps.watch(lambda: self.change(tables))

    def checked(self, tables: Tables) -> None:
        """All there is, is whole, and what is active is so everywhere; then it is made as it was before."""
        info = tables.get("words")
        active = info.active_version or 0
        snapshot = tables.registry.snapshot
        assert [one.version for one in snapshot.versions] == [one for one in (active,) if one]
        view = snapshot.views.get(("en", "de"))
        for number in range(20):
            for version in info.versions:
                expected = [f"wort{number}x{min(version.version, 3)}"]
                assert [
                    one.term for one in tables.look_up("words", f"word{number}", version.version).entries
                ] == expected
                if view is not None and version.version == active:
                    for side in (view.surface, view.analysed):
                        assert [one.term for one in side.translations(f"word{number}")] == expected
        left = {path.name for path in self.settings.store.tables_dir.rglob("*") if path.is_file()}
        whole = (".safetensors", ".written")
        assert all(name.endswith(whole) for name in left), f"something unfinished was left: {left}"
        assert len(info.versions) == 3 if active > 2 else 2
        self.active.value = active
        tables.activate("words", 1)
        for version in info.versions[2:]:
            tables.delete("words", version.version)
        shutil.rmtree(self.settings.store.tables_dir / "merged")  # so that the change has it all to do


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk that is quick to write to: a killed process needs no other, nor do swaps."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.mark.parametrize(("change", "afterwards"), [(activate_second, {2}), (upload_third, set(range(3, 1000)))])
def test_killed_at_every_step_it_is_the_old_version_or_the_new_one(
    in_memory: Path, database_url: str | None, change: Callable[[Tables], None], afterwards: set[int]
) -> None:
    settings = Settings.load(data_dir=in_memory, database_url=database_url)
    store = Store(settings.store.url)
    store.migrate()
    store.close()
    trial = Trial(settings, change)
    assert trial.run(lambda tables: (put(tables, 1, activate=True), put(tables, 2))) == 0
    assert trial.run(trial.checked) == 0
    seen: list[int] = []
    while (code := trial.run(trial.checked_and_changed, len(seen))) == -signal.SIGKILL:
        seen.append(trial.active.value)
    assert code == 0, f"after step {len(seen) - 1}"
    seen.append(trial.active.value)
    assert trial.run(trial.checked) == 0
    last, *seen = [trial.active.value, *seen]
    assert last in afterwards
    assert set(seen) <= {1, *afterwards}
    changed = [active != 1 for active in seen]
    assert changed == sorted(changed), "what had become active was so no more"
    assert seen[0] == 1
    assert seen[-1] in afterwards, "the last step was before the change"
    assert len(seen) > 2


def test_every_answer_during_swaps_is_of_the_one_version_that_it_names(in_memory: Path) -> None:
    with server(in_memory) as running:
        running.client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
        headers = {"content-type": "application/x-ndjson"}
        body = ndjson({"id": f"{n}", "text": f"das wort3x{n} steht hier"} for n in range(1, VERSIONS + 1))
        running.client.post("/v1/collections/de/documents", content=body, headers=headers).raise_for_status()
        for version in range(1, VERSIONS + 1):
            asked = {"source": "en", "target": "de", "activate": True}
            assert running.client.put("/v1/tables/words", params=asked, content=content(version)).status_code == 201
        done = Event()
        seen: list[int] = []
        faults: list[str] = []
        readers = [Thread(target=read, args=(running.url, done, seen, faults)) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for number in range(SWAPS):
                version = number % VERSIONS + 1
                activated = running.client.post(f"/v1/tables/words/versions/{version}/activate")
                assert activated.json()["active_version"] == version
                if not number % 100:
                    assert ask(running.client, faults) == version, "the search after an activation saw another version"
        finally:
            done.set()
            for reader in readers:
                reader.join()
        assert faults == []
        assert set(seen) == set(range(1, VERSIONS + 1))
        assert sum(one != other for one, other in pairwise(seen)) > 20


def read(url: str, done: Event, seen: list[int], faults: list[str]) -> None:
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        while not done.wait(0.01) and not faults:  # without a pause the searches leave the swaps little of a machine
            seen.append(ask(client, faults))


def ask(client: httpx.Client, faults: list[str]) -> int:
    """The version that an answer names; what in it is not that version's is a fault."""
    answer = client.post("/v1/search", json={"query": "word3", "query_language": "en"})
    if answer.status_code != 200:
        faults.append(answer.text)
        return 0
    body = answer.json()
    version: int = body["translation"]["tables"][0]["version"]
    terms = [one["term"] for term in body["translation"]["terms"] for one in term["translations"]]
    highlights = [(one["document_term"], one["version"]) for hit in body["hits"] for one in hit["highlights"]]
    expected = ([f"{version}"], [f"wort3x{version}"], [(f"wort3x{version}", version)])
    if ([hit["id"] for hit in body["hits"]], terms, highlights) != expected:
        faults.append(answer.text)
    return version
