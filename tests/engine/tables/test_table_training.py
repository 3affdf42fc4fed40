"""`train_table`: files in, table out; bad input named by file and line; nothing half-written."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from rich.console import Console

from dragoman.engine.tables.training.parallel_text import MAX_LINE_BYTES
from dragoman.engine.tables.training.table_training import (
    TrainingError,
    TrainingReport,
    progress_bars,
    train_table,
)
from dragoman.lexicon.alignment.training import AlignmentConfig
from dragoman.lexicon.formats.reader import Rejection
from dragoman.lexicon.text.languages import UnknownLanguage

pytestmark = [pytest.mark.slow, pytest.mark.kill]

LINES = [
    "Das Haus.\tThe house.",
    "Das Buch.\tThe book.",
    "Ein Buch.\tA book.",
    "Ein Haus.\tA house.",
    "Das kleine Haus.\tThe small house.",
    "Ein kleines Buch.\tA small book.",
]


def write(path: Path, lines: list[str] | bytes, packed: bool = False) -> Path:
    data = lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


def run(parallel: list[Path], output: Path, columns: str = "target,source", **options: object) -> TrainingReport:
    arguments: dict[str, object] = {"plain": True, **options}
    return train_table(parallel, "en", "de", output, columns, **arguments)  # type: ignore[arg-type]


def read(path: Path) -> list[tuple[str, str, float, float]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.name.endswith(".gz") else data).decode()
    rows = [line.split("\t") for line in text.splitlines()]
    return [(s, t, float(p_ts), float(p_st)) for s, t, p_ts, p_st in rows]


def best(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for source, target, _, _ in read(path):
        found.setdefault(source, target)
    return found


def test_columns_the_other_way_round_are_refused(tmp_path: Path) -> None:
    swapped = write(tmp_path / "swapped.tsv", ["\t".join(line.split("\t")[::-1]) for line in LINES])
    with pytest.raises(TrainingError, match=r"swapped.tsv: column 2 is to be en .*--columns, such as source,target"):
        run([swapped], tmp_path / "table.tsv")
    assert not (tmp_path / "table.tsv").exists()
    assert run([swapped], tmp_path / "table.tsv", "source,target").entries > 0


def test_table_from_files_and_folders(tmp_path: Path) -> None:
    folder = write(tmp_path / "corpus" / "a.tsv.gz", LINES[:3], packed=True).parent
    write(folder / "deeper" / "b.tsv", LINES[3:5])
    write(folder / "notes.md", ["not parallel text"])
    single = write(tmp_path / "c.dat", LINES[5:])
    report = run([folder, single], tmp_path / "table.tsv")
    assert [file.path.name for file in report.files] == ["a.tsv.gz", "b.tsv", "c.dat"]
    assert [file.pairs for file in report.files] == [3, 2, 1]
    assert (report.corpus.read, report.corpus.kept) == (6, 6)
    expected = {"house": "haus", "book": "buch", "the": "das", "a": "ein"}
    found = best(tmp_path / "table.tsv")
    assert {word: found[word] for word in expected} == expected
    assert report.entries == len(read(tmp_path / "table.tsv"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.dat", "corpus", "table.tsv"]


def test_probabilities_sum_to_at_most_one(tmp_path: Path) -> None:
    config = AlignmentConfig(symmetrisation="mean")
    run([write(tmp_path / "a.tsv", LINES)], tmp_path / "table.tsv", config=config)
    forward: dict[str, float] = defaultdict(float)
    backward: dict[str, float] = defaultdict(float)
    for source, target, p_ts, p_st in read(tmp_path / "table.tsv"):
        assert 0 < p_ts <= 1 and 0 < p_st <= 1
        forward[source] += p_ts
        backward[target] += p_st
    assert max(forward.values()) <= 1 + 1e-12 and max(backward.values()) <= 1 + 1e-12


@pytest.mark.parametrize("columns", ["source,target", "_,target,source", "source, _, target"])
def test_columns(tmp_path: Path, columns: str) -> None:
    names = [name.strip() for name in columns.split(",")]
    rows = []
    for line in LINES:
        target, source = line.split("\t")
        cells = {"source": source, "target": target, "_": "ignored"}
        rows.append("\t".join(cells[name] for name in names) + "\tlicence")
    run([write(tmp_path / "given.tsv", rows)], tmp_path / "given.out", columns)
    run([write(tmp_path / "usual.tsv", LINES)], tmp_path / "usual.out")
    assert (tmp_path / "given.out").read_bytes() == (tmp_path / "usual.out").read_bytes()


@pytest.mark.parametrize("columns", ["", "source", "source,source,target", "english,german", "source;target"])
def test_bad_columns(tmp_path: Path, columns: str) -> None:
    with pytest.raises(TrainingError, match="columns must name source and target once"):
        run([write(tmp_path / "a.tsv", LINES)], tmp_path / "out.tsv", columns)


def test_same_input_same_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", LINES)
    for name in ("one.tsv.gz", "two.tsv.gz"):
        run([path], tmp_path / name)
    assert (tmp_path / "one.tsv.gz").read_bytes() == (tmp_path / "two.tsv.gz").read_bytes()
    assert read(tmp_path / "one.tsv.gz")


def test_dictionaries_are_evidence(tmp_path: Path) -> None:
    corpus = write(tmp_path / "a.tsv", ["rote katzen\tred cats", *LINES])
    forward = write(tmp_path / "en-de.tsv.gz", ["red\trot\torigin", "cat\tkatze"], packed=True)
    backward = write(tmp_path / "de-en.tsv", ["katzen\tcats", "rote\tred"])
    report = run(
        [corpus],
        tmp_path / "t.tsv",
        dictionaries=[forward],
        inverse_dictionaries=[backward],
        dictionary_weight=2.0,
    )
    found = best(tmp_path / "t.tsv")
    assert found["cats"] == "katzen" and found["cat"] == "katze"
    shares = {target: p_ts for source, target, p_ts, _ in read(tmp_path / "t.tsv") if source == "red"}
    assert shares["rote"] == pytest.approx(3 / 5, abs=0.02) and shares["rot"] == pytest.approx(2 / 5, abs=0.02)
    assert [file.pairs for file in report.files] == [7, 2, 2]
    run([], tmp_path / "alone.tsv", dictionaries=[forward])
    assert best(tmp_path / "alone.tsv") == {"red": "rot", "cat": "katze"}


def test_stems_share_their_evidence(tmp_path: Path) -> None:
    """With the languages' own analysis, the forms of a word are linked through their common stem."""
    lines = ["Kinder Hunde\tchildren dogs", "Hund\tdog", "Hund\tdog", "Hunden Katzen\tcats dogs", "Katze\tcat"]
    path = write(tmp_path / "a.tsv", lines)
    for plain, found in ((True, False), (False, True)):
        run([path], tmp_path / "t.tsv", plain=plain, config=AlignmentConfig(model="model1"))
        shares = {target: p_ts for source, target, p_ts, _ in read(tmp_path / "t.tsv") if source == "dogs"}
        assert (shares["hunde"] + shares["hunden"] > 0.9) is found


