"""Examples on disk."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman_lab.reasoning.examples import ExamplesError, files_of, read_examples, write_examples
from tests.reasoning.samples import examples


def test_examples_come_back_as_they_were_written(tmp_path: Path) -> None:
    path, written = tmp_path / "some.jsonl.gz", list(examples(25))
    assert write_examples(path, written) == 25
    assert list(read_examples(path)) == written
    assert files_of(tmp_path) == [path]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "no example"),
        ("[]", "no example"),
        ('{"question": "a"}', "no example"),
        ('{"question": "a", "context": "b", "question_language": "en", "context_language": "en", "answers": [[0, 9]]}',
         "outside of the context"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(tmp_path: Path, line: str, fault: str) -> None:
    path = tmp_path / "bad.jsonl.gz"
    write_examples(path, examples(2))
    path.write_bytes(path.read_bytes() + gzip.compress(line.encode() + b"\n"))
    with pytest.raises(ExamplesError, match=f"line 3.*{fault}"):
        list(read_examples(path))


def test_damaged_and_missing_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl.gz"
    write_examples(path, examples(50))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ExamplesError, match=r"bad\.jsonl\.gz"):
        list(read_examples(path))
    with pytest.raises(ExamplesError, match="holds no examples"):
        files_of(tmp_path / "nowhere")
