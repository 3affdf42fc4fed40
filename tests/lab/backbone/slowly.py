"""A pretraining that can be killed on its way: the arguments are its configuration and its folder."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import torch

from dragoman_lab.backbone import loop
from dragoman_lab.backbone.config import read_config
from dragoman_lab.backbone.pretraining import PretrainingConfig, pretrain


def slow_down() -> None:
    """Make saving slow, so that a kill meets a checkpoint half written now and then."""
    torch.set_num_threads(1)
    plain = loop.save_file

    def save_file(*rest: Any) -> None:
        time.sleep(0.03)
        plain(*rest)

    loop.save_file = save_file


def main() -> None:
    slow_down()
    config = PretrainingConfig.parse(read_config(Path(sys.argv[1])))
    pretrain(config, Path(sys.argv[2]), resume=True, report=lambda step: time.sleep(0.03))
