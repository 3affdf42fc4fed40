"""A training of spans that can be killed on its way: the arguments are its configuration and its folder."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from dragoman.reasoning.training.spans import SpanTraining, train_spans
from tests.backbone.training.slowly import slow_down


def main() -> None:
    slow_down()
    config = SpanTraining.parse(json.loads(sys.argv[1]))
    train_spans(config, Path(sys.argv[2]), resume=True, report=lambda step: time.sleep(0.03))
