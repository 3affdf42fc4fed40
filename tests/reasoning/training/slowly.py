"""A training that can be killed on its way: the arguments are its task, its configuration and its folder."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from dragoman.reasoning.training.cross_query import CrossQueryTraining, train_cross_query
from dragoman.reasoning.training.spans import SpanTraining, train_spans
from dragoman.reasoning.training.statements import StatementTraining, train_statements
from tests.backbone.training.slowly import slow_down

TASKS: dict[str, Any] = {
    "spans": (SpanTraining, train_spans),
    "statements": (StatementTraining, train_statements),
    "cross_query": (CrossQueryTraining, train_cross_query),
}


def main() -> None:
    slow_down()
    kind, train = TASKS[sys.argv[1]]
    config = kind.parse(json.loads(sys.argv[2]))
    train(config, Path(sys.argv[3]), resume=True, report=lambda step: time.sleep(0.03))
