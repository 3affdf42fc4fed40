"""``dragoman table``: train translation tables from parallel text, and import them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from dragoman.cli.installing.dictionaries import install
from dragoman.cli.options import Folder, spread

if TYPE_CHECKING:
    from dragoman.lexicon.formats.items import Detected
    from dragoman.store.tables.patching import Addition

table = typer.Typer(help="Train translation tables from parallel text, and import them.", no_args_is_help=True)

_console = Console(stderr=True)
_PART = 1 << 18

Source = Annotated[str, typer.Option(envvar="DRAGOMAN_SOURCE", help="Language of the source terms, such as en.")]
Target = Annotated[str, typer.Option(envvar="DRAGOMAN_TARGET", help="Language of the target terms, such as de.")]


TableName = Annotated[str, typer.Argument(metavar="NAME", help="The table's name.")]
OneVersion = Annotated[
    int | None, typer.Option(envvar="DRAGOMAN_VERSION", min=1, help="Number of the version; default: the active one.")
]


@table.command("train")
def train(
    parallel: Annotated[
        list[Path],
        typer.Option(
            envvar="DRAGOMAN_PARALLEL",
            help="File or folder of tab-separated sentence pairs or TMX, or two files such as a.de a.en; may be gzip.",
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
    from dragoman.engine.tables.training.table_training import progress_bars, train_table
    from dragoman.lexicon.alignment.training import AlignmentConfig

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
    read, usable = done.corpus.read, done.corpus.kept
    _say(f"{output}: {done.entries} entries from {usable} of {read} sentence pairs, {done.pruned} pruned")


@table.command("import")
@spread
def import_table(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The table, plain or gzip.")],
    name: Annotated[str, typer.Option(envvar="DRAGOMAN_NAME", help="The table's name.")],
    source: Source,
    target: Target,
    format: Annotated[
        str,
        typer.Option(
            envvar="DRAGOMAN_FORMAT",
            help="auto (what the file shows), tsv, csv, giza, moses, muse, jsonl, freedict, tbx, tmx, xlsx, ods,"
            " deepl, google or dictcc.",
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
    *,
    folder: Folder,
) -> None:
    """Import a table into the data directory. Stop a server that uses it first."""
    from dragoman.service.access.audit import COMMAND_LINE, Actor
    from dragoman.store.tables.service import Upload
    from dragoman.store.tables.table_reader import ReadAs

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
    with (
        folder.open_runtime() as runtime,
        file.open("rb") as stream,
        _bytes_bar() as bar,
    ):
        task = bar.add_task(f"reading {file.name}", total=file.stat().st_size)

        def parts() -> Iterator[bytes]:
            while part := stream.read(_PART):
                bar.advance(task, len(part))
                yield part

        if dry_run:
            done = runtime.tables.upload(upload, parts())
        else:
            with runtime.audit.record(Actor(COMMAND_LINE), "table.upload", name) as recording:
                done = runtime.tables.upload(upload, parts())
                recording.object = f"{name}/{done.version}"
    if done.detected is not None:
        _say(f"read as {_describe(done.detected)}")
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


@table.command("export")
@spread
def export_table(
    name: TableName,
    version: OneVersion = None,
    format: Annotated[
        str | None,
        typer.Option(
            envvar="DRAGOMAN_EXPORT_FORMAT",
            help="tsv, csv, jsonl, tbx, tmx, deepl, google, freedict, moses, giza or muse; default: as uploaded.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(envvar="DRAGOMAN_OUTPUT", help="The file to write; default: standard output.")
    ] = None,
    *,
    folder: Folder,
) -> None:
    """Write a version of a table as it was uploaded, by default the active one. Stop a server that uses it first."""
    from dragoman.files.atomic import atomic_file

    with folder.open_runtime(existing=True) as runtime:
        written, blocks = runtime.tables.browse.export(name, version, format)
        if output is None:
            for block in blocks:
                sys.stdout.buffer.write(block)
            sys.stdout.buffer.flush()
            return
        with atomic_file(output) as unfinished, unfinished.open("wb") as stream:
            stream.writelines(blocks)
    _say(f"{output}: table {name} as {written}")


@table.command("patch")
@spread
def patch_table(
    name: TableName,
    add: Annotated[
        list[str] | None,
        typer.Option(
            envvar="DRAGOMAN_ADD", help="SOURCE=TARGET or SOURCE=TARGET=PROBABILITY, an entry to add; may be repeated."
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(
            envvar="DRAGOMAN_REMOVE",
            help="SOURCE=TARGET, an entry to remove, or SOURCE with all its entries; may be repeated.",
        ),
    ] = None,
    *,
    folder: Folder,
) -> None:
    """Make a new version with some entries removed and some added, active if the one before is. Removals come first.

    Stop a server that uses the data directory first.
    """
    from dragoman.service.access.audit import COMMAND_LINE, Actor
    from dragoman.store.tables.patching import Patch, Removal

    removals = []
    for removal in remove or ():
        source, _, target = removal.partition("=")
        removals.append(Removal(source.strip(), target.strip() or None))
    patch = Patch([_addition(addition) for addition in add or ()], removals)
    if not patch.add and not patch.remove:
        raise typer.BadParameter("--add or --remove at least one entry")
    with (
        folder.open_runtime(existing=True) as runtime,
        runtime.audit.record(Actor(COMMAND_LINE), "table.patch", name) as recording,
    ):
        done = runtime.tables.patch(name, patch, COMMAND_LINE)
        recording.object = f"{name}/{done.version}"
    state = "active" if done.active else "stored, not active"
    _say(
        f"{name} version {done.version} from version {done.base.version}: {done.added} added, {done.removed} removed, "
        f"{done.counts.entries} entries of {done.counts.source_terms} source terms, {state}"
    )


def _addition(text: str) -> Addition:
    from dragoman.store.tables.patching import Addition

    source, _, rest = text.partition("=")
    target, _, probability = rest.partition("=")
    if not source.strip() or not target.strip():
        raise typer.BadParameter(f"{text!r} is not SOURCE=TARGET", param_hint="--add")
    if not probability:
        return Addition(source.strip(), target.strip())
    try:
        chance = float(probability)
    except ValueError:
        chance = -1.0
    if not 0 <= chance <= 1:
        raise typer.BadParameter(f"{probability!r} is not a number between 0 and 1", param_hint="--add")
    return Addition(source.strip(), target.strip(), chance)


@table.command("diff")
@spread
def compare_versions(
    name: TableName,
    before: Annotated[int, typer.Argument(min=1, help="Number of a version.")],
    after: Annotated[int, typer.Argument(min=1, help="Number of the version to compare with it.")],
    *,
    folder: Folder,
) -> None:
    """Print the entries that differ between two versions: - removed, + added. Stop a server that uses them first."""
    with folder.open_runtime(existing=True) as runtime:
        cursor = None
        while True:
            difference = runtime.tables.browse.diff(name, before, after, cursor, 1000)
            for mark, entries in (
                ("-", [*difference.removed, *(old for old, _ in difference.changed)]),
                ("+", [*difference.added, *(new for _, new in difference.changed)]),
            ):
                for entry in entries:
                    chances = f"{entry.probability:.6g}\t{entry.inverse_probability:.6g}"
                    typer.echo(f"{mark}\t{entry.source}\t{entry.target}\t{chances}")
            if (cursor := difference.next) is None:
                return


def _describe(detected: Detected) -> str:
    """How a file was read, in one line."""
    from dragoman.lexicon.formats.records import NAMES

    parts = [detected.format]
    if detected.encoding is not None:
        parts.append(detected.encoding)
    if detected.separator is not None:
        parts.append(f"separated by {NAMES.get(detected.separator, detected.separator)}")
    if detected.decimal is not None:
        parts.append(f"decimal mark {detected.decimal}")
    if detected.columns is not None:
        parts.append(f"columns {','.join(column or '-' for column in detected.columns)}")
    return ", ".join(parts)


def _bytes_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=_console
    )


def _say(message: str) -> None:
    _console.print(message, markup=False, highlight=False, soft_wrap=True)


table.command("install")(install)
