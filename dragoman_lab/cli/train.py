"""``dragoman train``: train the neural models from a TOML file, with a progress bar and learning curves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from dragoman_lab.backbone.loop import Step
    from dragoman_lab.ranking.loop import MartTraining
    from dragoman_lab.reasoning.spans import SpanTraining

train = typer.Typer(help="Train the neural models from text files; see docs/lab/training.md.", no_args_is_help=True)

_console = Console(stderr=True)

ConfigFile = Annotated[
    Path,
    typer.Option(
        envvar="DRAGOMAN_TRAINING_CONFIG", exists=True, dir_okay=False, help="TOML file; see docs/lab/training.md."
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        envvar="DRAGOMAN_OUTPUT", file_okay=False, help="Folder for checkpoints, learning curves and the model."
    ),
]
Data = Annotated[
    Path | None, typer.Option(envvar="DRAGOMAN_DATA", file_okay=False, help="Folder that contains the text folders.")
]
Resume = Annotated[
    bool, typer.Option(envvar="DRAGOMAN_RESUME", help="Resume from the newest checkpoint in the folder.")
]
Threads = Annotated[
    int | None, typer.Option(envvar="DRAGOMAN_THREADS", min=1, help="Processor threads; default: all cores.")
]

Stage = Annotated[
    str | None, typer.Option(envvar="DRAGOMAN_STAGE", help="translation or task; default: what the file says.")
]


@train.command("backbone")
def backbone(
    config: ConfigFile, output: Output, data: Data = None, resume: Resume = False, threads: Threads = None
) -> None:
    """Pre-train the backbone (VECO) on parallel and raw text."""
    from dragoman_lab.backbone.config import read_config
    from dragoman_lab.backbone.pretraining import PretrainingConfig, pretrain

    settings = PretrainingConfig.parse(read_config(config, data))
    _run(lambda report: pretrain(settings, output, resume=resume, report=report), settings.steps, output, threads)


@train.command("mart")
def mart(
    config: ConfigFile, output: Output, data: Data = None, resume: Resume = False, threads: Threads = None
) -> None:
    """Train the reranker (MART) on judged queries and parallel text."""
    from dragoman_lab.backbone.config import read_config
    from dragoman_lab.ranking.loop import MartTraining, train_mart

    table = read_config(config, data)
    sources = table.pop("sources", None)
    settings = MartTraining.parse(table)
    if sources is not None:
        _prepare(settings, sources, data)
    _run(lambda report: train_mart(settings, output, resume=resume, report=report), settings.steps, output, threads)


def _prepare(settings: MartTraining, table: dict[str, Any], data_folder: Path | None) -> None:
    from dragoman.backbone.loading import load_encoder
    from dragoman_lab.evaluation.candidate_sources import MartSources, prepare

    sources = MartSources.parse_below(table, data_folder)
    with _count_calls("making lists of candidates", "lists") as step:
        prepare(sources, load_encoder(settings.encoder), Path(settings.lists), Path(settings.tuning), step)


@contextmanager
def _count_calls(what: str, unit: str) -> Iterator[Callable[[], None]]:
    """A line that counts the calls of the function it gives."""
    columns = TextColumn("{task.description}"), TextColumn("{task.completed} " + unit)
    with Progress(*columns, console=_console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda: progress.advance(task)


@train.command("qa")
def qa(config: ConfigFile, output: Output, data: Data = None, resume: Resume = False, threads: Threads = None) -> None:
    """Train a reader: of answers, of statements, or Q_cross alone, as `task` in the file says."""
    from dragoman_lab.backbone.config import ConfigError, read_config

    table = read_config(config, data)
    task = table.pop("task", "spans")
    if not isinstance(task, str) or task not in _QA_TASKS:
        raise ConfigError(f"task: {task!r} is not one of {', '.join(_QA_TASKS)}")
    sources = table.pop("sources", None)
    settings, train_it = _QA_TASKS[task](table)
    if sources is not None:
        _prepare_qa(task, settings, sources, data)
    _run(lambda report: train_it(settings, output, resume=resume, report=report), settings.steps, output, threads)


def _spans(table: dict[str, Any]) -> Any:
    from dragoman_lab.reasoning.spans import SpanTraining, train_spans

    return SpanTraining.parse(table), train_spans


def _statements(table: dict[str, Any]) -> Any:
    from dragoman_lab.reasoning.statements import StatementTraining, train_statements

    return StatementTraining.parse(table), train_statements


def _cross_query(table: dict[str, Any]) -> Any:
    from dragoman_lab.reasoning.cross_query import CrossQueryTraining, train_cross_query

    return CrossQueryTraining.parse(table), train_cross_query


_QA_TASKS = {"spans": _spans, "statements": _statements, "cross_query": _cross_query}


def _prepare_qa(task: str, settings: SpanTraining, table: dict[str, Any], data_folder: Path | None) -> None:
    from dragoman_lab.backbone.config import ConfigError
    from dragoman_lab.evaluation.qa_examples import QaSources, prepare
    from dragoman_lab.evaluation.statement_examples import StatementSources, prepare_statements

    examples, tuning = Path(getattr(settings, "examples", "")), Path(getattr(settings, "tuning", ""))
    with _count_calls("making examples", "examples") as step:
        if task == "spans":
            prepare(QaSources.parse_below(table, data_folder), examples, tuning, step)
        elif task == "statements":
            prepare_statements(StatementSources.parse_below(table, data_folder), examples, tuning, step)
        else:
            raise ConfigError(f"sources: {task} is trained on the files of `parallel`")


@train.command("layalign")
def layalign(
    config: ConfigFile,
    output: Output,
    stage: Stage = None,
    data: Data = None,
    resume: Resume = False,
    threads: Threads = None,
    prepare: Annotated[bool, typer.Option("--prepare", help="Make the examples of [sources], and stop.")] = False,
) -> None:
    """Train a bridge from an encoder into a frozen LLM (LayAlign)."""
    from dragoman_lab.backbone.config import read_config
    from dragoman_lab.evaluation.bridge_examples import BridgeSources, prepare_bridge
    from dragoman_lab.reasoning.layalign import LayAlignTraining, train_layalign

    table = read_config(config, data)
    sources = table.pop("sources", None)
    settings = LayAlignTraining.parse(table | ({} if stage is None else {"stage": stage}))
    if sources is not None:
        examples, tuning = Path(settings.examples), Path(settings.tuning)
        with _count_calls("making examples", "languages") as step:
            prepare_bridge(BridgeSources.parse_below(sources, data), examples, tuning, step)
    if prepare:
        return
    _run(lambda report: train_layalign(settings, output, resume=resume, report=report), settings.steps, output, threads)


@train.command("tagger")
def tagger(
    config: ConfigFile, output: Output, data: Data = None, resume: Resume = False, threads: Threads = None
) -> None:
    """Train a tagger of names or parts of speech on labelled sentences."""
    from dragoman_lab.backbone.config import read_config
    from dragoman_lab.tagging.training import TaggerTraining, train_tagger

    table = read_config(config)
    for name in ("labelled", "tuning", "more"):
        if data is not None and isinstance(table.get(name), list):
            table[name] = [str(data / str(file)) for file in table[name]]
    settings = TaggerTraining.parse(table)
    _run(lambda report: train_tagger(settings, output, resume=resume, report=report), settings.steps, output, threads)


@train.command("codebook")
def codebook(config: ConfigFile, output: Output, data: Data = None, threads: Threads = None) -> None:
    """Train a codec for the states of an encoder's subwords, and compute the mean vector of each language."""
    import torch

    from dragoman_lab.backbone.config import read_config
    from dragoman_lab.evaluation.codebook_training import CodebookTraining, train_codebook

    if threads is not None:
        torch.set_num_threads(threads)
    settings = CodebookTraining.parse(read_config(config, data))
    for path in train_codebook(settings, output, lambda line: _console.print(line, markup=False, highlight=False)):
        _console.print(f"saved {path}", markup=False, highlight=False, soft_wrap=True)


