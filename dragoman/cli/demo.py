"""The demo: small collections in twelve languages with their tables, loaded once and then served."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.resources.abc import Traversable
from pathlib import Path

import typer

from dragoman.cli.demo_parts import NOTHING, DemoPart, Loaded, demo_parts, folder_parts, read_chunks
from dragoman.engine.observability.logs import configure_log
from dragoman.engine.settings import Settings
from dragoman.files.atomic import atomic_file
from dragoman.service.runtime import Runtime
from dragoman.service.server import serve


def run(settings: Settings, folder: Path | None = None) -> None:
    """Load into the data directory what is not there yet, and serve it on loopback until the process is stopped.

    The demo has a database of its own, whatever the settings name. ``folder`` has documents of the user's.

    Raises:
        ServiceError: the address, the data directory, the folder or a part of the demo cannot be used.
    """
    configure_log("warning")
    settings = settings.replace(database_url=None, host="127.0.0.1")
    data_dir = settings.store.data_dir
    added = _user_parts(folder)
    runtime = Runtime(settings)
    try:
        typer.echo(f"Preparing the demo in {data_dir}", err=True)
        runtime.start(serving=False)
        parts = load(runtime, added)
    finally:
        runtime.close()
    loaded = f"loaded {len(parts)} collections and tables" if parts else "already loaded"
    names = f"\nDocuments of {folder}: {', '.join(part.name for part in added)}" if added else ""
    serve(settings, ready=lambda address: typer.echo(f"Demo {loaded} in {data_dir}{names}\n\n{welcome(address)}"))


def _user_parts(folder: Path | None) -> list[DemoPart]:
    if folder is None:
        return []
    parts, left_out = folder_parts(folder)
    if left_out:
        shown = ", ".join(left_out[:5]) + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")
        typer.echo(f"Not loaded from {folder}, as they are no files *.ndjson: {shown}", err=True)
    return parts


def load(runtime: Runtime, added: Sequence[DemoPart] = ()) -> list[str]:
    """Load the parts of the demo that are missing or were loaded from other files, and those added.

    Returns their names.

    What was loaded is remembered in ``demo.json`` in the data directory, after each part, so that a load
    that was cut off goes on. Documents and table versions that others added or changed are left alone. All files
    are checked before the first is loaded.

    Raises:
        InvalidRequest: a file has no documents; the message names it and the line.
        Conflict: a file would become a collection that is there already and was made otherwise.
    """
    state = runtime.settings.store.data_dir / "demo.json"
    remembered = _recall(state)
    stale = []
    for part in (*demo_parts(), *added):
        checksum, before = _checksum(part.file), remembered.get(part.name, NOTHING)
        if before.checksum != checksum or not part.present(runtime):
            part.check(runtime, part.file, before)
            stale.append((part, checksum, before))
    for part, checksum, before in stale:
        remembered[part.name] = replace(part.load(runtime, part.file, before), checksum=checksum)
        _remember(state, remembered)
    return [part.name for part, _, _ in stale]


def _checksum(file: Traversable) -> str:
    digest = hashlib.sha256()
    for chunk in read_chunks(file):
        digest.update(chunk)
    return digest.hexdigest()


def welcome(address: str) -> str:
    """What the demo says once it answers: where it is, and three commands that can be pasted into a shell."""
    base = address.rstrip("/")
    json_type = "-H 'content-type: application/json'"
    commands = (
        (
            "Ask in English, find documents in twelve languages:",
            f'curl -s {base}/v1/search {json_type} -d \'{{"query": "volcano eruption and ash", "top_k": 5}}\'',
        ),
        (
            "See what the German table knows about a word:",
            f"curl -s {base}/v1/tables/demo_en_de/terms/bank",
        ),
        (
            "Teach it a word that no table has, and search for it at once:",
            f"printf 'watchmaking\\tTaschenuhr\\n' | curl -s -T - '{base}/v1/tables/my_words"
            f"?source=en&target=de&kind=glossary&activate=true' && curl -s {base}/v1/search {json_type} "
            '-d \'{"query": "watchmaking", "collections": ["demo_de"]}\'',
        ),
    )
    lines = [f"{title}\n\n  {command}\n" for title, command in commands]
    return "\n".join([f"Dragoman's demo is at {base}/ (Ctrl-C stops it)\n", *lines])


def _recall(state: Path) -> dict[str, Loaded]:
    """What earlier loads remembered; a file that is missing or damaged means that all is loaded again."""
    try:
        return {name: Loaded(**part) for name, part in json.loads(state.read_text(encoding="utf-8")).items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return {}


def _remember(state: Path, parts: dict[str, Loaded]) -> None:
    content = {name: asdict(part) for name, part in parts.items()}
    with atomic_file(state) as unfinished:
        unfinished.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
