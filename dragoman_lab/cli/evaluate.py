"""``dragoman evaluate``: run a benchmark through the HTTP API."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

import typer

from dragoman.cli.options import Folder, spread

if TYPE_CHECKING:
    from dragoman_lab.evaluation.serving import TableFile

app = typer.Typer(add_completion=False)


@app.command()
@spread
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
    *,
    folder: Folder,
) -> None:
    """Run a benchmark through the HTTP API: MAP@100, nDCG@20 and R@100 per system, with significance tests."""
    from dragoman_lab.evaluation.evaluation import active_tables, run

    names = [name.strip() for name in systems.split(",")]
    files = [_table_file(option, source, target) for option in table or ()]
    with TemporaryDirectory() as temporary:
        if not files and {"psq", "smt", "hybrid", "reranked", "mart"} & set(names):
            with folder.open_runtime(existing=True) as runtime:
                used = runtime.settings.store.data_dir
                files = active_tables(runtime.tables, source, target, Path(temporary))
            if not files:
                raise typer.BadParameter(
                    f"psq, smt, hybrid, reranked and mart need a table between {source} and {target}, and {used}"
                    " has none active",
                    param_hint="--table",
                )
        run(data, source, target, unit, names, output, files, queries, only, without, split)


def _table_file(setting: str, source: str, target: str) -> TableFile:
    """Parse a value of ``--table``: a file and, after commas, its options."""
    from dragoman.lexicon.table.compose import Kind
    from dragoman_lab.evaluation.serving import TableFile

    path, *options = setting.split(",")
    chosen = dict(option.partition("=")[::2] for option in options)
    if unknown := chosen.keys() - {"source", "target", "kind", "weight"}:
        raise typer.BadParameter(f"{setting}: unknown option {min(unknown)!r}", param_hint="--table")
    try:
        weight = float(chosen.pop("weight", "1"))
    except ValueError as fault:
        raise typer.BadParameter(f"{setting}: weight is not a number", param_hint="--table") from fault
    kind = chosen.get("kind", "statistical")
    if kind not in get_args(Kind):
        raise typer.BadParameter(f"{setting}: kind is {' or '.join(get_args(Kind))}", param_hint="--table")
    return TableFile(Path(path), chosen.get("source", source), chosen.get("target", target), cast("Kind", kind), weight)
