"""Training text files: their names, lines and error messages."""

import gzip
from pathlib import Path

import pytest

from dragoman_lab.backbone.text_files import LONGEST, CorpusError, TextFile, text_files
from tests.backbone.samples import SENTENCES


def test_files_are_found_by_their_names(text: Path) -> None:
    for stray in ("notes.txt", "raw/readme.md", "parallel/en-de/notes.md"):
        (text / stray).write_text("not training text")
    found = text_files([text / "parallel"], [text / "raw"], [text / "dictionaries"])
    assert [(file.path.name, file.languages, file.dictionary) for file in found] == [
        ("sample.tsv.gz", ("en", "de"), False),
        ("en-de.tsv", ("en", "de"), True),
        ("sw.demo.txt", ("sw",), False),
    ]
    assert list(found[0].rows()) == SENTENCES


def test_blank_lines_and_sides_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("a\tb\n\n\tb\na\t \n  c \t d\te\n", encoding="utf-8")
    assert list(TextFile(path, ("en", "de")).rows()) == [("a", "b"), ("c", "d")]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes(b"\xef\xbb\xbfa\tb\r\n")
    assert list(TextFile(path, ("en", "de")).rows()) == [("a", "b")]


def damaged(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


PACKED = gzip.compress(b"".join(b"%d a\t%d b\n" % (n * 7919, n * 104729) for n in range(3000)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nonly one\n", "line 2: 2 columns are wanted"),
        (b"a\tb\nc\td\n\xe4\tx\n", "line 3: not UTF-8"),
        (PACKED[:2000], "after line [1-9].*: the gzip stream ends early"),
        (damaged(PACKED, 2000), "after line .*: the gzip stream is damaged near byte"),
        (damaged(PACKED, len(PACKED) - 6), f"after line .*: the gzip stream is damaged near byte {len(PACKED)}"),
        (b"\x1f\x8bnot gzip at all", "after line 0: the gzip stream is damaged"),
        (b"a\tb\n" + b"x" * (LONGEST + 1), f"line 2: longer than {LONGEST} bytes"),
    ],
)
def test_malformed_files_are_named_with_the_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.tsv"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=f"bad.tsv, {message}"):
        list(TextFile(path, ("en", "de")).rows())


def test_folders_without_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="nowhere: not a folder"):
        text_files([tmp_path / "nowhere"])
    with pytest.raises(CorpusError, match=r"holds no file <xx>-<yy>/\*\.tsv"):
        text_files([tmp_path])
    with pytest.raises(CorpusError, match=r"holds no file <xx>\.\*\.txt"):
        text_files([], [tmp_path])
