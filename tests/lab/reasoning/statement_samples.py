"""Trainings of statements on the samples, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.reasoning.statements import StatementReader
from dragoman_lab.reasoning.spans import structured_encoder
from dragoman_lab.reasoning.statements import StatementTraining
from tests.reasoning.samples import statements_table


def config_of(**changes: Any) -> StatementTraining:
    given: dict[str, Any] = {"examples": "-", "tuning": "-", "tokens": 160, "length": 56, "first_layer": 0, "rank": 4}
    return StatementTraining(**given | changes)


def table(folder: Path, **changes: Any) -> dict[str, Any]:
    return statements_table(folder, str(folder / "encoder"), **changes)


def model_of(folder: Path, config: StatementTraining) -> StatementReader:
    return StatementReader(structured_encoder(config.model_copy(update={"encoder": str(folder / "encoder")})))
