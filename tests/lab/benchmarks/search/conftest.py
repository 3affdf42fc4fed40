"""Runs a benchmark's command line in this process, over a real server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a benchmark's `main`, and reads the report that it wrote to the output folder."""
    monkeypatch.setenv("DRAGOMAN_RERANK", "never")

    def main(benchmark: Any, *arguments: object) -> dict[str, Any]:
        output = tmp_path / "out"
        given = ["--data", tmp_path, "--output", output, *arguments]
        monkeypatch.setattr(sys, "argv", ["benchmark", *map(str, given)])
        benchmark.main()
        return dict(json.loads((output / "report.json").read_text(encoding="utf-8")))

    return main
