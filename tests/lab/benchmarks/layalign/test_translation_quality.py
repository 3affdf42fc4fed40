from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dragoman.reasoning.layalign.reasoner import Reasoner
from dragoman_lab.benchmarks.layalign import translation_quality
from tests.support.backbones import tiny_bridge

GERMAN = ["Schiffe liegen im Hafen. Eine Biene fliegt.", "Der Vulkan", "Der Vulkan speit Asche."]


def test_chrf_of_a_bridge_is_measured_and_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bridge = tiny_bridge(
        tmp_path / "bridge", stage="translation", quality={"sw": 20.0}, measured_on="FLORES-200 devtest"
    )
    english = translation_quality.translate(Reasoner(bridge, tmp_path / "cache"), GERMAN)
    for language, texts in (("de", GERMAN), ("en", english)):
        lines = "".join(json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts))
        (tmp_path / f"{language}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    options = f"--bridge {bridge} --work {tmp_path / 'cache'} --split test --data {tmp_path} --languages de"
    translation_quality.main([*options.split(), "--output", str(tmp_path / "out"), "--threads", "1", "--record"])
    assert "100.0" in capsys.readouterr().out
    found = Reasoner(bridge, tmp_path / "cache")
    assert (found.quality, found.measured_on) == ({"sw": 20.0, "de": 100.0}, "FLORES-200 devtest")
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["languages"]["de"]["chrf"] == pytest.approx(100) and report["split"] == "test"
    rows = [line.split("\t") for line in (tmp_path / "out" / "de.tsv").read_text().splitlines()]
    assert [row[0] for row in rows] == GERMAN and [row[2] for row in rows] == english
    translation_quality.main([*options.split(), "--output", str(tmp_path / "out"), "--sentences", "2", "--record"])
    fewer = Reasoner(bridge, tmp_path / "cache")  # what was measured on other texts is no longer there
    assert (fewer.quality, fewer.measured_on) == ({"de": 100.0}, "the first 2 sentences of FLORES-200 devtest")


def test_what_was_chosen_by_is_not_recorded(tmp_path: Path) -> None:
    options = f"--bridge {tmp_path} --work {tmp_path} --split tune --data {tmp_path} --output {tmp_path} --record"
    with pytest.raises(SystemExit):
        translation_quality.main(options.split())
