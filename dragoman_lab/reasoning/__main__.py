"""Training of a bridge where the service is not installed: `torchrun ... -m dragoman_lab.reasoning`."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from dragoman_lab.backbone.config import read_config
from dragoman_lab.backbone.loop import report_to_log
from dragoman_lab.reasoning.layalign import LayAlignTraining, train_layalign

logger = logging.getLogger("dragoman.reasoning")


def main() -> None:
    """Train a bridge with examples that are there; `dragoman train layalign` makes them, and draws curves."""
    parser = argparse.ArgumentParser(prog="python -m dragoman_lab.reasoning", description=main.__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    table = read_config(options.config, None)
    table.pop("sources", None)
    settings = LayAlignTraining.parse(table)
    folder = train_layalign(settings, options.output, resume=options.resume, report=report_to_log(settings.steps))
    logger.info("saved %s", folder)


if __name__ == "__main__":
    main()
