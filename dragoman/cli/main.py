"""The ``dragoman`` command: serve, worker, demo, search, lookup, mcp, index, table, model, keys, train, evaluate.

Every option is also an environment variable. A user error prints one line on standard error and exits with code 2. A
missing package prints one line and exits with code 1.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from dragoman import cores
from dragoman.cli import collections as cli_collections
from dragoman.cli import data as cli_data
from dragoman.cli import keys as cli_keys
from dragoman.cli import lab
from dragoman.cli import searching as cli_searching
from dragoman.cli import tables as cli_tables
from dragoman.cli.administration import backup as cli_backup
from dragoman.cli.administration import reports as cli_reports
from dragoman.cli.installing import models as cli_models
from dragoman.cli.options import ConfigFile, DatabaseUrl, DataDir, load_settings
from dragoman.installation import advice, require

if TYPE_CHECKING:
    from dragoman.engine.settings import Settings

cores.quiet_libraries()  # none is loaded before a command runs

app = typer.Typer(
    name="dragoman",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(cli_data.index, name="index")
app.add_typer(cli_tables.table, name="table")
app.add_typer(cli_keys.keys, name="keys")
app.add_typer(cli_collections.collection, name="collection")
app.add_typer(cli_collections.documents, name="documents")
app.add_typer(cli_reports.reports, name="reports")
app.add_typer(cli_models.model, name="model")
app.command("backup")(cli_backup.backup)
app.command("restore")(cli_backup.restore)
app.command("search")(cli_searching.search)
app.command("ask")(cli_searching.ask)
app.command("lookup")(cli_searching.lookup)
app.command("mcp")(cli_searching.mcp)
for _name, _help in lab.COMMANDS.items():
    app.command(_name, help=_help, add_help_option=False, context_settings=lab.ANY_ARGUMENTS)(lab.run)

_console = Console(stderr=True)

_MISTAKES = (
    "BenchmarkError",
    "CheckpointError",
    "ConfigError",
    "CorpusError",
    "ExamplesError",
    "ListsError",
    "UnsupportedPair",
)
"""The faults of users of models and of the lab."""

_PORT_HELP = "Port to listen on; 0 chooses a free one."

Host = Annotated[
    str | None,
    typer.Option(
        envvar="DRAGOMAN_HOST", show_default="127.0.0.1", help="Address to listen on; without keys only loopback."
    ),
]
Port = Annotated[int | None, typer.Option(envvar="DRAGOMAN_PORT", show_default="8080", help=_PORT_HELP)]
WorkerUrl = Annotated[
    list[str] | None,
    typer.Option(envvar="DRAGOMAN_WORKER_URL", help="Address of a `dragoman worker`; repeatable, or by commas."),
]
Device = Annotated[
    str | None,
    typer.Option(envvar="DRAGOMAN_DEVICE", show_default="cpu", help="Where the model computes: cpu, cuda, cuda:1."),
]
LogLevel = Annotated[
    str | None,
    typer.Option(
        envvar="DRAGOMAN_LOG_LEVEL", show_default="info", help="debug, info, warning or error, to standard error."
    ),
]
LogFormat = Annotated[
    str | None,
    typer.Option(envvar="DRAGOMAN_LOG_FORMAT", show_default="text", help="text, or json with one object per line."),
]


RootPath = Annotated[
    str | None,
    typer.Option(envvar="DRAGOMAN_ROOT_PATH", help="Path under which a proxy serves it, such as /dragoman."),
]
CorsOrigin = Annotated[
    list[str] | None,
    typer.Option(
        envvar="DRAGOMAN_CORS_ORIGIN",
        help="Web site whose pages may call it, https://app.org, or *; repeatable.",
    ),
]


Processes = Annotated[
    int | None,
    typer.Option(envvar="DRAGOMAN_PROCESSES", show_default="1", min=1, max=64, help="Processes that answer searches."),
]


def _say_version(requested: bool) -> None:
    if requested:
        typer.echo(f"dragoman {version('dragoman')}")
        raise typer.Exit


@app.callback()
def dragoman(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Search documents in languages you don't read, with translation tables you own."""


@app.command()
def serve(
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    config: ConfigFile = None,
    worker_url: WorkerUrl = None,
    processes: Processes = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    root_path: RootPath = None,
    cors_origin: CorsOrigin = None,
) -> None:
    """Serve the HTTP API and the web page until stopped.

    All limits are settings, of the environment or a file; docs/settings.md lists them.
    """
    require("server", "dragoman serve")
    from dragoman.engine.observability.logs import configure_log
    from dragoman.service.server import serve as run

    settings = load_settings(
        config,
        fallbacks={"worker_mode": "process"},
        host=host,
        port=port,
        data_dir=data_dir,
        database_url=database_url,
        worker_url=",".join(worker_url) if worker_url else None,
        processes=processes,
        root_path=root_path,
        cors_origin=",".join(cors_origin) if cors_origin else None,
        log_level=log_level and log_level.lower(),
        log_format=log_format,
    )
    configure_log(settings.log.log_level, settings.log.log_format)
    run(settings, ready=lambda address: _announce(f"Dragoman listens on {address}", settings))


