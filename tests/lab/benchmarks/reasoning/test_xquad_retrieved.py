"""Answers after retrieval beside the best sentence, over a real server with a reader that nobody trained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman_lab.benchmarks.reasoning import xquad_qa, xquad_retrieved
from dragoman_lab.reasoning.answers import f1
from tests.lab.benchmarks.search.conftest import Run
from tests.lab.benchmarks.search.samples import SENTENCES, WANTED, write_lines, write_table, write_xquad
from tests.support.backbones import tiny_reader

PAIRS = [(source, target) for source in SENTENCES for target in SENTENCES]


@pytest.mark.slow
def test_answers_after_retrieval_beside_the_best_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_EMBED", "on_demand")
    monkeypatch.setenv("DRAGOMAN_QA_PASSAGES", "1")  # there are but three
    write_xquad(tmp_path)
    write_table(tmp_path / "work")
    reader = tiny_reader(tmp_path / "reader")
    common = ["--model", reader, "--languages", "en,de"]
    given = run(xquad_qa, *common, "--data", tmp_path / "xquad_r")["pairs"]
    put_elsewhere(tmp_path / "xquad_r", "de", "q1")
    common += ["--work", tmp_path / "work", "--data-dir", tmp_path / "data"]
    kept = tmp_path / "out" / "pairs" / "en-de.json"
    kept.parent.mkdir()
    asked = {"split": "tune", "questions": 2, "model": "another"}  # it is asked anew for this reader
    kept.write_text(json.dumps({"asked": asked, "figures": {}}))
    report = run(xquad_retrieved, *common)

    assert (report["split"], report["questions"]) == ("tune", 2)
    assert report["documents"] == {unit: {"en": 3, "de": 3} for unit in ("paragraph", "sentence")}
    for source, target in PAIRS:
        figures = report["pairs"][source][target]
        assert figures["found"] == (100 if target == "en" else 50)
        best = [f1(SENTENCES[target][number], [WANTED[target][number]], target) for number in range(2)]
        assert figures["sentence_f1"] == pytest.approx(50 * sum(best))
        assert figures["sentence_exact"] == 0
        for measure in ("f1", "exact"):  # the paragraph that is read is the one that is given there
            assert figures[measure] == pytest.approx(given[source][target][measure])
    assert report["means"]["found"] == 75
    assert report["sentence"]["diagonal"]["f1"] == pytest.approx(
        sum(report["pairs"][one][one]["sentence_f1"] for one in SENTENCES) / 2
    )
    assert (tmp_path / "out" / "sentence_f1.png").stat().st_size > 1000

    kept.write_text(kept.read_text().replace('"found": 50.0', '"found": 25.0'))
    again = run(xquad_retrieved, *common)["pairs"]
    assert again["en"]["de"]["found"] == 25, "a pair of the output folder is not asked again"
    assert again["de"]["en"] == report["pairs"]["de"]["en"]


def put_elsewhere(folder: Path, language: str, question: str) -> None:
    """Say of a question that its paragraph is the first one."""
    path = folder / "queries" / f"{language}.jsonl.gz"
    rows = list(xquad_qa.json_lines(path))
    write_lines(path, [row | ({"para": rows[0]["para"]} if row["qid"] == question else {}) for row in rows])
