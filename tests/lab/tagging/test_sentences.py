"""Files of labelled sentences in their three formats."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman_lab.tagging.sentences import Sentence, SentencesError, read_sentences

CONLLU = """# text = Don't go, Anna.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tn't\tnot\tPART\t_\t_\t_\t_\t_\t_
3\tgo\tgo\tVERB\t_\t_\t_\t_\t_\tSpaceAfter=No
4\t,\t,\tPUNCT\t_\t_\t_\t_\t_\t_
4.1\tgone\t_\tVERB\t_\t_\t_\t_\t_\t_
5\tAnna\tAnna\tPROPN\t_\t_\t_\t_\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t_\t_\t_\t_

1\tYes\tyes\tINTJ\t_\t_\t_\t_\t_\t_
"""


def test_universal_dependencies(tmp_path: Path) -> None:
    path = tmp_path / "some.conllu.gz"
    path.write_bytes(gzip.compress(CONLLU.encode()))
    first, second = read_sentences(path)
    assert first.words == ("Do", "n't", "go", ",", "Anna", ".")
    assert first.labels == ("AUX", "PART", "VERB", "PUNCT", "PROPN", "PUNCT")
    assert first.text == "Don't go, Anna."
    assert [first.text[start:end] for start, end in first.offsets] == list(first.words)
    assert second == Sentence(("Yes",), ("INTJ",), (True,))


def test_names_and_slots(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.bio").write_text("#Anna\tB-person\nmet\tO\n\n\nKofi\tB-product\n")
    named = read_sentences(tmp_path / "a.bio", {"person": "PER", "product": ""})
    assert [one.labels for one in named] == [("B-PER", "O"), ("O",)]
    assert named[0].words == ("#Anna", "met") and named[0].text == "#Anna met"
    (tmp_path / "b.conll").write_text(
        "# text = wake me\n1\twake\talarm/set\tO\n1\t \talarm/set\tO\n2\tme\talarm/set\tB-who\n"
    )
    assert read_sentences(tmp_path / "b.conll") == [Sentence(("wake", "me"), ("O", "B-who"), (True, True))]
    assert [one.getMessage() for one in caplog.records] == [
        f"{tmp_path}/b.conll: 1 empty words without a label were left out"
    ]


@pytest.mark.parametrize(("name", "content", "said"), [
    ("a.bio", b"one\tO\ntwo\n", r"line 2: needs 2 columns"),
    ("a.conllu", b"1\tone\tX\n", r"line 1: needs 10 columns"),
    ("a.bio", b" \tO\n", "holds no sentence|line 1"),
    ("a.bio", b"", "holds no sentence"),
    ("a.txt", b"one\tO\n", r"must end in \.conllu"),
    ("a.bio", b"\xff\tO\n", "a.bio"),
    ("a.bio.gz", b"one\tO\n", "a.bio.gz"),
])  # fmt: skip
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SentencesError, match=said):
        read_sentences(tmp_path / name)
    with pytest.raises(SentencesError, match=r"gone\.bio"):
        read_sentences(tmp_path / "gone.bio")
