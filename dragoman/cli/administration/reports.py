"""``dragoman reports``: what searches lacked, with a data directory, or by a running service."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dragoman.cli.database import Place
from dragoman.cli.options import spread

reports = typer.Typer(help="Report what to add next, of the searches that were recorded.", no_args_is_help=True)

_console = Console(stderr=True)
_HASH_SHOWN = 12

Limit = Annotated[int, typer.Option(envvar="DRAGOMAN_LIMIT", min=1, max=10_000, help="How many are listed.")]
AsJson = Annotated[bool, typer.Option("--json", envvar="DRAGOMAN_JSON", help="Print the report as JSON.")]


@reports.command("vocabulary")
@spread
def vocabulary(
    limit: Limit = 20,
    as_json: AsJson = False,
    *,
    place: Place,
) -> None:
    """List the words of queries that no table translated, the most frequent first."""
    from dragoman.door import calls

    with place.open() as opened:
        report = opened.send(calls.report("vocabulary", limit))
    rows = [
        (_text(word, "word"), f"{word['source']} to {word['target']}", str(word["searches"]))
        for word in report["words"]
    ]
    _show(report, ("word", "languages", "searches"), rows, as_json)


@reports.command("searches")
@spread
def searches(
    limit: Limit = 20,
    as_json: AsJson = False,
    *,
    place: Place,
) -> None:
    """List the queries after which nobody clicked, those first that were made most often so."""
    from dragoman.door import calls

    with place.open() as opened:
        report = opened.send(calls.report("searches", limit))
    rows = [
        (
            _text(query, "query"),
            query["language"],
            *(str(query[count]) for count in ("searches", "without_click", "without_hits")),
        )
        for query in report["queries"]
    ]
    _show(report, ("query", "language", "searches", "without click", "without hits"), rows, as_json)


def _text(row: dict[str, Any], name: str) -> str:
    return f"(hash {row[name][:_HASH_SHOWN]})" if row["hashed"] else escape(row[name])


def _show(report: dict[str, Any], columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False))
        return
    table = Table(*columns, box=None, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    if len(rows) < report["total"]:
        _tell(f"the first {len(rows)} of {report['total']}; --limit shows more")
    if report["since"] is None:
        _tell("no search is recorded; DRAGOMAN_RECORD_SEARCHES=plain records them")


def _tell(line: str) -> None:
    _console.print(line, markup=False, highlight=False, soft_wrap=True)
