"""A training that can be killed on its way: the arguments are its task, its configuration and its folder."""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path

from tests.lab.backbone.slowly import slow_down

TASKS = {
    "spans": ("spans", "SpanTraining", "train_spans"),
    "statements": ("statements", "StatementTraining", "train_statements"),
    "cross_query": ("cross_query", "CrossQueryTraining", "train_cross_query"),
    "layalign": ("layalign", "LayAlignTraining", "train_layalign"),
}


def main() -> None:
    slow_down()
    module, kind, train = TASKS[sys.argv[1]]
    found = import_module(f"dragoman_lab.reasoning.{module}")  # one alone: transformers takes seconds to import
    config = getattr(found, kind).parse(json.loads(sys.argv[2]))
    getattr(found, train)(config, Path(sys.argv[3]), resume=True, report=lambda step: time.sleep(0.03))
