"""``dragoman index`` and ``search``: commands that need no running server."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from dragoman.cli.options import DATA_DIR, DATABASE_URL, DatabaseUrl, DataDir, opened

if TYPE_CHECKING:
    from dragoman.service.schemas.search import QueryRead

index = typer.Typer(help="Maintain the indexes.", no_args_is_help=True)

_console = Console(stderr=True)


@index.command("rebuild")
def rebuild(
    collection: Annotated[str, typer.Argument(help="The collection's name.")],
    data_dir: DataDir = DATA_DIR,
    database_url: DatabaseUrl = DATABASE_URL,
) -> None:
    """Rebuild a collection's index from the database, and swap it in when it is complete.

    Its embeddings, if it has any, are removed and recomputed too. Stop a server that uses the data directory first.
    """
    with opened(data_dir, database_url, existing=True) as runtime:
        info = runtime.collections.get(collection)
        with _progress() as bar:
            task = bar.add_task(f"indexing {collection}", total=info.documents)
            runtime.collections.index_of(collection).rebuild(lambda done: bar.update(task, completed=done))
            if runtime.dense.has(info.key):
                task = bar.add_task(f"embedding {collection}", total=info.documents)
                runtime.dense.rebuild(info.key, lambda done: bar.update(task, completed=done))
    _console.print(f"{collection}: {info.documents} documents, generation {info.generation}", highlight=False)


@index.command("embed")
def embed(
    collection: Annotated[str, typer.Argument(help="The collection's name.")],
    device: Annotated[
        str | None, typer.Option(envvar="DRAGOMAN_DEVICE", help="Where the encoder computes, such as cpu or cuda.")
    ] = None,
    data_dir: DataDir = DATA_DIR,
    database_url: DatabaseUrl = DATABASE_URL,
) -> None:
    """Compute the missing embeddings of a collection, for search by meaning.

    A server does this by itself in the background; stop one that uses the data directory first.
    """
    chosen = {} if device is None else {"device": device}
    with opened(data_dir, database_url, existing=True, **chosen) as runtime:
        info = runtime.collections.get(collection)
        runtime.models.encoder()  # the time to load it is not that of embedding
        runtime.dense.open_present([info.key])
        before = runtime.dense.coverage(info.key)
        started = time.monotonic()
        with _progress() as bar:
            task = bar.add_task(f"embedding {collection}", total=info.documents)
            coverage = runtime.dense.embed(info.key, lambda done: bar.update(task, completed=done))
        seconds = time.monotonic() - started
    made = coverage.total - coverage.missing - (before.total - before.missing if before else 0)
    rate = f"{made} documents in {seconds:.1f} s, {made / max(seconds, 1e-9):.0f} a second"
    failed = f"; {coverage.failed} could not be embedded" if coverage.failed else ""
    _console.print(f"{collection}: {rate}{failed}", highlight=False)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=_console
    )


def search(
    query: Annotated[str, typer.Argument(help="The query, in any language.")],
    collection: Annotated[
        list[str], typer.Option(envvar="DRAGOMAN_COLLECTION", help="Collection to search; repeatable.")
    ],
    query_language: Annotated[
        str | None,
        typer.Option(envvar="DRAGOMAN_QUERY_LANGUAGE", help="The query's language; detected when left out."),
    ] = None,
    top_k: Annotated[int, typer.Option(envvar="DRAGOMAN_TOP_K", help="How many documents to show.")] = 10,
    method: Annotated[
        str | None, typer.Option(envvar="DRAGOMAN_METHOD", help="psq, smt, none (no translation), dense or hybrid.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", envvar="DRAGOMAN_JSON", help="Print the whole response as JSON.")
    ] = False,
    data_dir: DataDir = DATA_DIR,
    database_url: DatabaseUrl = DATABASE_URL,
) -> None:
    """Search collections of the data directory. Stop a server that uses it first."""
    from pydantic import ValidationError

    from dragoman.service.core.errors import InvalidRequest, Unavailable
    from dragoman.service.schemas.search import SearchRequest

    fields: dict[str, Any] = {
        "query": query,
        "collections": collection,
        "query_language": query_language,
        "top_k": top_k,
    }
    try:
        request = SearchRequest(**fields if method is None else fields | {"method": method})
    except ValidationError as fault:
        wrong = fault.errors()[0]
        field = str(wrong["loc"][0]) if wrong["loc"] else "query"
        raise InvalidRequest(f"{field}: {wrong['msg'].removeprefix('Value error, ')}") from fault
    with opened(data_dir, database_url, existing=True) as runtime:
        runtime.start(serving=False)
        if method is None:
            wanted = [one.key for one in runtime.collections.all() if one.name in collection]
            with suppress(Unavailable):  # then the default is a method without embeddings
                runtime.dense.open_present(wanted)
        answer = runtime.search.search(request, uuid4().hex)
    screen = Console()
    if as_json:
        screen.print_json(answer.model_dump_json(exclude_unset=True))
        return
    hits = Table("", "score", "document", "language", "text", box=None, padding=(0, 2, 0, 0))
    for hit in answer.hits:
        hits.add_row(
            str(hit.rank), f"{hit.score:.4f}", escape(f"{hit.collection}/{hit.id}"), hit.language, escape(hit.snippet)
        )
    if answer.hits:
        screen.print(hits)
    else:
        screen.print(_no_hits(answer.query), markup=False, highlight=False, soft_wrap=True)
    for language, words in answer.translation.oov.items():
        _console.print(
            f"in no table for {language}, searched untranslated: {', '.join(words)}", markup=False, highlight=False
        )
    for degraded in answer.degraded:
        _console.print(f"{degraded.stage}: {degraded.reason}", markup=False, highlight=False)


def _no_hits(query: QueryRead) -> str:
    """The message for no hits; it names the query's language, because a wrong detection may be the cause."""
    from dragoman.lexicon.text.languages import LANGUAGES

    language = f"{LANGUAGES.get(query.language, query.language)} ({query.language})"
    if query.detected:
        return f"no hits; the detected language of the query is {language}; --query-language sets another"
    return f"no hits; the query was in {language}"
