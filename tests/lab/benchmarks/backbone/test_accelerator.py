"""The measuring of accelerators, on a processor with tiny sizes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman_lab.benchmarks.backbone import accelerator
from dragoman_lab.benchmarks.backbone.accelerator import Figure, encoder_operations, report
from dragoman_lab.benchmarks.reranking.throughput import operations
from tests.support.backbones import tiny_bridge

_ALONE = """
import sys
for name in ("fastapi", "jpype", "faiss", "sqlalchemy", "pydantic", "httpx", "rich", "ir_measures", "scipy"):
    sys.modules[name] = None  # what a GPU box does not have
import dragoman_lab.benchmarks.backbone.accelerator
"""


@pytest.mark.slow
def test_every_part_beside_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "figures.json"
    arguments = ["--device", "cpu", "--seconds", "0.01", "--square", "32", "--queries", "1", "--documents", "2"]
    arguments += ["--longest", "12", "--tokens", "3", "--question", "Asche", "--work", str(tmp_path / "work")]
    arguments += ["--bridge", str(tiny_bridge(tmp_path / "bridge")), "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["accelerator", *arguments])
    accelerator.main()
    figures = [Figure(**row) for row in json.loads(output.read_text(encoding="utf-8"))]
    assert list(dict.fromkeys(figure.part for figure in figures)) == list(accelerator.PARTS)
    assert all(figure.rate > 0 and figure.operations > 0 for figure in figures)
    for part in ("encoder", "mart", "reason"):
        systems = {figure.system.split(",")[0] for figure in figures if figure.part == part}
        assert {"dragoman", "transformers"} <= systems
    at_once = [figure.system for figure in figures if figure.part == "reason"]
    assert at_once[:3] == ["dragoman, 1 at once", "dragoman, 8 at once", "dragoman, 32 at once"]


def test_it_needs_neither_java_nor_a_server() -> None:
    subprocess.run([sys.executable, "-c", _ALONE], check=True)


def test_shares_are_of_the_matrix_rate_in_bfloat16() -> None:
    assert encoder_operations([10, 20]) == operations("e5-small", [10, 20])
    figures = [
        Figure("matrix", "float32", "products", 1, 5e12),
        Figure("matrix", "bfloat16", "products", 1, 2e13),
        Figure("encoder", "dragoman, as the service", "passages", 1234.5, 5e12),
    ]
    lines = report("cpu", figures).splitlines()
    assert lines[-2:] == [
        "| matrix | bfloat16 | 20.00 | TFLOP | |",
        "| encoder | dragoman, as the service | 1,234 | passages | 25.0% |",
    ]
