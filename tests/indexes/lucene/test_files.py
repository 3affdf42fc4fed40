"""Detection of damaged index files, bit by bit and byte by byte."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.indexes.analysis.pipeline import analysis
from dragoman.indexes.errors import IndexCorrupt
from dragoman.indexes.lucene.lucene_index import IndexedDocument, LuceneIndex


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of two segments, one of them with a deleted document."""
    directory = tmp_path_factory.mktemp("whole")
    with LuceneIndex(directory) as index:
        for first in (0, 200):
            texts = [IndexedDocument(key, "de", f"Der Vulkan speit Asche {key}") for key in range(first, first + 200)]
            index.add(texts, {"de": analysis("de")})
            index.delete([first + 1])
            index.commit(first + 1)
    return directory


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def _damages(content: bytes) -> Iterator[tuple[str, bytes]]:
    size = len(content)
    for place in sorted({0, 9, size // 4, size // 2, size - 20, size - 9, size - 1} & set(range(size))):
        for bit in (0, 7):
            yield f"bit {bit} of byte {place}", _flipped(content, place, bit)
    for left in (0, 8, size // 2, size - 1):
        yield f"cut off after {left}", content[:left]


def _flipped(content: bytes, place: int, bit: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


def test_no_damage_to_any_file_goes_unnoticed(copy: Path) -> None:
    files = sorted(path for path in copy.iterdir() if path.name != "write.lock")
    assert {path.suffix for path in files} >= {".cfs", ".cfe", ".si", ".liv"}
    unnoticed = []
    for path in files:
        content = path.read_bytes()
        for damage, damaged in _damages(content):
            path.write_bytes(damaged)
            try:
                LuceneIndex(copy).close()
            except IndexCorrupt:
                continue
            unnoticed.append((path.name, damage))
        path.write_bytes(content)
    assert unnoticed == []
    with LuceneIndex(copy) as index:
        assert index.document_count() == 398


def test_a_file_that_is_missing_is_noticed(copy: Path) -> None:
    next(copy.glob("*.cfs")).unlink()
    with pytest.raises(IndexCorrupt):
        LuceneIndex(copy)
