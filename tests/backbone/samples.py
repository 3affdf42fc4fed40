"""Sample text, and the smallest models and trainings that show what the backbone does."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dragoman.backbone.tokenizer import Subwords
from dragoman.backbone.veco import Veco, VecoConfig
from dragoman_lab.backbone.corpus import Pairs
from tests.support.forking import Forked

DEMO = Path(__file__).parents[2] / "dragoman" / "demo"
SUBJECTS = [("the bee", "die Biene"), ("a ship", "ein Schiff"), ("the volcano", "der Vulkan"), ("a cat", "eine Katze")]
VERBS = [("finds", "findet"), ("carries", "trägt"), ("sees", "sieht"), ("loves", "liebt")]
OBJECTS = [("honey", "Honig"), ("the old harbour", "den alten Hafen"), ("grey ash", "graue Asche"), ("salt", "Salz")]
SENTENCES = [tuple(" ".join(words) for words in zip(*row, strict=True)) for row in product(SUBJECTS, VERBS, OBJECTS)]


def raw_lines(language: str) -> list[str]:
    """Sentences of the demo's documents."""
    lines = (DEMO / f"documents.{language}.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [str(json.loads(line)["text"]) for line in lines]
    return [part.strip() for text in texts for part in text.split(". ") if part.strip()]


def write_text(folder: Path) -> Path:
    """Parallel text, raw text and a dictionary below `folder`."""
    (folder / "parallel" / "en-de").mkdir(parents=True)
    pairs = "".join(f"{english}\t{german}\tignored\n" for english, german in SENTENCES)
    (folder / "parallel" / "en-de" / "sample.tsv.gz").write_bytes(gzip.compress(pairs.encode()))
    (folder / "raw").mkdir()
    (folder / "raw" / "sw.demo.txt").write_text("\n".join(raw_lines("sw")), encoding="utf-8")
    (folder / "dictionaries").mkdir()
    words = [*SUBJECTS, *VERBS, *OBJECTS]
    (folder / "dictionaries" / "en-de.tsv").write_text("".join(f"{e}\t{g}\n" for e, g in words), encoding="utf-8")
    return folder


def config_table(text: Path, **changes: Any) -> dict[str, Any]:
    """A training of seconds on the text of `write_text`."""
    table: dict[str, Any] = {
        "parallel": [str(text / "parallel")],
        "raw": [str(text / "raw")],
        "dictionaries": [str(text / "dictionaries")],
        "steps": 6,
        "tokens": 128,
        "tokenizer_characters": 50_000,
        "warm_up": 2,
        "report_every": 1,
        "checkpoint_every": 2,
        "bf16": False,
        "device": "cpu",
        "model": {"vocabulary": 600, "width": 32, "layers": 2, "heads": 2, "feed_forward": 64, "max_length": 32},
    }
    return table | changes


def tiny(vocabulary: int = 300, seed: int = 0, **changes: Any) -> Veco:
    """A model of two layers with weights large enough that everything in it matters."""
    sizes = {"width": 32, "layers": 2, "heads": 4, "feed_forward": 64, "max_length": 32}
    model = Veco(VecoConfig(vocabulary, **{**sizes, **changes}))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            spread = torch.randn(parameter.shape, generator=generator) * 0.2
            parameter.copy_(1 + spread if "norm" in name and name.endswith("weight") else spread)
    return model.eval()


def rows_of_ids(lengths: Sequence[int], vocabulary: int = 300, seed: int = 0) -> list[Any]:
    """Random rows of subwords of text."""
    random = np.random.default_rng(seed)
    return [random.integers(5, vocabulary, length).astype(np.int32) for length in lengths]


def random_pairs(count: int = 4, vocabulary: int = 300, seed: int = 0) -> Pairs:
    random = np.random.default_rng(seed)
    x, y = (rows_of_ids(random.integers(1, 12, count).tolist(), vocabulary, seed + side) for side in (1, 2))
    return Pairs(x, y, ("en", "de"))


def curves(output: Path) -> list[dict[str, Any]]:
    """What a training reported, without what depends on the clock."""
    lines = (output / "curves.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [json.loads(line) for line in lines]
    return [{name: step[name] for name in ("step", "losses", "learning_rate", "tokens")} for step in steps]


def run_with_kills(module: str, arguments: list[str], output: Path) -> int:
    """Run a module's training until it ends, killed twice, a moment after it reported; how many kills met it."""
    curve, kills = output / "curves.jsonl", 0
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    for wait in (0.1, 0.37, 120):  # seconds after it reported something new
        known = curve.stat().st_size if curve.exists() else 0
        process = Forked(module, arguments, environment, sys.stderr)
        while process.poll() is None and (curve.stat().st_size if curve.exists() else 0) <= known:
            time.sleep(0.01)
        try:
            assert process.wait(wait) == 0
        except TimeoutError:
            process.send_signal(signal.SIGKILL)
            kills += process.wait() == -signal.SIGKILL
    return kills


def all_ids(subwords: Subwords, texts: Sequence[str]) -> list[list[int]]:
    return [encoded.ids for encoded in subwords.encode(texts)]
