"""Nobody ever sees half of what is written, and nothing is left behind after an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.files.atomic import atomic_file, atomic_folder


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "file"
    for word in ("one", "two"):
        with atomic_file(target) as unfinished:
            unfinished.write_text(word)
            assert not target.exists() or target.read_text() != word
    for fault in (OSError("full"), KeyboardInterrupt()):
        with pytest.raises(type(fault)), atomic_file(target) as unfinished:
            unfinished.write_text("three")
            raise fault
    assert target.read_text() == "two"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_is_on_disk_before_it_has_its_name_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, seen = tmp_path / "file", []

    def note(handle: int) -> None:
        seen.append((Path(f"/proc/self/fd/{handle}").readlink().name.endswith(".tmp"), target.exists()))

    monkeypatch.setattr(os, "fsync", note)
    with atomic_file(target) as unfinished:
        unfinished.write_text("a")
    assert seen == [(True, False), (False, True)]


def test_a_disk_that_is_full_when_the_file_is_synced_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "file"
    target.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"), atomic_file(target) as unfinished:
        unfinished.write_text("new")
    with pytest.raises(OSError, match="No space"), atomic_folder(tmp_path / "folder") as folder:
        (folder / "a").write_text("new")
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_text() == "old"


def test_a_file_gets_the_rights_that_any_new_file_gets(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a")
    with atomic_file(tmp_path / "atomic") as unfinished:
        unfinished.write_text("a")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_block_that_writes_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_file(tmp_path / "file"):
        pass
    assert not list(tmp_path.iterdir())


def test_a_folder_that_a_kill_left_under_its_old_name_is_restored(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with atomic_folder(folder) as unfinished:
        (unfinished / "inner").mkdir()
        (unfinished / "inner" / "a").write_text("good")
    folder.rename(tmp_path / "folder.old")  # where a kill between the two renames leaves it
    with pytest.raises(OSError, match="full"), atomic_folder(folder):
        raise OSError("full")
    assert (folder / "inner" / "a").read_text() == "good"


def test_files_in_inner_folders_are_on_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(os, "fsync", lambda handle: seen.append(Path(f"/proc/self/fd/{handle}").readlink().name))
    with atomic_folder(tmp_path / "folder") as unfinished:
        (unfinished / "inner").mkdir()
        (unfinished / "inner" / "a").write_text("a")
    assert {"a", "inner", "folder.unfinished"} <= set(seen)


WRITER = """
import sys, time
from pathlib import Path
from dragoman.files.atomic import atomic_file, atomic_folder
write = {"file": atomic_file, "folder": atomic_folder}[sys.argv[1]]
with write(Path(sys.argv[2])) as unfinished:
    (unfinished / "a" if sys.argv[1] == "folder" else unfinished).write_text("half")
    print("written", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_kill_leaves_what_was_there(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    with subprocess.Popen([sys.executable, "-c", WRITER, kind, str(target)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    assert not target.exists()


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "model"
    (tmp_path / "model.unfinished").mkdir()  # as a kill leaves it
    (tmp_path / "model.unfinished" / "b").write_text("half")
    for word in ("one", "two"):
        with atomic_folder(target) as unfinished:
            (unfinished / "a").write_text(word)
    with pytest.raises(OSError, match="full"), atomic_folder(target) as unfinished:
        (unfinished / "a").write_text("three")
        raise OSError("full")
    assert (target / "a").read_text() == "two"
    assert list(tmp_path.iterdir()) == [target]
    assert list(target.iterdir()) == [target / "a"]