@app.command()
def worker(
    host: Host = None,
    port: Annotated[int | None, typer.Option(envvar="DRAGOMAN_PORT", show_default="8081", help=_PORT_HELP)] = None,
    device: Device = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    config: ConfigFile = None,
) -> None:
    """Compute with all models for `dragoman serve --worker-url` in a process of its own, for example on a GPU."""
    require("server", "dragoman worker")
    from dragoman.engine.observability.logs import configure_log
    from dragoman.service.server import serve_worker

    settings = load_settings(
        config,
        fallbacks={"port": 8081, "torch_threads": cores.for_models(alone=True)},
        host=host,
        port=port,
        device=device,
        log_level=log_level and log_level.lower(),
        log_format=log_format,
    )
    configure_log(settings.log.log_level, settings.log.log_format)
    serve_worker(settings, ready=lambda address: _announce(f"Dragoman worker listens on {address}", settings))


def _announce(line: str, settings: Settings) -> None:
    """Print the service's address in the format of the log."""
    from dragoman.engine.observability.logs import announce

    if settings.log.log_format == "json":
        announce(line)
    else:
        _console.print(line, highlight=False)


@app.command()
def demo(
    port: Port = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            envvar="DRAGOMAN_DATA_DIR", show_default="demo-data", help="Folder of the demo's database and index."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            envvar="DRAGOMAN_DEMO_DATA",
            help="Folder of NDJSON, one file a language (ja.ndjson), that is served beside the demo's documents.",
        ),
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Load small multilingual collections with their tables, and serve them."""
    require("server", "dragoman demo")
    from dragoman.cli.demo import run

    fallbacks = {"data_dir": "demo-data", "worker_mode": "process"}
    run(load_settings(config, fallbacks=fallbacks, data_dir=data_dir, port=port), data)


def main() -> None:
    """Run the command line; the entry point of the ``dragoman`` script."""
    run_app(app)


def run_app(commands: typer.Typer) -> None:
    """Run a command line: a fault of its user is one line, and a computation that goes on does not hold the end up."""
    try:
        _run(commands)
    except SystemExit as end:
        abandoned = sys.modules.get("dragoman.engine.models.queue.abandoned")
        if abandoned is not None:  # commands that compute nothing do not import it
            abandoned.exit_if_computing(end.code if isinstance(end.code, int) else 1 if end.code else 0)
        raise


def _run(commands: typer.Typer) -> None:
    try:
        commands()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as fault:
        missing = _missing_package(fault)
        message = missing or _user_error(fault)
        if message is None:
            raise
        _console.print(f"dragoman: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1 if missing else 2)


def _missing_package(fault: Exception) -> str | None:
    """The message for a missing package, or None for any other fault."""
    if isinstance(fault, ImportError) and (missing := advice(fault)) is not None:
        return missing
    from dragoman.engine.core.errors import NotInstalled, classify

    if isinstance(fault, lab.LabMissing):
        return str(fault)
    for cause in (fault, fault.__cause__):  # the door raises it as what a service would answer
        if cause is not None and isinstance(error := classify(cause), NotInstalled):
            return str(error)
    return None


def _user_error(fault: Exception) -> str | None:
    """The message for a fault that the user can fix, or None for any other fault."""
    from pydantic import ValidationError

    from dragoman.engine.core.errors import ServiceError, classify
    from dragoman.engine.tables.training.parallel_text import TrainingError
    from dragoman.lexicon.formats.reader import TableFormatError

    if isinstance(fault, ValidationError):
        return "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in fault.errors())
    if isinstance(fault, ServiceError | TableFormatError | TrainingError):
        return str(fault)
    if _from_the_models(fault):
        return str(fault)
    if isinstance(fault, OSError) and fault.filename is not None:
        return f"{fault.filename}: {fault.strerror}"
    error = classify(fault)
    return None if error is None else str(error)


def _from_the_models(fault: Exception) -> bool:
    """Whether it is a user error of the models or of the lab, checked without importing torch."""
    rooms = ("dragoman.backbone.", "dragoman.ranking.", "dragoman.reasoning.", "dragoman_lab.")
    return type(fault).__module__.startswith(rooms) and type(fault).__name__ in _MISTAKES


if __name__ == "__main__":
    main()
