"""``dragoman index``, ``search`` and ``evaluate``: commands that need no running server."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args
from uuid import uuid4

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from dragoman.service.cli.options import ConfigFile, DatabaseUrl, DataDir, opened

if TYPE_CHECKING:
    from dragoman.service.evaluation.serving import TableFile
    from dragoman.service.schemas.search import QueryRead

index = typer.Typer(help="Maintain the indexes.", no_args_is_help=True)

_console = Console(stderr=True)


@index.command("rebuild")
def rebuild(
    collection: Annotated[str, typer.Argument(help="The collection's name.")],
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    config: ConfigFile = None,
) -> None:
    """Rebuild a collection's index from the database, and swap it in when it is complete.

    Its embeddings, if it has any, are removed and recomputed too. Stop a server that uses the data directory first.
    """
    with opened(config, existing=True, data_dir=data_dir, database_url=database_url) as runtime:
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
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    config: ConfigFile = None,
) -> None:
    """Compute the missing embeddings of a collection, for search by meaning.

    A server does this by itself in the background; stop one that uses the data directory first.
    """
    with opened(config, existing=True, data_dir=data_dir, database_url=database_url, device=device) as runtime:
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
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    config: ConfigFile = None,
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
    with opened(config, existing=True, data_dir=data_dir, database_url=database_url) as runtime:
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


def evaluate(
    data: Annotated[Path, typer.Option(envvar="DRAGOMAN_DATA", help="Benchmark folder.")],
    source: Annotated[str, typer.Option(envvar="DRAGOMAN_SOURCE", help="Language of the queries.")],
    target: Annotated[str, typer.Option(envvar="DRAGOMAN_TARGET", help="Language of the documents.")],
    output: Annotated[Path, typer.Option(envvar="DRAGOMAN_OUTPUT", help="Folder for report.json and TREC runs.")],
    unit: Annotated[str, typer.Option(envvar="DRAGOMAN_UNIT", help="What is retrieved: sentence or paragraph.")] = (
        "sentence"
    ),
    systems: Annotated[
        str,
        typer.Option(
            envvar="DRAGOMAN_SYSTEMS",
            help="Comma-separated, of bm25, none, smt, psq, dense, hybrid, reranked and mart.",
        ),
    ] = "bm25,smt,psq",
    table: Annotated[
        list[str] | None,
        typer.Option(
            envvar="DRAGOMAN_TABLE",
            help="FILE[,source=en][,target=de][,kind=glossary][,weight=0.3]: a table to use; repeatable. "
            "Default: the active tables of the data directory.",
        ),
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(envvar="DRAGOMAN_QUERIES", help="Name of the query file if it isn't the language."),
    ] = None,
    only: Annotated[
        str | None, typer.Option(envvar="DRAGOMAN_ONLY", help="FIELD=REGEX: use only the queries that match.")
    ] = None,
    without: Annotated[
        str | None, typer.Option(envvar="DRAGOMAN_WITHOUT", help="FIELD=REGEX: leave out the queries that match.")
    ] = None,
    split: Annotated[
        Literal["tune", "test", "all"],
        typer.Option(
            envvar="DRAGOMAN_SPLIT",
            help="Which of XQuAD-R's questions: tune (articles a000 to a011), test (the others) or all. Other"
            " benchmarks have no parts, and all their queries are used.",
        ),
    ] = "tune",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    config: ConfigFile = None,
) -> None:
    """Run a benchmark through the HTTP API: MAP@100, nDCG@20 and R@100 per system, with significance tests."""
    from dragoman.service.evaluation.benchmark import active_tables, run

    names = [name.strip() for name in systems.split(",")]
    files = [_table_file(given, source, target) for given in table or ()]
    with TemporaryDirectory() as folder:
        if not files and {"psq", "smt", "hybrid", "reranked", "mart"} & set(names):
            with opened(config, existing=True, data_dir=data_dir, database_url=database_url) as runtime:
                used = runtime.settings.store.data_dir
                files = active_tables(runtime.tables, source, target, Path(folder))
            if not files:
                raise typer.BadParameter(
                    f"psq, smt, hybrid, reranked and mart need a table between {source} and {target}, and {used}"
                    " has none active",
                    param_hint="--table",
                )
        run(data, source, target, unit, names, output, files, queries, only, without, split)


def _table_file(given: str, source: str, target: str) -> TableFile:
    """Parse a value of ``--table``: a file and, after commas, its options."""
    from dragoman.lexicon.table.compose import Kind
    from dragoman.service.evaluation.serving import TableFile

    path, *options = given.split(",")
    chosen = dict(option.partition("=")[::2] for option in options)
    if unknown := chosen.keys() - {"source", "target", "kind", "weight"}:
        raise typer.BadParameter(f"{given}: unknown option {min(unknown)!r}", param_hint="--table")
    try:
        weight = float(chosen.pop("weight", "1"))
    except ValueError as fault:
        raise typer.BadParameter(f"{given}: weight is not a number", param_hint="--table") from fault
    kind = chosen.get("kind", "statistical")
    if kind not in get_args(Kind):
        raise typer.BadParameter(f"{given}: kind is {' or '.join(get_args(Kind))}", param_hint="--table")
    return TableFile(Path(path), chosen.get("source", source), chosen.get("target", target), cast("Kind", kind), weight)