def test_left_out_lines_are_reported(tmp_path: Path) -> None:
    lines = [
        b"\xef\xbb\xbf" + LINES[0].encode(),
        b"no tab here",
        b"",
        b"\tThe empty side.",
        b"schlecht \xff\tbad",
        LINES[1].encode() + b"\r",
        b"x" * (2 * MAX_LINE_BYTES) + b"\tlong",
        ("wort " * 101 + "\tword").encode(),
        ("wort\t" + "word " * 10).encode(),
        LINES[2].encode(),
    ]
    report = run([write(tmp_path / "a.tsv", b"\n".join(lines))], tmp_path / "t.tsv")
    (file,) = report.files
    assert (file.lines, file.blank, file.malformed, file.pairs) == (10, 1, 3, 6)
    assert file.rejections == [
        Rejection(2, "1 tab-separated column where 2 are needed"),
        Rejection(5, "not UTF-8 at byte 10"),
        Rejection(7, f"longer than {MAX_LINE_BYTES} bytes"),
    ]
    counts = report.corpus
    assert (counts.read, counts.kept) == (6, 3)
    assert (counts.empty, counts.too_long, counts.length_ratio) == (1, 1, 1)
    assert best(tmp_path / "t.tsv")["house"] == "haus"
    assert report.left_out() == [
        "1 sentence pairs left out: with an empty side",
        "1 sentence pairs left out: with too long a side",
        "1 sentence pairs left out: too different in length",
        *(f"{file.path}, line {item.line}: {item.reason}" for item in file.rejections),
    ]
    assert json.loads(json.dumps(report.as_dict()))["files"][0]["rejections"][0]["line"] == 2


