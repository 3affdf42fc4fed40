"""One training loop for all that is learned from batches: it can be killed at any moment and goes on exactly.

Batches, masks and dropout follow from the seed and the step alone. A checkpoint holds the weights, the optimizer's
moments and the position. So a resumed training reports the losses of one that was never interrupted. It runs on a CPU,
on a GPU, or on several under torchrun, which share their gradients.
"""

from __future__ import annotations

import json
import logging
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from dragoman.backbone.checkpoints import fill, read_file, read_json
from dragoman.backbone.products import autocast
from dragoman.files.atomic import atomic_file, atomic_folder
from dragoman_lab.backbone.config import ConfigError, TrainingConfig
from dragoman_lab.backbone.corpus import Corpus, Pairs, Position, batches
from dragoman_lab.backbone.workers import Workers, keep_freed_memory

logger = logging.getLogger("dragoman.training")

KEPT_CHECKPOINTS = 2


class Batch(Protocol):
    """What a loss is computed of."""

    @property
    def tokens(self) -> int:
        """How much text it is."""


B = TypeVar("B", bound=Batch)


@dataclass(frozen=True)
class Source(Generic[B]):
    """Batches without end that can be drawn again from any position; `checksum` stands for all that decides them."""

    checksum: str
    draw: Callable[[Position], Iterator[tuple[Position, B]]]


def pairs_of(corpus: Corpus, config: TrainingConfig) -> Source[Pairs]:
    """The batches of prepared text, as configured."""
    shares = corpus.shares(config.smoothing, config.dictionary_share)
    return Source(
        corpus.checksum,
        lambda start: batches(corpus, seed=config.seed, tokens=config.tokens, shares=shares, start=start),
    )


Loss = Callable[[B, torch.Generator, torch.device], Mapping[str, Tensor]]
"""The losses of a batch by name; their sum is minimised. The generator decides all that is drawn at random."""


@dataclass(frozen=True)
class Step:
    """A report: mean losses since the last one, source and target subwords read so far, and the rate of this run."""

    step: int
    losses: dict[str, float]
    learning_rate: float
    tokens: int
    tokens_per_second: float
    seconds: float


Report = Callable[[Step], None]


@dataclass(frozen=True)
class EarlyStopping:
    """Measure at each checkpoint, keep the best weights, and stop after `patience` measurements without a better one.

    `measure` gives values by name, from the same weights the same; the one named `by` is maximised.
    """

    measure: Callable[[], Mapping[str, float]]
    by: str
    patience: int


@dataclass
class Progress:
    """Where a training stands; together with weights and moments it is all that a resume needs."""

    step: int = 0
    position: Position = field(default_factory=Position)
    tokens: int = 0
    seconds: float = 0.0
    best: float | None = None
    best_step: int = 0
    worse: int = 0
    """Measurements since the best."""


