"""Pre-training of the backbone: one CPU, one GPU, or several under torchrun; it can be killed and goes on exactly.

Batches, masks and dropout follow from the seed and the position alone, and a checkpoint holds the weights, the optimizer's
moments and the position, so that a resumed training reports the losses of one that was never interrupted.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from safetensors.torch import load_file, save_file
from torch import Tensor

from dragoman.backbone.checkpoints import load_subwords, read_json, read_tensors, save_veco, written_whole
from dragoman.backbone.corpus import Corpus, Pairs, Position, batches, prepare
from dragoman.backbone.objectives import OBJECTIVES, Objective, losses, parse_objectives
from dragoman.backbone.text_files import text_files
from dragoman.backbone.tokenizer import Subwords, train_subwords
from dragoman.backbone.veco import Veco, VecoConfig

KEPT_CHECKPOINTS = 2


class ConfigError(ValueError):
    """A training configuration that cannot be used; the message names the field."""


@dataclass(frozen=True)
class PretrainingConfig:
    """What `dragoman train backbone --config` reads (TOML, the fields below; `model` is a table of its own)."""

    parallel: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    """Only files whose languages are all named here; empty: all files."""
    tokenizer: str | None = None
    """A tokenizer.json to use; without one it is trained on the same text."""
    tokenizer_text: list[str] = field(default_factory=list)
    """More folders of parallel text for the tokenizer alone, such as dictionaries."""
    tokenizer_characters: int = 20_000_000
    start_from: str | None = None
    """A VECO folder whose weights the training starts from, such as one that `from_xlm_roberta` made."""
    cross_attention_only_steps: int = 0
    """First steps in which cross-attention alone trains (with start_from; section 3.4)."""
    model: dict[str, Any] = field(default_factory=dict)
    objectives: list[str] = field(default_factory=lambda: ["is", "cs", "tlm"])
    sentence_layer: int | None = None
    """Layer of the sentence encoding; without it, two thirds up."""
    steps: int = 10_000
    tokens: int = 2_048
    """Padded tokens of one side of a batch at most."""
    accumulate: int = 4
    smoothing: float = 0.5
    learning_rate: float = 1e-3
    warm_up: int = 500
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0
    bf16: bool = True
    seed: int = 1
    checkpoint_every: int = 500
    report_every: int = 10
    device: str | None = None
    """cpu or cuda; without it, cuda where there is one."""

    @classmethod
    def parse(cls, table: dict[str, Any]) -> PretrainingConfig:
        """
        Raises:
            ConfigError: an unknown field, a value of the wrong type or out of range.
        """
        known = {one.name for one in fields(cls)}
        unknown = sorted(set(table) - known)
        if unknown:
            raise ConfigError(f"unknown field {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        default = cls()
        for name, value in table.items():
            like = getattr(default, name)
            wanted: Any = (int, float) if isinstance(like, float) else type(like)
            if like is None:
                wanted = (str, int)
            if isinstance(like, tuple):
                wanted = (list, tuple)
            if not isinstance(value, wanted) or (isinstance(value, bool) and not isinstance(like, bool)):
                raise ConfigError(f"{name}: {value!r} is not of the type of {like!r}")
        config = cls(**table)
        for name in ("steps", "tokens", "accumulate", "checkpoint_every", "report_every"):
            if getattr(config, name) < 1:
                raise ConfigError(f"{name} must be at least 1")
        if config.checkpoint_every % config.report_every:
            raise ConfigError("checkpoint_every must be a multiple of report_every, or a resume would change a report")
        if not config.parallel and not config.raw:
            raise ConfigError("parallel or raw must name a folder of text")
        try:
            parse_objectives(config.objectives)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        return config


@dataclass(frozen=True)
class Step:
    """What one step did: mean losses since the last report, tokens read by then, and the rate of this run."""

    step: int
    losses: dict[str, float]
    learning_rate: float
    tokens: int
    tokens_per_second: float
    seconds: float


Report = Callable[[Step], None]


@dataclass
class Progress:
    """Where a training stands; together with weights and moments it is all a resume needs."""

    step: int = 0
    position: Position = field(default_factory=Position)
    tokens: int = 0
    seconds: float = 0.0


def pretrain(config: PretrainingConfig, output: Path, *, resume: bool = False, report: Report | None = None) -> Path:
    """Train and save the model to `output / "model"`, with `curves.jsonl` beside it; returns that folder.

    With `resume` a training in `output` goes on from its newest checkpoint, or starts if there is none.

    Raises:
        ConfigError: `output` holds a training already and `resume` is false, or it was another configuration's.
        CorpusError: training text that cannot be used.
    """
    workers = Workers.join(config.device)
    if workers.first:
        _claim(output, config, resume)
        _prepare(config, output)
    workers.wait()
    subwords, corpus = _prepare(config, output)
    trainer = Trainer(config, subwords, corpus, output, workers)
    if resume:
        trainer.restore()
    trainer.run(report)
    folder = output / "model"
    if workers.first:
        about = {"languages": sorted({l for s in corpus.sections for l in s.languages}), "sentence_layer": trainer.layer,
                 "objectives": list(config.objectives), "steps": trainer.progress.step, "tokens": trainer.progress.tokens}
        save_veco(folder, trainer.model, subwords, about)
    workers.leave()
    return folder


def _claim(output: Path, config: PretrainingConfig, resume: bool) -> None:
    known = output / "config.json"
    if known.exists():
        if not resume:
            raise ConfigError(f"{output} holds a training already; resume it, or choose another folder")
        before = PretrainingConfig.parse(read_json(known))
        differing = [one.name for one in fields(config) if getattr(before, one.name) != getattr(config, one.name)
                     and one.name not in ("steps", "checkpoint_every", "report_every", "device", "betas")]
        if differing:
            raise ConfigError(f"{output} was begun with another {', '.join(differing)}; resume it with {known}")
    output.mkdir(parents=True, exist_ok=True)
    known.write_text(json.dumps(asdict(config), indent=2) + "\n", encoding="utf-8")


def _prepare(config: PretrainingConfig, output: Path) -> tuple[Subwords, Corpus]:
    files = text_files([Path(one) for one in config.parallel], [Path(one) for one in config.raw])
    if config.languages:
        files = [file for file in files if set(file.languages) <= set(config.languages)]
    if config.tokenizer is not None:
        subwords = Subwords.load(Path(config.tokenizer))
    elif (output / "tokenizer.json").exists():
        subwords = load_subwords(output)
    else:
        more = text_files([Path(one) for one in config.tokenizer_text])
        size = int(config.model.get("vocabulary", 24_000))
        subwords = train_subwords([*files, *more], size, characters=config.tokenizer_characters)
        subwords.save(output / "tokenizer.json.unfinished")
        (output / "tokenizer.json.unfinished").rename(output / "tokenizer.json")
    max_length = int(config.model.get("max_length", VecoConfig(vocabulary=1).max_length))
    return subwords, prepare(files, subwords, output / "tokens", max_length)


class Workers:
    """The processes of one training: one, or as many as torchrun started, which share their gradients."""

    def __init__(self, rank: int, count: int, device: torch.device) -> None:
        self.rank, self.count, self.device = rank, count, device

    @classmethod
    def join(cls, device: str | None) -> Workers:
        count, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        if chosen == "cuda" and count > 1:
            chosen = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        if count > 1:
            dist.init_process_group("nccl" if chosen.startswith("cuda") else "gloo")
        return cls(rank, count, torch.device(chosen))

    @property
    def first(self) -> bool:
        return self.rank == 0

    def wait(self) -> None:
        if self.count > 1:
            dist.barrier()

    def leave(self) -> None:
        if self.count > 1:
            dist.destroy_process_group()

    def mean(self, values: Tensor) -> Tensor:
        """The mean over all processes of a tensor that each has."""
        if self.count > 1:
            dist.all_reduce(values)
            values /= self.count
        return values

    def share_gradients(self, parameters: Sequence[Tensor]) -> None:
        if self.count > 1:
            flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in parameters])
            self.mean(flat)
            for parameter, part in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
                parameter.grad = part.view_as(parameter)


class Trainer:
    """The loop: draws batches, adds up gradients, steps, reports, and saves its state now and then."""

    def __init__(self, config: PretrainingConfig, subwords: Subwords, corpus: Corpus, output: Path, workers: Workers):
        self.config, self.corpus, self.output, self.workers = config, corpus, output, workers
        self.objectives: tuple[Objective, ...] = parse_objectives(config.objectives)
        self.model = Veco(VecoConfig(**{**config.model, "vocabulary": len(subwords)}))
        self.layer = config.sentence_layer or max(1, round(self.model.config.layers * 2 / 3))
        self.model.initialise(torch.Generator().manual_seed(config.seed))
        if config.start_from is not None:
            self._start_from(Path(config.start_from))
        self.model.to(workers.device).train()
        self.optimizer = _optimizer(self.model, config)
        self.progress = Progress()

    def _start_from(self, folder: Path) -> None:
        missing = self.model.load_state_dict({k: v.float() for k, v in read_tensors(folder).items()}, strict=False)
        lacking = [name for name in missing.missing_keys if ".cross" not in name]
        if lacking or missing.unexpected_keys:
            raise ConfigError(f"start_from: {folder} lacks {lacking[:3]} or has besides {missing.unexpected_keys[:3]}")

    def run(self, report: Report | None) -> None:
        """Train up to the configured steps or minutes from where `progress` stands."""
        drawn = batches(self.corpus, seed=self.config.seed, tokens=self.config.tokens, smoothing=self.config.smoothing,
                        start=self.progress.position)
        sums, begun, seen, before = Sums(), time.monotonic(), 0, self.progress.seconds
        while not self._finished():
            rate = self._learning_rate()
            tokens = self._step(drawn, rate, sums)
            seen += tokens
            self.progress.step += 1
            self.progress.tokens += tokens
            self.progress.seconds = before + time.monotonic() - begun
            last = self._finished()
            if self.progress.step % self.config.report_every == 0 or last:
                done = Step(self.progress.step, sums.means(self.workers), rate, self.progress.tokens,
                            seen / (time.monotonic() - begun), self.progress.seconds)
                sums = Sums()
                self._note(done, report)
            if self.progress.step % self.config.checkpoint_every == 0 or last:
                self.save()

    def _finished(self) -> bool:
        return self.progress.step >= self.config.steps

    def _learning_rate(self) -> float:
        """Linear warm-up, then a cosine down to a twentieth at the last step."""
        step, config = self.progress.step + 1, self.config
        fall = 0.05 + 0.95 * (1 + math.cos(math.pi * step / config.steps)) / 2
        return config.learning_rate * min(1.0, step / max(1, config.warm_up)) * fall

    def _step(self, drawn: Iterator[tuple[Position, Pairs]], rate: float, sums: Sums) -> int:
        tokens = 0
        torch.manual_seed(_seed(self.config.seed, self.progress.step, self.workers.rank))  # dropout knows no generator
        for part in range(self.config.accumulate * self.workers.count):
            self.progress.position, pairs = next(drawn)
            tokens += sum(map(len, pairs.x)) + sum(map(len, pairs.y))
            if part % self.workers.count != self.workers.rank:
                continue
            masks = torch.Generator().manual_seed(_seed(self.config.seed, self.progress.step, part))
            with self._precision():
                found = losses(self.model, pairs, self.objectives, masks, self.workers.device, sentence_layer=self.layer)
            (torch.stack(list(found.values())).sum() / self.config.accumulate).backward()
            sums.add(found)
        parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        self.workers.share_gradients(parameters)
        torch.nn.utils.clip_grad_norm_(parameters, self.config.clip)
        only_cross = self.progress.step < self.config.cross_attention_only_steps
        for group in self.optimizer.param_groups:
            group["lr"] = 0.0 if only_cross and not group["cross"] else rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        return tokens

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
        return torch.autocast(self.workers.device.type, torch.bfloat16, enabled=self.config.bf16)

    def _note(self, done: Step, report: Report | None) -> None:
        if not self.workers.first:
            return
        with (self.output / "curves.jsonl").open("a", encoding="utf-8") as curves:
            curves.write(json.dumps(asdict(done)) + "\n")
        if report is not None:
            report(done)

    def save(self) -> None:
        """Write a checkpoint, whole or not at all; the two newest are kept."""
        if not self.workers.first:
            return
        folder = self.output / "checkpoints" / f"{self.progress.step:08d}"
        moments = {}
        for name, parameter in self.model.named_parameters():
            for kind, value in self.optimizer.state.get(parameter, {}).items():
                moments[f"{kind}/{name}"] = value.detach().cpu().contiguous()
        with written_whole(folder) as unfinished:
            save_file({k: v.detach().cpu().contiguous() for k, v in self.model.state_dict().items()}, unfinished / "model.safetensors")
            save_file(moments, unfinished / "moments.safetensors")
            (unfinished / "progress.json").write_text(json.dumps(asdict(self.progress)), encoding="utf-8")
        for old in _checkpoints(self.output)[:-KEPT_CHECKPOINTS]:
            shutil.rmtree(old)

    def restore(self) -> None:
        """Go back to the newest checkpoint, and drop what the learning curves say of later steps."""
        found = _checkpoints(self.output)
        if found:
            folder, device = found[-1], self.workers.device
            self.model.load_state_dict(load_file(folder / "model.safetensors", device=str(device)))
            moments = load_file(folder / "moments.safetensors")
            for name, parameter in self.model.named_parameters():
                state = {key.split("/")[0]: value for key, value in moments.items() if key.split("/", 1)[1] == name}
                if state:
                    on_device = {key: value if key == "step" else value.to(device) for key, value in state.items()}
                    self.optimizer.state[parameter] = on_device
            known = read_json(folder / "progress.json")
            self.progress = Progress(**{**known, "position": Position(**known["position"])})
        curves = self.output / "curves.jsonl"
        if self.workers.first and curves.exists():
            lines = [line for line in curves.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
            kept = [line for line in lines if json.loads(line)["step"] <= self.progress.step]
            curves.write_text("".join(kept), encoding="utf-8")


class Sums:
    """Sums of the losses since the last report, kept as tensors so that a GPU is not waited for at each step."""

    def __init__(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = {}

    def add(self, found: dict[Objective, Tensor]) -> None:
        for name, value in found.items():
            self._sums[name] = self._sums.get(name, torch.zeros((), device=value.device)) + value.detach().float()
            self._counts[name] = self._counts.get(name, 0) + 1

    def means(self, workers: Workers) -> dict[str, float]:
        device = workers.device
        sums = torch.stack([self._sums.get(name, torch.zeros((), device=device)) for name in OBJECTIVES])
        counts = torch.tensor([float(self._counts.get(name, 0)) for name in OBJECTIVES], device=device)
        sums, counts = workers.mean(sums), workers.mean(counts)
        return {name: float(sums[i] / counts[i]) for i, name in enumerate(OBJECTIVES) if counts[i] > 0}


def _seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _optimizer(model: Veco, config: PretrainingConfig) -> torch.optim.AdamW:
    """AdamW with decoupled decay on matrices alone, cross-attention in groups of its own."""
    groups: dict[tuple[bool, bool], list[Tensor]] = {}
    for name, parameter in model.named_parameters():
        groups.setdefault((parameter.ndim > 1, ".cross" in name), []).append(parameter)
    return torch.optim.AdamW(
        [{"params": parameters, "weight_decay": config.weight_decay * decays, "cross": cross}
         for (decays, cross), parameters in groups.items()],
        lr=config.learning_rate, betas=tuple(config.betas), eps=1e-6, fused=True,
    )


def _checkpoints(output: Path) -> list[Path]:
    folder = output / "checkpoints"
    return sorted(path for path in folder.glob("*") if path.name.isdigit()) if folder.exists() else []