def test_only_the_first_malformed_lines_are_listed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", ["no tab"] * 25 + LINES * 10)
    report = run([path], tmp_path / "t.tsv")
    assert report.files[0].malformed == 25 and len(report.files[0].rejections) == 20
    assert report.left_out()[-1] == f"{path}: 5 more malformed lines"


def fails(tmp_path: Path, parallel: list[Path], message: str, **options: object) -> None:
    with pytest.raises(TrainingError, match=message):
        run(parallel, tmp_path / "never.tsv", **options)
    assert not [path for path in tmp_path.iterdir() if "never" in path.name]


def test_mostly_malformed_file_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", [LINES[0], *(line.replace("\t", ";") for line in LINES)])
    fails(tmp_path, [path], r"a\.tsv: 6 of 7 lines are malformed, the first in line 2: 1 tab-separated column")


def test_damaged_gzip_names_the_line(tmp_path: Path) -> None:
    packed = gzip.compress("".join(f"wort{n}\tword{n}\n" for n in range(5000)).encode())
    path = write(tmp_path / "a.tsv.gz", packed[: len(packed) // 2])
    fails(tmp_path, [path], r"a\.tsv\.gz, after line [1-9]\d+: the gzip stream ends early")
    fails(tmp_path, [write(path, packed[:-6] + b"\0" * 6)], "after line .*: the gzip stream is damaged near byte")
    fails(tmp_path, [write(path, packed[:300] + b"\xff" * 50 + packed[350:])], "the gzip stream is damaged near byte")


def test_bad_paths(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", LINES)
    (tmp_path / "empty").mkdir()
    fails(tmp_path, [tmp_path / "missing.tsv"], r"missing\.tsv: no such file or folder")
    fails(tmp_path, [tmp_path / "empty"], "empty: no file in this folder ends in")
    fails(tmp_path, [path, tmp_path / "empty" / ".." / "a.tsv"], "given twice")
    fails(tmp_path, [], "no parallel file given")
    fails(tmp_path, [path], "dictionary_weight", dictionary_weight=0.0)
    with pytest.raises(TrainingError, match="no such folder to write"):
        run([path], tmp_path / "nowhere" / "t.tsv")
    with pytest.raises(TrainingError, match="is a folder"):
        run([path], tmp_path / "empty")


def test_nothing_usable(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", ["...\tword", "wort\t!"])
    fails(tmp_path, [path], "nothing to learn from: of 2 sentence pairs 2 have an empty side")
    fails(tmp_path, [write(tmp_path / "b.tsv", [])], "nothing to learn from: of 0 sentence pairs")


def test_bad_languages(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", LINES)
    with pytest.raises(UnknownLanguage, match="xx"):
        train_table([path], "en", "xx", tmp_path / "t.tsv", plain=True)
    with pytest.raises(TrainingError, match="both 'en'"):
        train_table([path], "en", "en", tmp_path / "t.tsv", plain=True)


def test_failed_write_leaves_the_old_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, output = write(tmp_path / "a.tsv", LINES), write(tmp_path / "t.tsv", ["old\talt\t1\t1"])

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TrainingError, match=r"t\.tsv: cannot be written: .*No space left"):
        run([path], output)
    assert output.read_text() == "old\talt\t1\t1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tsv", "t.tsv"]


SLOW_WRITER = """
import os, sys, time
from pathlib import Path
from dragoman.engine.tables.training.table_training import train_table
def wait(number):
    print("written", flush=True)
    time.sleep(600)
os.fsync = wait
train_table([Path(sys.argv[1])], "en", "de", Path(sys.argv[2]), plain=True)
"""


@pytest.mark.parametrize("before", [None, "old\talt\t1\t1\n"])
def test_killed_training_leaves_no_partial_table(tmp_path: Path, before: str | None) -> None:
    path, output = write(tmp_path / "a.tsv", LINES), tmp_path / "t.tsv"
    if before is not None:
        output.write_text(before)
    command = [sys.executable, "-c", SLOW_WRITER, str(path), str(output)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert (output.read_text() if output.exists() else None) == before


def test_progress_is_shown(tmp_path: Path) -> None:
    screen = io.StringIO()
    with progress_bars(Console(file=screen, force_terminal=True, width=120)) as bars:
        report = run([write(tmp_path / "a.tsv", LINES)], tmp_path / "t.tsv", progress=bars)
    shown = screen.getvalue()
    for phase in ("reading sentence pairs", "numbering word pairs", "aligning en ⇄ de", "counting translations"):
        assert phase in shown
    assert all(task.finished for task in bars.tasks)
    assert set(report.seconds) == {"reading", "analysis", "alignment", "writing"}
    assert {report.model for report in report.iterations} == {"model1", "model2"}


def test_tmx_and_two_files_of_a_language_each_train_the_same_table(tmp_path: Path) -> None:
    pairs = [line.split("\t") for line in LINES]
    units = "".join(
        f'<tu><tuv xml:lang="de-DE"><seg><bpt i="1">&lt;b></bpt>{de}<ept i="1">&lt;/b></ept></seg></tuv>'
        f'<tuv xml:lang="EN"><seg>{en}</seg></tuv><tuv xml:lang="fr"><seg>x</seg></tuv></tu>'
        for de, en in pairs
    )
    lone = '<tu><tuv xml:lang="fr"><seg>seul</seg></tuv></tu>' * 20
    memory = write(tmp_path / "a.tmx.gz", f'<tmx version="1.4"><body>{lone}{units}</body></tmx>'.encode(), packed=True)
    de = write(tmp_path / "b.de-en.de", [pair[0] for pair in pairs])
    en = write(tmp_path / "b.de-en.en", [pair[1] for pair in pairs])
    run([write(tmp_path / "c.tsv", LINES)], tmp_path / "lines.tsv")
    of_memory = run([memory], tmp_path / "memory.tsv")
    of_halves = run([de, en], tmp_path / "halves.tsv")
    assert read(tmp_path / "memory.tsv") == read(tmp_path / "lines.tsv") == read(tmp_path / "halves.tsv")
    assert of_memory.left_out() == [f"{memory}: 20 units without text in both languages"]
    assert json.loads(json.dumps(of_halves.as_dict()))["files"][0]["partner"] == str(de)
    with pytest.raises(TrainingError, match=r"as each other: b\.de-en\.en ends before line 6"):
        write(en, [pair[1] for pair in pairs[:5]])
        run([en, de], tmp_path / "no.tsv")


def test_a_damaged_memory_is_refused(tmp_path: Path) -> None:
    for content, reason in (
        (b"<tmx><body><tu>", "not well-formed"),
        (b'<!DOCTYPE tmx [<!ENTITY a "b">]><tmx/>', "declares entities"),
        (
            b'<tmx><body><tu><tuv xml:lang="fr"><seg>x</seg></tuv></tu></body></tmx>',
            "no unit has text in both en and de.*: fr",
        ),
    ):
        with pytest.raises(TrainingError, match=reason):
            run([write(tmp_path / "a.tmx", content)], tmp_path / "no.tsv")
