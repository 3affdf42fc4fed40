"""One process at a time has a data directory, however the one before it ended."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from dragoman.engine.core.errors import Conflict, Unavailable
from dragoman.store import data_dir
from dragoman.store.data_dir import DataDirectory
from tests.support.serving import dragoman, server

pytestmark = [pytest.mark.slow, pytest.mark.kill]


def test_a_second_process_is_refused_until_the_first_is_gone_even_by_kill(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        refused = dragoman("serve", "--data-dir", tmp_path, "--port", 0)
        assert refused.returncode == 2
        assert f"is in use by another dragoman process (process {first._process.pid})" in refused.stderr
        assert first.client.get("/readyz").status_code == 200
        first.kill()
    with server(tmp_path) as second:
        assert second.client.get("/readyz").status_code == 200
        assert (tmp_path / "lock").read_text() == f"{second._process.pid}\n"


def test_the_lock_is_let_go_of_at_the_end(tmp_path: Path) -> None:
    first = DataDirectory(tmp_path)
    with pytest.raises(Conflict, match=f"process {os.getpid()}"):
        DataDirectory(tmp_path)
    first.close()
    DataDirectory(tmp_path).close()


@pytest.mark.parametrize("place", ["/proc/dragoman", "/dev/null/data"])
def test_a_place_that_cannot_be_written_is_refused_by_name(place: str) -> None:
    with pytest.raises(Unavailable, match=f"the data directory {place} cannot be written: "):
        DataDirectory(Path(place))


def test_a_file_system_without_locks_is_told_apart_from_a_second_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(data_dir.fcntl, "flock", refuse)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(Unavailable, match="cannot be locked: No locks available; it has to be on a file system"):
        DataDirectory(tmp_path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    monkeypatch.undo()
    assert fcntl.flock is data_dir.fcntl.flock
    DataDirectory(tmp_path).close()
