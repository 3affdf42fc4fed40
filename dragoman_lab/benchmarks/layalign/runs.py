"""The trainings of `benchmarks.layalign.tables`: a first stage for each kind of bridge, and a second for each method.

Each training is a folder of the output. One that is complete is not done again, and one that was killed goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.backbone.checkpoints import CONFIG, read_json
from dragoman.reasoning.layalign.reasoner import TEXT
from dragoman_lab.benchmarks.reasoning.statement_runs import Say, finish_training, rhythm
from dragoman_lab.evaluation.bridge_examples import BridgeSources, prepare_bridge
from dragoman_lab.reasoning.layalign import LayAlignTraining, train_layalign

BEFORE = "In English:"
"""What precedes a text that is to be translated."""


@dataclass(frozen=True)
class Method:
    """A bridge, and the stages it is trained in."""

    title: str
    adapter: str = "mlp"
    fusion: str = "layers"
    text: bool = False
    """Whether the LLM has the text of a problem, too, after the soft prompt."""
    stages: tuple[str, ...] = ("translation", "task")


METHODS = {
    "layalign": Method("LayAlign"),
    "mindmerger": Method("MindMerger", fusion="none", text=True),
    "langbridge": Method("LangBridge", adapter="linear", fusion="none"),
    "with-text": Method("LayAlign, the LLM has the text too", text=True),
    "no-adapter": Method("without the adapter", adapter="none"),
    "no-aligner": Method("without the aligner", fusion="none"),
    "last": Method("the last layer alone", fusion="last"),
    "mean": Method("the mean of the layers", fusion="mean"),
    "no-translation": Method("without the first stage", stages=("task",)),
    "no-task": Method("without the second stage", stages=("translation",)),
}


@dataclass(frozen=True)
class Plan:
    """What is trained, and how long."""

    data_folder: Path
    output: Path
    languages: tuple[str, ...] = ("ar", "de", "el", "es", "fr", "hi", "ja", "ru", "sw", "th", "tr", "vi", "zh")
    encoder: str = "e5-small"
    llm: str = "smollm2-135m"
    pairs: int = 39_000
    problems: int = 6_000
    word_steps: int = 2_000
    steps: int = 200
    task_steps: int = 100
    rate: float = 1e-3
    task_rate: float = 5e-4
    tokens: int = 2_048
    length: int = 256
    tuning_examples: int = 200
    start: str = ""
    """A bridge of which each method takes what it can before the first stage, but LangBridge with its own adapter."""

    @property
    def shape(self) -> dict[str, int]:
        """The adapter's width and the layer that it reads: those of `start`."""
        return {name: read_json(Path(self.start) / CONFIG)[name] for name in ("hidden", "soft_layer") if self.start}


def first_stage(plan: Plan, method: Method, seed: int, say: Say) -> Path:
    """Train a bridge to translate into English; methods with the same bridge share it. The folder of the training."""
    table = {"stage": "translation", "before": BEFORE, "learning_rate": plan.rate}
    if plan.start and method.adapter != "linear":
        table["start"] = plan.start
    elif method.adapter != "none":
        table["word_steps"] = plan.word_steps
    config = _config(plan, method, "translation", plan.steps, seed, table)
    prepare_examples(plan, "translation", config)
    return finish_training(config, plan.output / "translation" / _name(method, seed), train_layalign, say).parent


def train_method(plan: Plan, name: str, seed: int, say: Say) -> Path:
    """Train a method, and return the folder of its bridge."""
    method = METHODS[name]
    start = first_stage(plan, method, seed, say) if "translation" in method.stages else None
    if "task" not in method.stages:
        assert start is not None
        return start / "model"
    table = {"stage": "task", "after": f"\n{TEXT}" if method.text else "", "learning_rate": plan.task_rate}
    if start is not None:
        table["start"] = str(start)
    config = _config(plan, method, "task", plan.task_steps, seed, table)
    prepare_examples(plan, "task", config)
    return finish_training(config, plan.output / "task" / f"{name}-{seed}", train_layalign, say)


def prepare_examples(plan: Plan, stage: str, config: LayAlignTraining) -> None:
    """Write the examples of a stage, unless they are there."""
    reasoning = plan.data_folder / "reasoning"
    sources = BridgeSources(
        parallel=str(plan.data_folder / "parallel"),
        languages=list(plan.languages),
        pairs=plan.pairs,
        preferred=["tatoeba", "globalvoices", "tanaka", "tico19", "joshua"],
        without=["bible", "quran", "cldr", "osm"],
    )
    if stage == "task":
        mawps, gsm8k = (str(reasoning / name) for name in ("mawps.jsonl.gz", "gsm8k_train.jsonl.gz"))
        sources = BridgeSources(problems=plan.problems, mawps=mawps, gsm8k=gsm8k, tuning_pairs=200)
    prepare_bridge(sources, Path(config.examples), Path(config.tuning), lambda: None)


def _name(method: Method, seed: int) -> str:
    return f"{method.adapter}-{method.fusion}-{seed}"


def _config(plan: Plan, method: Method, stage: str, steps: int, seed: int, table: dict[str, Any]) -> LayAlignTraining:
    examples = plan.output / "examples" / stage
    common: dict[str, Any] = {
        "encoder": plan.encoder, "llm": plan.llm, "adapter": method.adapter, "fusion": method.fusion,
        "examples": str(examples / "learn"), "tuning": str(examples / "tune"), "states": str(plan.output / "states"),
        "length": plan.length, "tokens": plan.tokens, "tuning_examples": plan.tuning_examples, "patience": 100,
        "seed": seed,
    } | plan.shape  # fmt: skip
    return LayAlignTraining.parse(common | rhythm(steps) | table)
