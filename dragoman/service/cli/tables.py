"""``dragoman table``: train translation tables from parallel text, and import them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from dragoman.service.cli.options import DATA_DIR, DATABASE_URL, DatabaseUrl, DataDir, opened

if TYPE_CHECKING:
    from dragoman.lexicon.formats.items import Detected

table = typer.Typer(help="Train translation tables from parallel text, and import them.", no_args_is_help=True)

_console = Console(stderr=True)
_PART = 1 << 18

Source = Annotated[str, typer.Option(envvar="DRAGOMAN_SOURCE", help="Language of the source terms, such as en.")]
Target = Annotated[str, typer.Option(envvar="DRAGOMAN_TARGET", help="Language of the target terms, such as de.")]


@table.command("train")
def train(
    parallel: Annotated[
        list[Path],
        typer.Option(
            envvar="DRAGOMAN_PARALLEL",
            help="File or folder of tab-separated sentence pairs, plain or gzip; several may follow.",
        ),
    ],
    source: Source,
    target: Target,
    output: Annotated[Path, typer.Option(envvar="DRAGOMAN_OUTPUT", help="The table to write; gzip if named *.gz.")],
    more: Annotated[list[Path] | None, typer.Argument(metavar="[FILE_OR_DIR]...", show_default=False)] = None,
    columns: Annotated[
        str,
        typer.Option(envvar="DRAGOMAN_COLUMNS", help="The columns of the files; _ is a column to skip."),
    ] = "target,source",
    dictionary: Annotated[
        list[Path] | None,
        typer.Option(envvar="DRAGOMAN_DICTIONARY", help="Dictionary of source TAB target lines to learn from too."),
    ] = None,
    inverse_dictionary: Annotated[
        list[Path] | None,
        typer.Option(envvar="DRAGOMAN_INVERSE_DICTIONARY", help="Dictionary of target TAB source lines."),
    ] = None,
    dictionary_weight: Annotated[
        float,
        typer.Option(envvar="DRAGOMAN_DICTIONARY_WEIGHT", help="Weight of a dictionary line, in sentence pairs."),
    ] = 1.0,
    model: Annotated[
        str, typer.Option(envvar="DRAGOMAN_MODEL", help="Alignment model: model1, model2 or hmm.")
    ] = "model2",
    iterations: Annotated[int, typer.Option(envvar="DRAGOMAN_ITERATIONS", help="Iterations of the model.")] = 5,
    symmetrisation: Annotated[
        str,
        typer.Option(
            envvar="DRAGOMAN_SYMMETRISATION",
            help="How to merge the two directions: product, geometric, mean, intersection, union or grow-diag.",
        ),
    ] = "mean",
    agreement: Annotated[
        str,
        typer.Option(
            envvar="DRAGOMAN_AGREEMENT",
            help="Whether the directions learn from each other: none, product or geometric.",
        ),
    ] = "none",
    stop_words: Annotated[
        bool, typer.Option(envvar="DRAGOMAN_STOP_WORDS", help="Keep stop words in the table.")
    ] = True,
    plain: Annotated[
        bool, typer.Option(envvar="DRAGOMAN_PLAIN", help="Split into words without stemming or Java.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(envvar="DRAGOMAN_REPORT", help="Write statistics of the input and the table as JSON.")
    ] = None,
) -> None:
    """Train a table from parallel text with a word alignment model, in both directions."""
    from dragoman.lexicon.alignment.training import AlignmentConfig
    from dragoman.service.evaluation.table_training import progress_bars, train_table

    try:
        config = AlignmentConfig(
            model=model,
            iterations=iterations,
            symmetrisation=symmetrisation,
            agreement=agreement,
            keep_stop_words=stop_words,
        )
    except ValueError as fault:
        raise typer.BadParameter(str(fault)) from fault
    with progress_bars(_console) as bars:
        done = train_table(
            [*parallel, *(more or ())],
            source,
            target,
            output,
            columns,
            config=config,
            dictionaries=dictionary or (),
            inverse_dictionaries=inverse_dictionary or (),
            dictionary_weight=dictionary_weight,
            plain=plain,
            progress=bars,
        )
    if report is not None:
        report.write_text(json.dumps(done.as_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for line in done.left_out():
        _say(line)
    read, kept = done.corpus.read, done.corpus.kept
    _say(f"{output}: {done.entries} entries from {kept} of {read} sentence pairs, {done.pruned} pruned")


@table.command("import")
def import_table(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The table, plain or gzip.")],
    name: Annotated[str, typer.Option(envvar="DRAGOMAN_NAME", help="The table's name.")],
    source: Source,
    target: Target,
    format: Annotated[
        str,
        typer.Option(
            envvar="DRAGOMAN_FORMAT",
            help="auto (what the file shows), tsv, csv, giza, moses, muse, jsonl, freedict, tbx, xlsx, ods, deepl,"
            " google or dictcc.",
        ),
    ] = "auto",
    encoding: Annotated[
        str | None,
        typer.Option(envvar="DRAGOMAN_ENCODING", help="The file's encoding, such as utf-8; default: what it shows."),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(envvar="DRAGOMAN_SEPARATOR", help="tab, comma, semicolon, pipe, space or a character."),
    ] = None,
    decimal: Annotated[str | None, typer.Option(envvar="DRAGOMAN_DECIMAL", help="The decimal mark, . or ,.")] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            envvar="DRAGOMAN_TABLE_COLUMNS",
            help="What each column is, such as source,target,probability,inverse_probability; - is a column to skip.",
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            envvar="DRAGOMAN_HEADER", help="Whether the first line names the columns; default: what it shows."
        ),
    ] = None,
    kind: Annotated[
        Literal["statistical", "glossary"],
        typer.Option(envvar="DRAGOMAN_KIND", help="statistical, or glossary, which outranks statistical ones."),
    ] = "statistical",
    weight: Annotated[
        float, typer.Option(envvar="DRAGOMAN_WEIGHT", help="Weight among active tables of the same kind.")
    ] = 1.0,
    activate: Annotated[
        bool, typer.Option(envvar="DRAGOMAN_ACTIVATE", help="Use this version in searches from now on.")
    ] = True,
    dry_run: Annotated[bool, typer.Option(envvar="DRAGOMAN_DRY_RUN", help="Check the file and store nothing.")] = False,
    data_dir: DataDir = DATA_DIR,
    database_url: DatabaseUrl = DATABASE_URL,
) -> None:
    """Import a table into the data directory. Stop a server that uses it first."""
    from dragoman.service.access.audit import COMMAND_LINE, Actor
    from dragoman.service.tables.reading import ReadAs
    from dragoman.service.tables.service import Upload

    upload = Upload(
        name=name,
        source=source,
        target=target,
        read_as=ReadAs(format, encoding, separator, decimal, columns, header),
        kind=kind,
        weight=weight,
        activate=activate,
        dry_run=dry_run,
        created_by=COMMAND_LINE,
    )
    with opened(data_dir, database_url) as runtime, file.open("rb") as stream, _bytes_bar() as bar:
        task = bar.add_task(f"reading {file.name}", total=file.stat().st_size)

        def parts() -> Iterator[bytes]:
            while part := stream.read(_PART):
                bar.advance(task, len(part))
                yield part

        if dry_run:
            done = runtime.tables.upload(upload, parts())
        else:
            with runtime.audit.recorded(Actor(COMMAND_LINE), "table.upload", name) as recording:
                done = runtime.tables.upload(upload, parts())
                recording.object = f"{name}/{done.version}"
    if done.detected is not None:
        _say(f"read as {_described(done.detected)}")
    if done.header is not None:
        _say(f"the header: {', '.join(done.header)}")
    for warning in done.warnings[:20]:
        _say(f"line {warning.line}: warning: {warning.reason}")
    for rejection in done.rejected[:20]:
        _say(f"line {rejection.line}: {rejection.reason}")
    state = "checked, not stored" if dry_run else "active" if done.active else "stored, not active"
    _say(
        f"{name} version {done.version}: {done.entries} entries of {done.source_terms} source terms, "
        f"{done.rejected_total} lines rejected, {done.warnings_total} warnings, {done.pruned} pruned, {state}"
    )


def _described(found: Detected) -> str:
    """How a file was read, in one line."""
    from dragoman.lexicon.formats.records import NAMES

    parts = [found.format]
    if found.encoding is not None:
        parts.append(found.encoding)
    if found.separator is not None:
        parts.append(f"separated by {NAMES.get(found.separator, found.separator)}")
    if found.decimal is not None:
        parts.append(f"decimal mark {found.decimal}")
    if found.columns is not None:
        parts.append(f"columns {','.join(one or '-' for one in found.columns)}")
    return ", ".join(parts)


def _bytes_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=_console
    )


def _say(message: str) -> None:
    _console.print(message, markup=False, highlight=False, soft_wrap=True)
