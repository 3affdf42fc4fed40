"""The demo: a small collection in eight languages with its tables, loaded once and then served."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import typer

from dragoman.engine.core.errors import NotFound, ServiceError
from dragoman.engine.observability.logs import configure_log
from dragoman.engine.settings import Settings
from dragoman.files.atomic import atomic_file
from dragoman.lexicon.table.compose import Kind
from dragoman.service.runtime import Runtime
from dragoman.service.server import serve
from dragoman.store.tables.service import Upload

LANGUAGES = {
    "ar": "Arabic",
    "de": "German",
    "el": "Greek",
    "es": "Spanish",
    "fr": "French",
    "ru": "Russian",
    "sw": "Swahili",
    "zh": "Chinese",
}
SOURCE = "en"


@dataclass(frozen=True, slots=True)
class DemoPart:
    """One collection or table of the demo: its file, and how to tell whether it is there and to load it."""

    name: str
    file: Traversable
    present: Callable[[Runtime], bool]
    load: Callable[[Runtime, bytes, set[str]], set[str]]
    """Takes the content and the document ids of the last load, and returns those of this one."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was loaded of one part: the checksum of its file, and the ids of its documents."""

    checksum: str
    ids: list[str]


def run(settings: Settings) -> None:
    """Load into the data directory what is not there yet, and serve it on loopback until the process is stopped.

    The demo has a database of its own, whatever the settings name.

    Raises:
        ServiceError: the address, the data directory or a part of the demo cannot be used.
    """
    configure_log("warning")
    settings = settings.replace(database_url=None, host="127.0.0.1")
    data_dir = settings.store.data_dir
    runtime = Runtime(settings)
    try:
        typer.echo(f"Preparing the demo in {data_dir}", err=True)
        runtime.start(serving=False)
        parts = load(runtime)
    finally:
        runtime.close()
    loaded = f"loaded {len(parts)} collections and tables" if parts else "already loaded"
    serve(settings, ready=lambda address: typer.echo(f"Demo {loaded} in {data_dir}\n\n{welcome(address)}"))


def load(runtime: Runtime) -> list[str]:
    """Load the parts of the demo that are missing or were loaded from other files; returns their names.

    What was loaded is remembered in ``demo.json`` in the data directory, after each part, so that a load
    that was cut off goes on. Documents and table versions that others added are left alone.
    """
    state = runtime.settings.store.data_dir / "demo.json"
    remembered = _recall(state)
    loaded = []
    for part in demo_parts():
        content = part.file.read_bytes()
        checksum = hashlib.sha256(content).hexdigest()
        before = remembered.get(part.name, Loaded("", []))
        if before.checksum == checksum and part.present(runtime):
            continue
        ids = part.load(runtime, content, set(before.ids))
        remembered[part.name] = Loaded(checksum, sorted(ids))
        _remember(state, remembered)
        loaded.append(part.name)
    return loaded


def welcome(address: str) -> str:
    """What the demo says once it answers: where it is, and three commands that can be pasted into a shell."""
    base = address.rstrip("/")
    json_type = "-H 'content-type: application/json'"
    commands = (
        (
            "Ask in English, find documents in eight languages:",
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


def demo_parts() -> list[DemoPart]:
    """All collections and tables of the demo, in the order in which they are loaded."""
    folder = files("dragoman") / "demo"
    collections = [_collection(folder, language) for language in LANGUAGES]
    tables = [_table(folder / f"table.{SOURCE}-{other}.tsv", f"demo_{SOURCE}_{other}", other) for other in LANGUAGES]
    glossary = _table(folder / "glossary.en-de.tsv", "demo_glossary_en_de", "de", glossary=True)
    return [*collections, *tables, glossary]


def _collection(folder: Traversable, language: str) -> DemoPart:
    name = f"demo_{language}"

    def present(runtime: Runtime) -> bool:
        try:
            return runtime.collections.get(name).documents > 0
        except NotFound:
            return False

    def load(runtime: Runtime, content: bytes, before: set[str]) -> set[str]:
        try:
            runtime.collections.get(name)
        except NotFound:
            description = f"Short articles in {LANGUAGES[language]}, written for the demo"
            runtime.collections.create(name, language, description)
        done = runtime.collections.import_documents(name, iter([content]))
        if done.rejected:
            first = done.rejected[0]
            raise ServiceError(f"demo documents in {LANGUAGES[language]}, line {first.line}: {first.reason}")
        ids = {json.loads(line)["id"] for line in content.splitlines()}
        for id in before - ids:
            with suppress(NotFound):
                runtime.collections.delete_document(name, id)
        return ids

    return DemoPart(name, folder / f"documents.{language}.jsonl", present, load)


def _table(file: Traversable, name: str, target: str, glossary: bool = False) -> DemoPart:
    def present(runtime: Runtime) -> bool:
        try:
            return bool(runtime.tables.get(name).versions)
        except NotFound:
            return False

    def load(runtime: Runtime, content: bytes, before: set[str]) -> set[str]:
        kind: Kind = "glossary" if glossary else "statistical"
        done = runtime.tables.upload(Upload(name, SOURCE, target, kind=kind, activate=True), iter([content]))
        if done.rejected:
            first = done.rejected[0]
            raise ServiceError(f"demo table {name}, line {first.line}: {first.reason}")
        return set()

    return DemoPart(name, file, present, load)


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
