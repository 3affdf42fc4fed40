"""Options that several commands share. Commands import what they need when they run, which keeps ``--help`` fast."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from dragoman import cores

if TYPE_CHECKING:
    from dragoman.engine.settings import Settings
    from dragoman.service.runtime import Runtime

DataDir = Annotated[
    Path | None,
    typer.Option(
        envvar="DRAGOMAN_DATA_DIR", show_default="data", help="Folder of the database, indexes and compiled tables."
    ),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        envvar="DRAGOMAN_DATABASE_URL",
        help="Such as postgresql://user@host/database; default: SQLite in the data directory.",
        show_envvar=True,
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        envvar="DRAGOMAN_CONFIG",
        show_default="dragoman.toml, if it is there",
        help="TOML file of settings; options and the environment outrank it.",
    ),
]

FILTER_HELP = 'Only documents whose fields match, such as \'{"year": {"$gte": 2020}}\'.'
FilterText = Annotated[str | None, typer.Option("--filter", envvar="DRAGOMAN_FILTER", help=FILTER_HELP)]


def load_settings(config: Path | None, fallbacks: Mapping[str, Any] | None = None, **options: Any) -> Settings:
    """The settings: options that are not None, then the environment, then the file, then ``fallbacks``.

    Raises:
        InvalidRequest: a setting is not valid; the message names it and the reason.
    """
    from dragoman.engine.settings import Settings

    chosen = {name: option for name, option in options.items() if option is not None}
    return Settings.load(file=config, fallbacks=fallbacks, **chosen)


@dataclass(frozen=True)
class Folder:
    """The options of a command that works on a data directory: where it is, and its settings."""

    data_dir: DataDir = None
    database_url: DatabaseUrl = None
    config: ConfigFile = None

    def load_settings(self, fallbacks: Mapping[str, Any] | None = None, **options: Any) -> Settings:
        """The settings of the data directory; see :func:`load_settings`."""
        return load_settings(self.config, fallbacks, data_dir=self.data_dir, database_url=self.database_url, **options)

    @contextmanager
    def open_runtime(self, existing: bool = False, **options: Any) -> Iterator[Runtime]:
        """The runtime of the data directory, locked for this process until the block ends; needs no server.

        With ``existing`` the directory has to exist; otherwise it is created if missing. ``options`` are settings.

        Raises:
            NotFound: there is no such directory.
            Conflict: a server or another command is using it.
        """
        from dragoman.engine.core.errors import NotFound
        from dragoman.service.runtime import Runtime

        settings = self.load_settings({"torch_threads": cores.for_models(alone=True)}, **options)
        if existing and not settings.store.data_dir.is_dir():
            raise NotFound(f"there is no data directory {settings.store.data_dir}; --data-dir names another")
        runtime = Runtime(settings)
        try:
            yield runtime
        finally:
            runtime.close()


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Let the last parameter of a command, a dataclass of options, be an option each."""
    signature = inspect.signature(command, eval_str=True)
    *others, last = signature.parameters.values()
    kind = last.annotation
    hints = get_type_hints(kind, include_extras=True)
    options = [
        inspect.Parameter(option.name, last.kind, default=option.default, annotation=hints[option.name])
        for option in fields(kind)
    ]

    shown = signature.replace(parameters=[*others, *options])

    @wraps(command)
    def run(*positional: Any, **named: Any) -> None:
        bound = shown.bind(*positional, **named)
        bound.apply_defaults()
        chosen = kind(**{option.name: bound.arguments.pop(option.name) for option in options})
        command(**bound.arguments, **{last.name: chosen})

    run.__signature__ = shown  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown.parameters.values()}
    return run


def read_filter(text: str | None) -> Mapping[str, Any] | None:
    """The filter that an option has.

    Raises:
        InvalidRequest: it is no JSON object.
    """
    from dragoman.engine.core.errors import InvalidRequest

    if text is None:
        return None
    try:
        conditions = json.loads(text)
    except ValueError as fault:
        raise InvalidRequest(f"filter: it is not valid JSON: {fault}") from fault
    if not isinstance(conditions, dict):
        raise InvalidRequest("filter: must be a JSON object of fields and conditions")
    return conditions
