"""Small examples of question answering, and readers with weights that matter."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dragoman.backbone.encoder import Encoder
from dragoman.reasoning.spans import SpanReader
from dragoman.reasoning.structured_encoder import StructuredEncoder
from dragoman_lab.reasoning.examples import Example, write_examples

THINGS = [("bee", "Biene"), ("ship", "Schiff"), ("volcano", "Vulkan"), ("cat", "Katze"), ("salt", "Salz")]
VERBS = [("finds", "findet"), ("carries", "trägt"), ("sees", "sieht")]


def examples(count: int, seed: int = 1) -> Iterator[Example]:
    """Contexts of two sentences "X finds Y", asked in English or German what X finds; some ask for one not there."""
    noise = random.Random(seed)
    for number in range(count):
        first, second, other = noise.sample(THINGS, 3)
        (found, other_found), (verb, verb_de) = noise.sample(THINGS, 2), noise.choice(VERBS)
        sentences = [f"the {first[0]} {verb} {found[0]}", f"the {second[0]} {verb} {other_found[0]}"]
        noise.shuffle(sentences)
        context = " . ".join(sentences)
        asked = other if number % 5 == 4 else first
        german = number % 2 == 1
        question = f"was {verb_de} {asked[1]}" if german else f"what {verb} the {asked[0]}"
        start = context.index(f"the {first[0]} {verb} ") + len(f"the {first[0]} {verb} ")
        answers = [] if asked is other else [(start, start + len(found[0]))]
        yield Example(question, context, "de" if german else "en", "en", answers)


def config_table(folder: Path, encoder: str, count: int = 120, **changes: Any) -> dict[str, Any]:
    """A training of seconds on written examples."""
    for name, size, seed in (("examples", count, 1), ("tuning", 30, 2)):
        path = folder / name / "sample.jsonl.gz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_examples(path, examples(size, seed))
    table: dict[str, Any] = {
        "encoder": encoder, "examples": str(folder / "examples"), "tuning": str(folder / "tuning"), "steps": 6,
        "tokens": 128, "length": 32, "first_layer": 0, "rank": 4, "warm_up": 2, "report_every": 1,
        "checkpoint_every": 2, "bf16": False, "device": "cpu",
    }  # fmt: skip
    return table | changes


def reader(encoder: Encoder, seed: int = 3) -> SpanReader:
    """A reader whose Q_cross differs from Q, and whose head decides something."""
    model = SpanReader(StructuredEncoder(encoder))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in [*model.head.parameters(), *model.encoder.cross_parameters().values()]:
            parameter += torch.randn(parameter.shape, generator=generator) * 0.5
    return model.eval()


def randomised(model: nn.Module, seed: int = 5) -> None:
    """Change all that is trained."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += torch.randn(parameter.shape, generator=generator) * 0.2


NOT = ("sees no", "sieht kein")


def statements(count: int, seed: int = 1, named: float = 0.75) -> Iterator[Example]:
    """Contexts of two sentences "X sees Y", and a statement of X in English or German, half of them true.

    A statement is false where it is negated, or where it is of something that is not among those that are `named`.
    """
    noise = random.Random(seed)
    for number in range(count):
        subjects, objects = noise.sample(THINGS, 3), noise.sample(THINGS, 2)
        sentences = [f"the {one[0]} sees {seen[0]}" for one, seen in zip(subjects, objects, strict=False)]
        context = " . ".join(sentences)
        decided, side, german = noise.random() < named, noise.randrange(2), number % 2 == 1
        subject = subjects[side] if decided else subjects[2]
        positive = not decided or noise.random() < 0.5 / named
        verb = ("sees", "sieht")[german] if positive else NOT[german]
        text = f"{subject[german]} {verb} {objects[side][german]}"
        start = len(sentences[0]) + 3 if side else 0
        span = [(start, start + len(sentences[side]))] if decided else []
        label = positive and decided
        yield Example(text, context, "de" if german else "en", "en", span, label, depth=noise.randrange(2))


def statements_table(
    folder: Path, encoder: str, count: int = 120, named: float = 0.75, **changes: Any
) -> dict[str, Any]:
    """A training of seconds on written statements."""
    for name, size, seed in (("statements", count, 1), ("statements-tuning", 100, 2)):
        path = folder / name / "sample.jsonl.gz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_examples(path, statements(size, seed, named))
    own = {"examples": str(folder / "statements"), "tuning": str(folder / "statements-tuning")}
    return config_table(folder, encoder, 4) | own | {"length": 56} | changes