class Trainer(Generic[B]):
    """Draws batches, adds up gradients, steps, reports, and saves its state now and then."""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss[B],
        names: Sequence[str],
        source: Source[B],
        config: TrainingConfig,
        output: Path,
        workers: Workers,
        stopping: EarlyStopping | None = None,
    ) -> None:
        """`names` are all that `loss` may name a loss."""
        self.model, self.names = model.to(workers.device).train(), names
        self.loss, self.source, self.config, self.output, self.workers = loss, source, config, output, workers
        self.stopping = stopping
        self.optimizer = _optimizer(self.model, config)
        self.progress = Progress()

    def run(self, report: Report | None = None) -> None:
        """Train up to the configured number of steps, or to where it stops early, from where `progress` stands."""
        if self.workers.device.type == "cpu":
            keep_freed_memory()
        drawn = self.source.draw(self.progress.position)
        sums, begun = Sums(self.names, self.workers), time.monotonic()
        before_tokens, before_seconds = self.progress.tokens, self.progress.seconds
        while self.progress.step < self.config.steps and not self._should_stop():
            rate = self._learning_rate()
            self.progress.tokens += self._step(drawn, rate, sums)
            self.progress.step += 1
            now = time.monotonic() - begun
            self.progress.seconds = before_seconds + now
            last = self.progress.step == self.config.steps
            if last or self.progress.step % self.config.report_every == 0:
                speed = (self.progress.tokens - before_tokens) / now
                done = Step(self.progress.step, sums.take(), rate, self.progress.tokens, speed, self.progress.seconds)
                self._note(done, report)
            if last or self.progress.step % self.config.checkpoint_every == 0:
                if self.stopping is not None:
                    self._measure(self.stopping)
                self.save()
        if self.workers.first:
            lines = (self.output / "curves.jsonl").read_text(encoding="utf-8").splitlines()
            curves = json.dumps([json.loads(line) for line in lines], indent=1)
            (self.output / "curves.json").write_text(curves + "\n", encoding="utf-8")

    def _should_stop(self) -> bool:
        return self.stopping is not None and self.progress.worse >= self.stopping.patience

    def _measure(self, stopping: EarlyStopping) -> None:
        """Every process measures, so that all stop at the same step; the first one writes."""
        self.model.eval()
        with autocast(self.workers.device.type, self.config.bf16):
            scores = dict(stopping.measure())
        self.model.train()
        progress, score = self.progress, scores[stopping.by]
        better = progress.best is None or score > progress.best
        progress.worse = 0 if better else progress.worse + 1
        if better:
            progress.best, progress.best_step = score, progress.step
        if self.workers.first:
            with (self.output / "measures.jsonl").open("a", encoding="utf-8") as measures:
                measures.write(json.dumps({"step": progress.step, **scores}) + "\n")
            if better:
                with atomic_folder(self.output / "best") as unfinished:
                    save_file(self._weights(), unfinished / "model.safetensors")

    def take_best(self) -> None:
        """Give the model the weights that measured best.

        Raises:
            CheckpointError: there are none, or they are damaged.
        """
        fill(self.model, read_file(self.output / "best" / "model.safetensors", str(self.workers.device)), self.output)

    def _weights(self) -> dict[str, Tensor]:
        return {name: tensor.detach().cpu().contiguous() for name, tensor in self.model.state_dict().items()}

    def _learning_rate(self) -> float:
        """Linear warm-up, then a cosine down to a twentieth at the last step."""
        step, config = self.progress.step + 1, self.config
        fall = 0.05 + 0.95 * (1 + math.cos(math.pi * step / config.steps)) / 2
        return config.learning_rate * min(1.0, step / max(1, config.warm_up)) * fall

    def _step(self, drawn: Iterator[tuple[Position, B]], rate: float, sums: Sums) -> int:
        tokens, config, workers = 0, self.config, self.workers
        torch.manual_seed(_mix_seed(config.seed, self.progress.step, workers.rank))  # dropout knows no generator
        for part in range(config.accumulate * workers.count):
            self.progress.position, batch = next(drawn)
            tokens += batch.tokens
            if part % workers.count != workers.rank:
                continue
            generator = torch.Generator().manual_seed(_mix_seed(config.seed, self.progress.step, part))
            with autocast(workers.device.type, config.bf16):
                losses = self.loss(batch, generator, workers.device)
            if losses:  # objectives of parallel text alone have nothing to say of a raw batch
                (torch.stack(list(losses.values())).sum() / config.accumulate).backward()  # type: ignore[no-untyped-call]
            sums.add(losses)
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        workers.share_gradients(parameters)
        torch.nn.utils.clip_grad_norm_(parameters, config.clip)
        only_cross = self.progress.step < config.cross_attention_only_steps
        for group in self.optimizer.param_groups:
            group["lr"] = 0.0 if only_cross and not group["cross"] else rate * group["rate"]
        self.optimizer.step()
        self.optimizer.zero_grad()
        return tokens

    def _note(self, done: Step, report: Report | None) -> None:
        if self.workers.first:
            with (self.output / "curves.jsonl").open("a", encoding="utf-8") as curves:
                curves.write(json.dumps(asdict(done)) + "\n")
            if report is not None:
                report(done)

    def save(self) -> None:
        """Write a checkpoint, whole or not at all; the two newest are kept."""
        if not self.workers.first:
            return
        moments = {
            f"{kind}/{name}": tensor.detach().cpu().contiguous()
            for name, parameter in self.model.named_parameters()
            for kind, tensor in self.optimizer.state.get(parameter, {}).items()
        }
        with atomic_folder(self.output / "checkpoints" / f"{self.progress.step:08d}") as unfinished:
            save_file(self._weights(), unfinished / "model.safetensors")
            save_file(moments, unfinished / "moments.safetensors")
            progress = asdict(self.progress) | self._inputs()
            (unfinished / "progress.json").write_text(json.dumps(progress), encoding="utf-8")
        for old in _checkpoints(self.output)[:-KEPT_CHECKPOINTS]:
            shutil.rmtree(old)

    def _inputs(self) -> dict[str, Any]:
        """What else decides which batch comes next, besides the configuration."""
        return {"corpus": self.source.checksum, "workers": self.workers.count}

    def restore(self) -> None:
        """Go back to the newest checkpoint, and drop what the learning curves say of later steps.

        Raises:
            CheckpointError: a damaged checkpoint, or one of another model.
            ConfigError: the training text or the number of processes is not what it was.
        """
        checkpoints = _checkpoints(self.output)
        if checkpoints:
            self._load(checkpoints[-1])
        if self.workers.first:
            for name in ("curves.jsonl", "measures.jsonl"):
                self._forget_later(self.output / name)

    def _forget_later(self, lines: Path) -> None:
        if not lines.exists():
            return
        whole = [line for line in lines.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
        earlier = [line for line in whole if json.loads(line)["step"] <= self.progress.step]  # a kill may cut the last
        with atomic_file(lines) as unfinished:
            unfinished.write_text("".join(earlier), encoding="utf-8")

    def _load(self, folder: Path) -> None:
        device = self.workers.device
        fill(self.model, read_file(folder / "model.safetensors", str(device)), folder)
        moments: dict[str, dict[str, Tensor]] = {}
        for key, moment in read_file(folder / "moments.safetensors").items():
            kind, name = key.split("/", 1)
            on_cpu = kind == "step" and device.type == "cpu"
            moments.setdefault(name, {})[kind] = moment if on_cpu else moment.to(device)
        for name, parameter in self.model.named_parameters():
            if name in moments:
                self.optimizer.state[parameter] = moments[name]
        saved = read_json(folder / "progress.json")
        for name, current in self._inputs().items():
            if saved.pop(name, current) != current:
                said = {
                    "corpus": "the training text or the vocabulary has changed",
                    "workers": "processes have changed",
                }
                raise ConfigError(f"{folder}: {said[name]} since this checkpoint: the batches would not be the same")
        self.progress = Progress(**{**saved, "position": Position(**saved["position"])})


class Sums:
    """Sums of the losses since the last report, kept as tensors so that a GPU is not waited for at each step."""

    def __init__(self, names: Sequence[str], workers: Workers) -> None:
        self._names, self._workers = names, workers
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = {}

    def add(self, losses: Mapping[str, Tensor]) -> None:
        for name, loss in losses.items():
            before = self._sums.get(name)
            self._sums[name] = loss.detach().float() if before is None else before + loss.detach().float()
            self._counts[name] = self._counts.get(name, 0) + 1

    def take(self) -> dict[str, float]:
        """The means over all workers, and begin anew; a loss that no worker met is left out."""
        means = self._workers.means(
            self._names, {name: (float(self._sums[name]), self._counts[name]) for name in self._sums}
        )
        self._sums, self._counts = {}, {}
        return means


def _mix_seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.AdamW:
    """AdamW with decoupled decay on matrices alone; cross-attention and what has its own rate in other groups."""
    groups: dict[tuple[bool, bool, float], list[Tensor]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            rate = next((float(rate) for start, rate in config.rates.items() if name.startswith(start)), 1.0)
            groups.setdefault((parameter.ndim > 1, ".cross" in name, rate), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": parameters, "weight_decay": config.weight_decay * decays, "cross": cross, "rate": rate}
            for (decays, cross, rate), parameters in groups.items()
        ],
        lr=config.learning_rate,
        betas=(config.betas[0], config.betas[1]),
        eps=1e-6,
        fused=True,
    )


def _checkpoints(output: Path) -> list[Path]:
    folder = output / "checkpoints"
    return sorted(path for path in folder.glob("*") if path.name.isdigit()) if folder.exists() else []


def report_to_log(steps: int) -> Report:
    """A report for the log, of a training of so many steps."""

    def log(done: Step) -> None:
        losses = " ".join(f"{name} {loss:.3f}" for name, loss in done.losses.items())
        seconds_left = (steps - done.step) * done.seconds / done.step
        logger.info(
            "step %d of %d: %s, %.0f tokens/s, %.0f s left",
            done.step,
            steps,
            losses,
            done.tokens_per_second,
            seconds_left,
        )

    return log
