"""The trainings of `statement_tables`: Q_cross, then a reader of statements for each method and seed.

Each training is a folder of the output. One that is complete is not done again, and one that was killed goes on.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dragoman.backbone.checkpoints import read_json
from dragoman_lab.backbone.config import TrainingConfig
from dragoman_lab.backbone.text_files import text_files
from dragoman_lab.evaluation.qa_examples import claim_folder
from dragoman_lab.evaluation.statement_examples import StatementSources, leaps, prepare_statements
from dragoman_lab.reasoning.cross_query import CrossQueryTraining, train_cross_query
from dragoman_lab.reasoning.examples import write_examples
from dragoman_lab.reasoning.statements import StatementTraining, train_statements
from dragoman_lab.reasoning.theories import LANGUAGES

TUNING_SHARE = 10
"""One in so many statements of LeapOfThought is for tuning."""
OF_ALL = ("head", "begun", "shared", "query")
"""What is trained on parallel text of all languages."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Method:
    """How rows in two languages are read, in training and in tests."""

    title: str
    cross: str = ""
    """What was trained on parallel text before: Q_cross of all pairs or of one, or the encoder's own queries."""
    interfering: float = 0.7
    dropped: float = 0.0

    @property
    def structured(self) -> bool:
        return self.cross in ("shared", "pair")


METHODS = {
    "original": Method("original"),
    "cs-baseline": Method("CS-baseline", "query"),
    "dropout": Method("structured dropout", dropped=0.4),
    "shared": Method("Shared", "shared"),
    "pair": Method("Pair", "pair"),
    "shared-apart": Method("Shared, not interfering", "shared", interfering=1.0),
    "pair-apart": Method("Pair, not interfering", "pair", interfering=1.0),
}


def methods_of(kind: str, methods: Sequence[str]) -> list[str]:
    """Those of `methods` that are trained on a kind: interference is compared on theories alone."""
    return [name for name in methods if kind == "theories" or METHODS[name].interfering < 1]


@dataclass(frozen=True)
class Plan:
    """What is trained, and how long."""

    data_folder: Path
    output: Path
    tables: Path
    languages: list[str]
    """Those of the tests beside English; the first one is that of the training."""
    encoder: str = "e5-small"
    layers: int = 6
    rank: int = 16
    head_steps: int = 400
    cross_steps: int = 500
    pair_steps: int = 250
    warm_up_steps: int = 700
    curriculum: int = 200
    steps: int = 200
    leap_steps: int = 300
    theories: int = 6000
    tuning_examples: int = 200
    length: int = 384
    tokens: int = 2560
    sentence_length: int = 64
    sentence_tokens: int = 1536
    cross_rate: float = 5e-4
    warm_up_rate: float = 1e-3
    rate: float = 3e-4
    follow: bool = True
    """Whether Q_cross also gets what the warm-up added to Q."""

    @property
    def mixes(self) -> list[str]:
        """mix(en, en-X): each item is in English, or its statement alone is in the language of the training."""
        return ["en", f"en-{self.languages[0]}"]

    def cross(self, name: str) -> Path:
        """Where Q_cross of a name is: `shared`, `query`, `begun`, or the language of a pair with English.

        `begun` is of all pairs, and those of one pair and of all go on from it, for the same steps. A pair without
        parallel text has the one of all pairs.
        """
        if name not in OF_ALL and not self._parallel(name):
            name = "shared"
        return self.output / "cross" / name

    def _parallel(self, language: str) -> bool:
        files = text_files([self.data_folder / "parallel"])
        return any(set(file.languages) == {"en", language} for file in files)


def cross_query(plan: Plan, name: str, say: Say) -> Path:
    """Train the layer that predicts subwords (`head`), or what `Plan.cross` names; returns the folder of the model."""
    folder = plan.cross(name)
    name = folder.name
    trains = name if name in ("head", "query") else "cross"
    table: dict[str, Any] = {
        "encoder": plan.encoder, "layers": plan.layers, "trains": trains,
        "parallel": [str(plan.data_folder / "parallel")],
        "languages": sorted(LANGUAGES),
        "prepared": str(plan.output / "tokens"), "vocabulary": 16_000, "length": plan.sentence_length,
        "tokens": plan.sentence_tokens, "learning_rate": 2e-3 if name == "head" else plan.cross_rate,
    }  # fmt: skip
    steps = plan.head_steps if name == "head" else plan.cross_steps
    if name != "head":
        table["head"] = str(cross_query(plan, "head", say).parent)
    if name == "shared" or name not in OF_ALL:
        steps = plan.pair_steps
        languages = table["languages"] if name == "shared" else ["en", name]
        table |= {"languages": languages, "start": str(cross_query(plan, "begun", say))}
    config = CrossQueryTraining.parse(table | rhythm(steps))
    return finish_training(config, folder, train_cross_query, say)