@train.command("plot")
def plot(output: Output) -> None:
    """Plot the learning curves of a training that made no plot, as under torchrun."""
    _plot(output)


@train.command("translator")
def translator(
    config: ConfigFile, output: Output, data: Data = None, resume: Resume = False, threads: Threads = None
) -> None:
    """Train a backbone to translate."""
    from dragoman_lab.backbone.config import read_config
    from dragoman_lab.backbone.translation_training import TranslationConfig, train_translator

    settings = TranslationConfig.parse(read_config(config, data))
    _run(
        lambda report: train_translator(settings, output, resume=resume, report=report),
        settings.steps,
        output,
        threads,
    )


def _run(work: Callable[[Callable[[Step], None]], Path], steps: int, output: Path, threads: int | None) -> None:
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    with _bar() as progress:
        task = progress.add_task("preparing text", total=steps, said="")
        folder = work(lambda step: _show(progress, task, step))
    if os.environ.get("RANK", "0") != "0":
        return  # torchrun started several processes; only the first one writes
    curves = output / "curves.json"
    try:
        _plot(output)
    except ModuleNotFoundError:
        advice = f"pip install matplotlib and dragoman train plot --output {output} draw them"
        _console.print(f"saved {folder}; learning curves in {curves}, {advice}", markup=False, soft_wrap=True)
        return
    _console.print(f"saved {folder}; learning curves in {curves} and {output / 'curves.png'}")


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}"),
        TimeRemainingColumn(),
        console=_console,
    )


def _show(progress: Progress, task: TaskID, step: Step) -> None:
    losses = " ".join(f"{name} {loss:.3f}" for name, loss in step.losses.items())
    said = f"{losses} · {step.tokens_per_second:,.0f} tokens/s"
    progress.update(task, completed=step.step, description="training", said=said)
    if not progress.console.is_terminal and step.step % 100 == 0:
        progress.console.print(f"step {step.step}: {said}", highlight=False)


def _plot(output: Path) -> None:
    """Plot the curves.json of a training as curves.png."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    steps = json.loads((output / "curves.json").read_text(encoding="utf-8"))
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for name in sorted({name for step in steps for name in step["losses"]}):
        points = [(step["step"], step["losses"][name]) for step in steps if name in step["losses"]]
        axes.plot(*zip(*points, strict=True), label=name)
    axes.set_xlabel("step")
    axes.set_ylabel("loss (nats)")
    axes.legend()
    figure.savefig(output / "curves.png", dpi=120)
    pyplot.close(figure)
