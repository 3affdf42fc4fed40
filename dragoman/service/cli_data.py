"""``dragoman index`` and ``dragoman search``: work on a data directory without a server."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dragoman.service.cli_options import DATA_DIR, DATABASE_URL, DatabaseUrl, DataDir, opened

index = typer.Typer(help="Look after the indexes.", no_args_is_help=True)

_console = Console(stderr=True)


@index.command("rebuild")
def rebuild(
    collection: Annotated[str, typer.Argument(help="The collection's name.")],
    data_dir: DataDir = DATA_DIR,
    database_url: DatabaseUrl = DATABASE_URL,
) -> None:
    """Build a collection's index anew from the database, and swap it in when it is whole.

    No server may be using the data directory.
    """
    with opened(data_dir, database_url, existing=True) as runtime:
        info = runtime.collections.get(collection)
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=_console,
        ) as bar:
            task = bar.add_task(f"indexing {collection}", total=info.documents)
            runtime.collections.index_of(collection).rebuild(lambda done: bar.update(task, completed=done))
    _console.print(f"{collection}: {info.documents} documents, generation {info.generation}", highlight=False)
