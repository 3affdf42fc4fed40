"""Training on a machine with torch but without the service: `torchrun ... -m dragoman_lab.backbone`."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from dragoman_lab.backbone.config import read_config
from dragoman_lab.backbone.loop import report_to_log
from dragoman_lab.backbone.pretraining import PretrainingConfig, pretrain
from dragoman_lab.backbone.translation_training import TranslationConfig, train_translator

logger = logging.getLogger("dragoman_lab.backbone")


def main() -> None:
    """Train a backbone or a translator; `dragoman train` does the same with a progress bar."""
    parser = argparse.ArgumentParser(
        prog="python -m dragoman_lab.backbone", description="Train a backbone or a translator."
    )
    parser.add_argument("what", choices=["backbone", "translator"])
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="folder that contains the text folders")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    table = read_config(options.config, options.data)
    if options.what == "backbone":
        backbone = PretrainingConfig.parse(table)
        folder = pretrain(backbone, options.output, resume=options.resume, report=report_to_log(backbone.steps))
    else:
        translator = TranslationConfig.parse(table)
        folder = train_translator(
            translator, options.output, resume=options.resume, report=report_to_log(translator.steps)
        )
    logger.info("saved %s", folder)


if __name__ == "__main__":
    main()
