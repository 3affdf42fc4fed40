"""``dragoman index``: commands that maintain the indexes of a data directory."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dragoman.cli.options import Folder, spread

index = typer.Typer(help="Maintain the indexes.", no_args_is_help=True)

_console = Console(stderr=True)


@index.command("rebuild")
@spread
def rebuild(
    collection: Annotated[str, typer.Argument(help="The collection's name.")],
    *,
    folder: Folder,
) -> None:
    """Rebuild a collection's index from the database, and swap it in when it is complete.

    Its embeddings, if it has any, are removed and recomputed too. Stop a server that uses the data directory first.
    """
    with folder.open_runtime(existing=True) as runtime:
        info = runtime.collections.get(collection)
        with _progress() as bar:
            task = bar.add_task(f"indexing {collection}", total=info.documents)
            runtime.collections.index_of(collection).rebuild(lambda done: bar.update(task, completed=done))
            if runtime.source.collection(info.key).encoder is not None:
                task = bar.add_task(f"embedding {collection}", total=info.documents)
                runtime.dense.rebuild(info.key, lambda done: bar.update(task, completed=done))
    _console.print(f"{collection}: {info.documents} documents, generation {info.generation}", highlight=False)


@index.command("embed")
@spread
def embed_collection(
    collection: Annotated[str, typer.Argument(help="The collection's name.")],
    device: Annotated[
        str | None, typer.Option(envvar="DRAGOMAN_DEVICE", help="Where the encoder computes, such as cpu or cuda.")
    ] = None,
    *,
    folder: Folder,
) -> None:
    """Compute the missing embeddings of a collection, for search by meaning.

    A server does this by itself in the background; stop one that uses the data directory first.
    """
    with folder.open_runtime(existing=True, device=device) as runtime:
        info = runtime.collections.get(collection)
        runtime.models.encoder()  # the time to load it is not that of embedding
        runtime.dense.open_present([info.key])
        before = runtime.dense.coverage(info.key)
        started = time.monotonic()
        with _progress() as bar:
            task = bar.add_task(f"embedding {collection}", total=info.documents)
            coverage = runtime.dense.embed(info.key, lambda done: bar.update(task, completed=done))
        seconds = time.monotonic() - started
    embedded = coverage.total - coverage.missing - (before.total - before.missing if before else 0)
    rate = f"{embedded} documents in {seconds:.1f} s, {embedded / max(seconds, 1e-9):.0f} a second"
    failed = f"; {coverage.failed} could not be embedded" if coverage.failed else ""
    _console.print(f"{collection}: {rate}{failed}", highlight=False)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=_console
    )
