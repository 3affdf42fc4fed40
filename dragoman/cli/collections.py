"""``dragoman collection`` and ``documents``: with a data directory, or by a running service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from dragoman.cli.database import Place
from dragoman.cli.options import FILTER_HELP, FilterText, read_filter, spread

collection = typer.Typer(help="Make, list, name and delete collections.", no_args_is_help=True)
documents = typer.Typer(help="Import and export documents.", no_args_is_help=True)

_console = Console(stderr=True)

Name = Annotated[str, typer.Argument(help="The collection's name.")]
Into = Annotated[str, typer.Option("--collection", envvar="DRAGOMAN_COLLECTION", help="The collection's name.")]


Shards = Annotated[int, typer.Option(envvar="DRAGOMAN_SHARDS", help="Parts of the index, searched at once.")]


@collection.command("create")
@spread
def create(
    name: Name,
    language: Annotated[
        str, typer.Option(envvar="DRAGOMAN_LANGUAGE", help="Language of the documents, such as de (ISO 639-1).")
    ],
    description: Annotated[str | None, typer.Option(envvar="DRAGOMAN_DESCRIPTION", help="What is in it.")] = None,
    shards: Shards = 1,
    *,
    place: Place,
) -> None:
    """Make an empty collection. A data directory that is missing is made, too."""
    from dragoman.door import calls

    options: dict[str, object] = {"shards": shards} | ({} if description is None else {"description": description})
    with place.open(existing=False) as opened:
        collection = opened.send(calls.create_collection(name, language, options))
    _tell(f"{collection.name}: a collection in {collection.language}")


@collection.command("list")
@spread
def show(
    *,
    place: Place,
) -> None:
    """List all collections."""
    with place.open() as opened:
        infos = opened.collections()
    table = Table("collection", "language", "documents", "index", "embedded", box=None, padding=(0, 2, 0, 0))
    for info in infos:
        embedded = "" if info.embeddings is None else f"{info.embeddings['embedded']} of {info.embeddings['total']}"
        table.add_row(info.name, info.language, str(info.documents), str(info.index["state"]), embedded)
    Console().print(table)


@collection.command("change")
@spread
def change(
    name: Name,
    shards: Shards,
    *,
    place: Place,
) -> None:
    """Change in how many parts a collection is indexed; searches go on while they are built."""
    with place.open() as opened:
        info = opened.collection(name).change(shards=shards)
    _tell(f"{info.name}: {info.shards} shards; searched in {info.index['shards']} until they are built")


@collection.command("alias")
@spread
def alias(
    name: Annotated[str | None, typer.Argument(help="The alias; without it, all are listed.")] = None,
    target: Annotated[
        str | None, typer.Argument(metavar="COLLECTION", help="The collection that it is to stand for.")
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", envvar="DRAGOMAN_DELETE_ALIAS", help="Delete the alias; its collection stays.")
    ] = False,
    *,
    place: Place,
) -> None:
    """Let another name stand for a collection, also where it stood for another; or list or delete such names."""
    from dragoman.engine.core.errors import InvalidRequest

    if delete and (name is None or target is not None):
        raise InvalidRequest("--delete needs an alias, and no collection")
    if name is not None and target is None and not delete:
        raise InvalidRequest("name the collection that the alias is to stand for, or --delete")
    with place.open() as opened:
        if name is not None and target is not None:
            opened.set_alias(name, target)
            _tell(f"{name}: stands for {target}")
        elif name is not None:
            opened.delete_alias(name)
            _tell(f"{name}: deleted")
        else:
            table = Table("alias", "collection", box=None, padding=(0, 2, 0, 0))
            for row in opened.aliases().items():
                table.add_row(*row)
            Console().print(table)


@collection.command("delete")
@spread
def delete(
    name: Name,
    *,
    place: Place,
) -> None:
    """Delete a collection with all its documents."""
    from dragoman.door.database import Collection

    with place.open() as opened:
        Collection(opened, name).drop()


@documents.command("import")
@spread
def add(
    files: Annotated[
        list[Path],
        typer.Argument(exists=True, dir_okay=False, help="NDJSON, JSON, CSV, TSV, Parquet or TREC, plain or gzip."),
    ],
    into: Into,
    format: Annotated[
        str | None,
        typer.Option(envvar="DRAGOMAN_FORMAT", help="ndjson, json, csv, tsv, parquet or trec; default: by the name."),
    ] = None,
    map: Annotated[
        str | None,
        typer.Option(envvar="DRAGOMAN_MAP", help="Which fields are which: id=docid,text=body,metadata.year=year."),
    ] = None,
    sync: Annotated[
        bool, typer.Option("--sync", envvar="DRAGOMAN_SYNC", help="Delete the documents that the files do not have.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", envvar="DRAGOMAN_YES", help="Delete without a question.")] = False,
    *,
    place: Place,
) -> None:
    """Add documents to a collection, or replace those with the same id.

    What the collection has unchanged is not sent again: after an interruption, the same command goes on.
    """
    from dragoman.door.importing import FileImport

    with place.open() as opened:
        work = FileImport(opened, into, format, map, _tell, sync)
        for path in files:
            work.add(path)
        if work.rejected:
            _tell(f"{work.rejected} lines were rejected" + ("; nothing is deleted" if sync else ""))
            raise typer.Exit(1)
        if sync and work.missing:
            if not yes:
                question = f"Delete {len(work.missing)} documents of {into} that are in no file?"
                typer.confirm(question, abort=True, err=True)
            work.delete_missing()


@documents.command("export")
@spread
def export(
    collection: Into,
    output: Annotated[
        Path | None,
        typer.Option(
            envvar="DRAGOMAN_OUTPUT", dir_okay=False, show_default="standard output", help="The NDJSON file to write."
        ),
    ] = None,
    filter: FilterText = None,
    *,
    place: Place,
) -> None:
    """Write the documents of a collection as NDJSON, which `documents import` takes."""
    from dragoman.door import calls

    fields = read_filter(filter)
    with place.open() as opened:
        if output is None:
            stream = typer.get_binary_stream("stdout")
            for part in opened.send(calls.export_documents(collection, fields)):
                stream.write(part)
            return
        count = opened.collection(collection).export(output, fields)
    _tell(f"{output}: {count} documents")


@documents.command("delete")
@spread
def delete_documents(
    collection: Into,
    filter: Annotated[str, typer.Option(envvar="DRAGOMAN_FILTER", help=FILTER_HELP)],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", envvar="DRAGOMAN_DRY_RUN", help="Count the documents, and delete none.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", envvar="DRAGOMAN_YES", help="Delete without a question.")] = False,
    *,
    place: Place,
) -> None:
    """Delete the documents of a collection that a filter leaves, after a question."""
    fields = read_filter(filter) or {}
    with place.open() as opened:
        chosen = opened.collection(collection)
        if dry_run or not yes:
            count = chosen.delete_documents(fields, dry_run=True)
            _tell(f"{collection}: {count} documents match")
            if dry_run or not count:
                return
            typer.confirm("Delete them?", abort=True, err=True)
        _tell(f"{collection}: {chosen.delete_documents(fields)} documents deleted")


def _tell(line: str) -> None:
    _console.print(line, markup=False, highlight=False, soft_wrap=True)
