"""A table agrees with a plain dictionary in both directions, before and after it is saved."""

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from dragoman.lexicon.table.file import read_arrays
from dragoman.lexicon.table.table import CorruptTable, Entry, Table

probabilities = st.floats(0, 1, width=32)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
contents = st.dictionaries(st.tuples(words, words), st.tuples(probabilities, probabilities), max_size=25)
Content = dict[tuple[str, str], tuple[float, float]]


def table_of(content: Content) -> Table:
    return Table.from_entries("en", "de", [(s, t, *p) for (s, t), p in content.items()])


def plain(content: Content, term: str, inverse: bool = False) -> list[Entry]:
    found = [
        Entry(s if inverse else t, *(reversed(p) if inverse else p), origin=0)
        for (s, t), p in content.items()
        if term == (t if inverse else s)
    ]
    return sorted(found, key=lambda entry: (-entry.p_forward, entry.term))


def agrees(table: Table, content: Content) -> None:
    assert (table.source, table.target, len(table)) == ("en", "de", len(content))
    assert list(table.sources) == sorted({s for s, _ in content})
    assert list(table.targets) == sorted({t for _, t in content})
    inverse = table.inverse()
    for s, t in content:
        assert table.translations(s) == plain(content, s)
        assert inverse.translations(t) == plain(content, t, inverse=True)
    assert table.translations("no such term") == inverse.translations("\ud800") == []
    assert table.inverse().inverse().translations("") == []


@given(contents)
def test_translations_agree_with_a_dictionary(content: Content) -> None:
    agrees(table_of(content), content)


@given(contents, st.integers(0, 3), probabilities)
def test_fewer_translations_are_the_first_of_all(content: Content, best: int, least: float) -> None:
    table = table_of(content)
    for s, _ in content:
        wanted = [entry for entry in plain(content, s) if entry.p_backward >= least]
        assert table.translations(s, least_backward=least) == wanted
        assert table.translations(s, best, least) == wanted[:best]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(contents)
def test_a_saved_table_is_the_same(tmp_path: Path, content: Content) -> None:
    path = tmp_path / "table.safetensors"
    table_of(content).save(path)
    agrees(Table.open(path), content)
    agrees(Table.open(path, verify=False), content)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


SMALL: Content = {
    ("house", "haus"): (0.75, 1.0),
    ("house", "gebäude"): (0.25, 0.5),
    ("building", "gebäude"): (1.0, 0.5),
}


def test_a_file_is_laid_out_as_by_the_library(tmp_path: Path) -> None:
    table_of(SMALL).save(tmp_path / "table")
    arrays, metadata = read_arrays(tmp_path / "table", verify=True)
    written, library = (tmp_path / "table").read_bytes(), save(arrays, metadata=metadata)
    begin = 8 + int.from_bytes(written[:8], "little")
    assert begin % 8 == 0
    assert written[begin:] == library[begin:]
    assert json.loads(written[8:begin]) == json.loads(library[8:begin])


def test_both_orders_hold_the_same_entries() -> None:
    table = table_of(SMALL)
    forward = zip(table.by_source.owners(), table.target_ids, table.p_ts, table.p_st, strict=True)
    backward = zip(
        table.t_sources, table.by_target.owners(), table.by_target.backward, table.by_target.forward, strict=True
    )
    assert sorted(forward) == sorted(backward)
    assert table.p_ts.dtype == np.float32
    assert table.t_indptr.tolist() == [0, 2, 3]
    assert table.origins.tolist() == [0, 0, 0]


def test_the_inverse_copies_nothing() -> None:
    table = table_of(SMALL)
    assert np.shares_memory(table.inverse().p_ts, table.by_target.forward)


def test_an_opened_table_is_mapped_and_read_only(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_of(SMALL).save(path)
    table = Table.open(path)
    with pytest.raises(ValueError, match="read-only"):
        table.p_ts[0] = 0
    path.unlink()
    assert table.translations("building") == [Entry("gebäude", 1.0, 0.5, 0)]


def test_terms_without_entries_are_left_out() -> None:
    table = Table.from_arrays("en", "de", ["b", "unused", "a"], ["x"], [2, 0], [0, 0], [1, 1], [0.5, 0.5], [1, 2])
    assert list(table.sources) == ["a", "b"]
    assert table.translations("b")[0].origin == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source_ids": [0, 2]}, "source id"),
        ({"target_ids": [0, -1]}, "target id"),
        ({"source_ids": [0, 0]}, "pair of terms"),
        ({"source_terms": ["a", "a"]}, "source term is given twice"),
        ({"p_ts": [0.5, 1.5]}, "P.target.source. must be between"),
        ({"p_st": [float("nan"), 0]}, "P.source.target. must be between"),
        ({"p_st": [0.5]}, "one value for each entry"),
    ],
)
def test_wrong_arrays_are_refused(changed: dict[str, list[object]], message: str) -> None:
    right = {
        "source_terms": ["a", "b"],
        "target_terms": ["x"],
        "source_ids": [0, 1],
        "target_ids": [0, 0],
        "p_ts": [1, 1],
        "p_st": [0.5, 0.5],
    }
    with pytest.raises(ValueError, match=message):
        Table.from_arrays("en", "de", **{**right, **changed})  # type: ignore[arg-type]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_every_flipped_bit_is_detected(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "flipped.safetensors"
    table_of(SMALL).save(path)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with pytest.raises(CorruptTable, match=r"flipped\.safetensors"):
        Table.open(path)


def test_every_truncation_is_detected_without_reading_the_content(tmp_path: Path) -> None:
    path = tmp_path / "cut.safetensors"
    table_of(SMALL).save(path)
    content = path.read_bytes()
    for length in range(0, len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(CorruptTable, match=r"cut\.safetensors"):
            Table.open(path, verify=False)
    path.write_bytes(content + b"x")
    with pytest.raises(CorruptTable, match="longer"):
        Table.open(path, verify=False)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other"
    header = b'{"__metadata__": {"format": "dragoman-table", "format_version": "0"}}'
    for content in (
        b"",
        b"PK\x03\x04" + bytes(100),
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 4) + b"\xff\xfe{}",
        struct.pack("<Q", len(header)) + header,
        struct.pack("<Q", len(header)) + header.replace(b'"0"', b'"1"'),
        struct.pack("<Q", 100_000) + b"[" * 100_000,
    ):
        path.write_bytes(content)
        for verify in (True, False):
            with pytest.raises(CorruptTable):
                Table.open(path, verify=verify)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Table.open(tmp_path / "none")


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t"
    table_of(SMALL).save(path)
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        table_of({}).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_entries_give_the_same_file_in_any_order(tmp_path: Path) -> None:
    table_of(SMALL).save(tmp_path / "a")
    table_of(dict(reversed(SMALL.items()))).save(tmp_path / "b")
    assert Table.open(tmp_path / "a").sources == Table.open(tmp_path / "b").sources
    assert np.array_equal(Table.open(tmp_path / "a").p_ts, Table.open(tmp_path / "b").p_ts)
