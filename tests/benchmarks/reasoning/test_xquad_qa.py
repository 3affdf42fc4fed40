"""The table of answers by languages, from a reader that nobody trained."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from benchmarks.reasoning import xquad_qa
from tests.service.backbones import tiny_reader

TEXTS = {"en": "Ships at anchor.", "de": "Schiffe liegen im Hafen."}


def test_every_pair_of_languages_is_measured(tmp_path: Path) -> None:
    for language, text in TEXTS.items():
        queries = [
            {"id": f"{language}-q{n}", "qid": f"q{n}", "text": f"{text} {n}", "answer": text.split()[0],
             "answer_start": 0, "para": f"{language}-a{article:03}-p00"}
            for n, article in enumerate((0, 11, 12))
        ]  # fmt: skip
        paragraphs = [{"id": query["para"], "text": text} for query in queries]
        for name, rows in ((f"queries/{language}", queries), (f"corpus/paragraph.{language}", paragraphs)):
            path = tmp_path / "xquad_r" / f"{name}.jsonl.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    options = [
        "--model",
        tiny_reader(tmp_path / "reader"),
        "--data",
        tmp_path / "xquad_r",
        "--output",
        tmp_path / "out",
    ]
    with patch.object(sys, "argv", ["xquad_qa", *map(str, options), "--languages", "en,de"]):
        xquad_qa.main()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["questions"] == 2  # those of articles for tuning
    assert {(a, b) for a, row in report["pairs"].items() for b in row} == {(a, b) for a in TEXTS for b in TEXTS}
    diagonal = [report["pairs"][one][one]["f1"] for one in TEXTS]
    assert report["diagonal"]["f1"] == pytest.approx(sum(diagonal) / 2)
    assert (tmp_path / "out" / "f1.png").stat().st_size > 1000