def rhythm(steps: int) -> dict[str, Any]:
    """How often a training of so many steps reports and saves."""
    interval = 10 if steps >= 100 else 1
    save = max(interval, steps // 6 // interval * interval)
    return {"steps": steps, "warm_up": steps // 10, "report_every": interval, "checkpoint_every": save}


def finish_training(config: TrainingConfig, folder: Path, train: Callable[..., Path], say: Say) -> Path:
    """Train if that is not done yet, remove the checkpoints, and return the folder of the model."""
    model, saved_config = folder / "model", folder / "config.json"
    if saved_config.exists():
        before = type(config).parse(read_json(saved_config))
        if differing := [*config.differing_fields(before), *(["steps"] if config.steps != before.steps else [])]:
            raise SystemExit(f"{folder} was trained with another {', '.join(differing)}: choose another output")
    if not (model / "config.json").exists():
        say(f"{folder.name}: training, {config.steps} steps")
        train(config, folder, resume=True, report=lambda step: _show(say, folder.name, step))
    if (folder / "checkpoints").exists():
        shutil.rmtree(folder / "checkpoints")
    return model


def _show(say: Say, name: str, step: Any) -> None:
    losses = ", ".join(f"{part} {loss:.3f}" for part, loss in step.losses.items())
    say(f"{name}: step {step.step}: {losses}, {step.tokens_per_second:,.0f} tokens/s")


def warm_up(plan: Plan, own_queries: bool, say: Say) -> Path:
    """Train a reader on theories in English, which Q alone reads, so that it serves all methods and seeds.

    The CS-baseline has one of its own, since it changes the queries that this learns with. Returns the folder.
    """
    sources = StatementSources(theories=plan.theories, mixes=["en"])
    table: dict[str, Any] = {"structured": False, "learning_rate": plan.warm_up_rate, "curriculum": plan.curriculum}
    if own_queries:
        table["cross"] = str(cross_query(plan, "query", say))
    folder = plan.output / "warm-up" / ("cs-baseline" if own_queries else "all")
    config = reading(plan, "english", plan.warm_up_steps, 1, table)
    prepare_statements(sources, Path(config.examples), Path(config.tuning), lambda: None)
    return finish_training(config, folder, train_statements, say).parent


def run(plan: Plan, kind: str, name: str, seed: int, say: Say) -> Path:
    """Train a method on `theories` or `leap`, mix(en, en-X), from the warm-up on; returns the folder of the model."""
    method = METHODS[name]
    table: dict[str, Any] = {
        "structured": method.structured, "interfering": method.interfering, "dropped": method.dropped,
        "learning_rate": plan.rate, "start": str(warm_up(plan, method.cross == "query", say)),
        "follow": method.structured and plan.follow,
    }  # fmt: skip
    if method.cross:
        table["cross"] = str(cross_query(plan, plan.languages[0] if method.cross == "pair" else method.cross, say))
    config = reading(plan, kind, plan.steps if kind == "theories" else plan.leap_steps, seed, table)
    mix_examples(plan, kind, config)
    folder = plan.output / kind / f"{name}-{seed}"
    model = finish_training(config, folder, train_statements, say)
    if (folder / "best").exists():
        shutil.rmtree(folder / "best")
    return model


def reading(plan: Plan, examples: str, steps: int, seed: int, table: dict[str, Any]) -> StatementTraining:
    """The configuration of a reader of statements."""
    folder = plan.output / "examples" / examples
    common: dict[str, Any] = {
        "encoder": plan.encoder, "layers": plan.layers, "rank": plan.rank, "first_layer": 0, "length": plan.length,
        "tokens": plan.tokens, "examples": str(folder / "learn"), "tuning": str(folder / "tune"),
        "tuning_examples": plan.tuning_examples, "patience": 100, "seed": seed,
    }  # fmt: skip
    return StatementTraining.parse(common | rhythm(steps) | table)


def mix_examples(plan: Plan, kind: str, config: StatementTraining) -> None:
    """Write the examples of mix(en, en-X), unless they are there."""
    learn, tune = Path(config.examples), Path(config.tuning)
    if kind == "theories":
        sources = StatementSources(theories=plan.theories, mixes=plan.mixes, seed=1)
        prepare_statements(sources, learn, tune, lambda: None)
        return
    path = str(plan.data_folder / "leapofthought" / "train_part.jsonl.gz")
    sources = StatementSources(leap_of_thought=[path], tables=str(plan.tables), switched=plan.mixes)
    for folder in (learn, tune):
        claim_folder(sources, folder)
    if not all((folder / "leap_of_thought.jsonl.gz").exists() for folder in (learn, tune)):
        examples = list(leaps(sources))
        held = {index for index in range(len(examples)) if index % TUNING_SHARE == 0}
        for folder, chosen in ((learn, False), (tune, True)):
            some = [example for index, example in enumerate(examples) if (index in held) == chosen]
            write_examples(folder / "leap_of_thought.jsonl.gz", some)


def settings(plan: Plan) -> dict[str, Any]:
    """The plan as it is reported."""
    return {name: setting for name, setting in asdict(plan).items() if name not in ("data_folder", "output", "tables")}
