"""The index on disk: what a commit keeps, who may open it, kill -9, and detection of damage."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.indexes import (
    IndexCorrupt,
    IndexLocked,
    LuceneIndex,
)
from tests.indexes.lucene.test_index import keys, put, query

pytestmark = [pytest.mark.slow, pytest.mark.kill]


def test_a_reopened_index_has_the_committed_state(tmp_path: Path) -> None:
    with LuceneIndex(tmp_path) as index:
        assert (index.generation, index.metadata) == (0, {})
        put(index, {1: "Haus"})
        index.commit(41, {"analysis.de": "fingerprint ü 😀", "empty": ""})
        put(index, {2: "Haus"})
        index.refresh()
        assert keys(index, "haus") == [1, 2]
    with LuceneIndex(tmp_path) as index:
        assert keys(index, "haus") == [1]
        assert (index.generation, index.metadata) == (41, {"analysis.de": "fingerprint ü 😀", "empty": ""})
        index.commit(42)
    with LuceneIndex(tmp_path) as index:
        assert (index.generation, index.metadata) == (42, {})


def test_a_second_opener_is_refused(tmp_path: Path) -> None:
    with LuceneIndex(tmp_path) as index:
        with pytest.raises(IndexLocked, match=str(tmp_path)):
            LuceneIndex(tmp_path)
        put(index, {1: "Haus"})
        index.refresh()
        assert keys(index, "haus") == [1]
    LuceneIndex(tmp_path).close()


def test_another_process_is_refused(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from dragoman.indexes import IndexLocked, LuceneIndex
try: LuceneIndex(Path({str(tmp_path)!r}))
except IndexLocked: print("locked")
"""
    with LuceneIndex(tmp_path):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "locked\n"


INDEXING = """
import sys
from pathlib import Path
from dragoman.indexes import IndexedDocument, LuceneIndex
from dragoman.lexicon.text.tokens import PlainAnalysis
index = LuceneIndex(Path(sys.argv[1]))
for generation in range(index.generation + 1, 10**6):
    documents = [IndexedDocument(generation * 10 + i, "de", f"haus g{generation}") for i in range(10)]
    index.add(documents, {"de": PlainAnalysis("de")})
    if generation % 3 == 0:
        index.delete([generation * 10])
    index.refresh()
    index.commit(generation)
    print(generation, flush=True)
"""


def test_an_index_survives_kill_9_at_any_moment(tmp_path: Path) -> None:
    random.seed(7)
    generation = 0
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", INDEXING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        acknowledged = int(process.stdout.readline())
        time.sleep(random.uniform(0.02, 0.4))
        process.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *map(int, process.stdout.read().split("\n")[:-1])])
        process.wait()
        with LuceneIndex(tmp_path) as index:
            assert index.generation in (acknowledged, acknowledged + 1)
            assert index.generation > generation
            generation = index.generation
            index.verify()
            expected = {g * 10 + i for g in range(1, generation + 1) for i in range(10) if i or g % 3}
            hits = index.search(query("haus"), "de", 10**6)
            assert sorted(hit.key for hit in hits) == sorted(expected)


def filled(directory: Path) -> list[Path]:
    """An index of two segments; its files except the lock."""
    with LuceneIndex(directory) as index:
        for generation in (1, 2):
            put(index, {generation * 100 + i: f"haus wort{i}" for i in range(50)})
            index.commit(generation)
    return sorted(path for path in directory.iterdir() if path.name != "write.lock")


def test_every_truncated_file_is_noticed(tmp_path: Path) -> None:
    files = filled(tmp_path)
    assert len(files) >= 7
    for path in files:
        content = path.read_bytes()
        for length in (0, 1, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:length])
            with pytest.raises(IndexCorrupt, match=str(tmp_path)):
                LuceneIndex(tmp_path)
        path.write_bytes(content)
    with LuceneIndex(tmp_path) as index:
        assert len(keys(index, "haus")) == 100


def test_every_missing_file_is_noticed(tmp_path: Path) -> None:
    for path in filled(tmp_path):
        content = path.read_bytes()
        path.unlink()
        with pytest.raises(IndexCorrupt, match="rebuild"):
            LuceneIndex(tmp_path)
        path.write_bytes(content)
    LuceneIndex(tmp_path).close()


def test_flipped_bits_are_noticed_by_verifying(tmp_path: Path) -> None:
    (path, *_) = [path for path in filled(tmp_path) if path.suffix == ".cfs"]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)
    with pytest.raises(IndexCorrupt), LuceneIndex(tmp_path) as index:
        index.verify()


def test_an_index_of_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)
    monkeypatch.setattr("dragoman.indexes.lucene.lucene_store.FORMAT", "0")
    with pytest.raises(IndexCorrupt, match="another version"):
        LuceneIndex(tmp_path)


def test_a_file_in_the_way_is_an_error_of_the_file_system(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="file"):
        LuceneIndex(tmp_path / "file")
