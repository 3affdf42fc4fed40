"""Comparison of pre-training objectives at one model size, on equal data and steps.

    python -m dragoman_lab.benchmarks.backbone.objectives --data DATA --output runs/objectives

Pre-trains MLM, MLM+TLM (XLM), IS+CS and IS+CS+TLM with several seeds. Measures FLORES sentence retrieval, zero-shot
part-of-speech tagging from English, and translation fine-tuned from the model: the last or the first k layers as
decoder, and random weights. Existing results in the output folder are kept, so an interrupted run can be resumed;
`summary.md` has the table.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch

from dragoman.backbone.loading import load_encoder, load_translator
from dragoman.backbone.translator import VecoTranslator
from dragoman_lab.backbone.pretraining import PretrainingConfig, pretrain
from dragoman_lab.backbone.translation_training import TranslationConfig, train_translator
from dragoman_lab.benchmarks.backbone.tasks import nats_per_subword, retrieval, tag_from_english, translation

ROWS = {"MLM": ["is"], "MLM+TLM (XLM)": ["is", "tlm"], "IS+CS": ["is", "cs"], "IS+CS+TLM": ["is", "cs", "tlm"]}
LANGUAGES = ("de", "es", "ru")
FULL = "IS+CS+TLM"
TRANSLATED = "es"


def text(options: argparse.Namespace) -> dict[str, Any]:
    """Settings of all trainings: the text, its languages, and the folder of prepared subwords."""
    return {
        "parallel": [str(options.data / "parallel")],
        "languages": ["en", *LANGUAGES],
        "prepared": str(options.output / "tokens"),
        "tokens": options.tokens,
        "warm_up": 100,
        "report_every": 50,
        "checkpoint_every": 500,
    }


def backbone(options: argparse.Namespace, objectives: list[str], seed: int, folder: Path) -> Path:
    """The folder of a pre-trained model, trained if it is missing."""
    tokenizer = options.output / "tokenizer.json"
    sizes = {"layers": options.layers, "width": options.width, "heads": options.width // 64,
             "feed_forward": 4 * options.width, "vocabulary": options.vocabulary}  # fmt: skip
    table = {**text(options), "model": sizes, "objectives": objectives, "steps": options.steps, "seed": seed}
    if tokenizer.exists():
        table["tokenizer"] = str(tokenizer)
    if not (folder / "model").exists():
        pretrain(PretrainingConfig.parse(table), folder, resume=True)
        if not tokenizer.exists():
            tokenizer.write_bytes((folder / "tokenizer.json").read_bytes())
    return folder / "model"


def fine_tuned(options: argparse.Namespace, source: Path, seed: int, folder: Path, **settings: Any) -> dict[str, float]:
    """Mean BLEU, chrF and loss over both directions of a pair, after fine-tuning a backbone on that pair."""
    table = {**text(options), "languages": ["en", TRANSLATED], "start_from": str(source), "dropout": 0.0,
             "decoder_layers": max(1, options.layers // 2), "steps": options.translation_steps, "seed": seed,
             **settings}  # fmt: skip
    if not (folder / "model").exists():
        train_translator(TranslationConfig.parse(table), folder, resume=True)
    pairs = [(TRANSLATED, "en"), ("en", TRANSLATED)]
    translator = cast(VecoTranslator, load_translator(str(folder / "model")))
    scores = translation(translator, options.data, pairs, sentences=options.sentences, beam=1)
    means = {name: statistics.mean(score[name] for score in scores.values()) for name in ("bleu", "chrf")}
    return means | {"loss": nats_per_subword(translator, options.data, pairs, sentences=options.sentences)}


def measure(options: argparse.Namespace, row: str, seed: int) -> dict[str, float]:
    """All measures of one row and seed; saved measures are reused."""
    folder = options.output / row.replace(" ", "_") / str(seed)
    path = folder / "measures.json"
    if path.exists():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    model = backbone(options, ROWS[row], seed, folder / "backbone")
    encoder = load_encoder(str(model))
    accuracies = retrieval(encoder, options.data, LANGUAGES)
    done = {
        "retrieval en to X": statistics.mean(accuracies[f"en-{language}"] for language in LANGUAGES),
        "retrieval X to en": statistics.mean(accuracies[f"{language}-en"] for language in LANGUAGES),
    }
    tagging = tag_from_english(encoder, options.data, LANGUAGES, steps=options.tagging_steps, seed=seed)
    done["tagging zero-shot"] = statistics.mean(tagging[language] for language in LANGUAGES)
    done["tagging en"] = tagging["en"]
    if row == FULL:
        starts: dict[str, dict[str, Any]] = {
            "last k": {}, "first k": {"which_layers": "first"}, "random": {"random_start": True}
        }  # fmt: skip
        for name, settings in starts.items():
            scores = fine_tuned(options, model, seed, folder / name.replace(" ", "_"), **settings)
            done |= {f"BLEU {name}": scores["bleu"], f"chrF {name}": scores["chrf"], f"loss {name}": scores["loss"]}
    path.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
    return done


def table(rows: dict[str, list[dict[str, float]]]) -> str:
    """Mean and standard deviation over the seeds, one row per set of objectives."""
    names = list(dict.fromkeys(name for measured in rows.values() for measures in measured for name in measures))
    lines = ["| objectives | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 1)]
    for row, measured in rows.items():
        cells = [_cell([measures[name] for measures in measured if name in measures]) for name in names]
        lines.append("| " + " | ".join([row, *cells]) + " |")
    return "\n".join(lines) + "\n"


def _cell(values: Sequence[float]) -> str:
    if not values:
        return ""
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{spread}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1300)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=8_000)
    parser.add_argument("--tagging-steps", type=int, default=150)
    parser.add_argument("--translation-steps", type=int, default=500)
    parser.add_argument("--sentences", type=int, default=300, help="of FLORES to translate per direction")
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    options.output.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[dict[str, float]]] = {row: [] for row in ROWS}
    for seed in range(1, options.seeds + 1):
        for row in ROWS:
            rows[row].append(measure(options, row, seed))
            (options.output / "summary.md").write_text(table(rows), encoding="utf-8")
    print(table(rows))  # noqa: T201


if __name__ == "__main__":
    main()
