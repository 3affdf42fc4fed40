"""A training of MART that can be killed on its way: the arguments are its configuration and its folder."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from dragoman_lab.ranking.loop import MartTraining, train_mart
from tests.lab.backbone.slowly import slow_down


def main() -> None:
    slow_down()
    config = MartTraining.parse(json.loads(sys.argv[1]))
    train_mart(config, Path(sys.argv[2]), resume=True, report=lambda step: time.sleep(0.03))
