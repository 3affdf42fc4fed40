"""Refit the score weights of a trained MART on tuning lists, and write them to the model.

    python -m dragoman_lab.benchmarks.reranking.mart_fit --model runs/mart/e5/model --tuning runs/mart/e5-tuning

`dragoman train mart` ends with the same fit (`dragoman_lab.ranking.fitting`). Prints MAP on every tuning list, each
with its best weights. It is that of the first stage, of its combination with each other part (MART, standalone
structured queries), and of all parts, as in searches. Two more are of each part alone, and of all except the first
stage (standalone), as in the rerank endpoints.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path

import torch

from dragoman.backbone.checkpoints import CONFIG
from dragoman.files.atomic import atomic_file
from dragoman.ranking.about import RerankerAbout
from dragoman.ranking.checkpoints import load_mart
from dragoman_lab.ranking.fitting import Fit, fit
from dragoman_lab.ranking.lists import lists_in, read_lists


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tuning", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=60, help="of each list, evenly spaced")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    path = arguments.model / CONFIG
    if not path.is_file():
        parser.error(f"--model: {path} does not exist")
    if not (folders := lists_in(arguments.tuning)):
        parser.error(f"--tuning: no lists under {arguments.tuning}")
    model, about = load_mart(str(arguments.model))
    tuning = {str(folder.relative_to(arguments.tuning)): read_lists(folder) for folder in folders}
    for name, lists in tuning.items():
        if lists.tokenizer != model.encoder.tokenizer_checksum:
            parser.error(f"--tuning: {name}: these lists were tokenized for an encoder with another vocabulary")
    about, fitted = fit(model, about, tuning, queries=arguments.questions)
    print(summary(fitted))  # noqa: T201
    write(path, replace(about, hybrid=None))  # it belongs to the former scores


def write(path: Path, about: RerankerAbout) -> None:
    """Write what was fitted into a reranker's configuration."""
    fields = {name: setting for name, setting in asdict(about).items() if name != "late" or setting is not None}
    config = json.loads(path.read_text(encoding="utf-8")) | fields
    with atomic_file(path) as unfinished:
        unfinished.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def summary(fitted: Fit) -> str:
    """A Markdown table of MAP."""
    maps = fitted.maps()
    lines = [f"| | {' | '.join(maps)} |", "|---" * (len(maps) + 1) + "|"]
    for name in [*fitted.sets, "mean"]:
        lines.append(f"| {name} | {' | '.join(f'{list_maps[name]:.3f}' for list_maps in maps.values())} |")
    weights = ", ".join(f"{name}: {tuple(order_weights)}" for name, order_weights in fitted.chosen.items())
    return "\n".join([*lines, f"\nweights of the model, the first stage, shares: {weights}"])


if __name__ == "__main__":
    main()
