"""What the demo loads: its collections, tables and glossaries, and the files of a folder that the user names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from dragoman.engine.core.errors import Conflict, InvalidRequest, NotFound, ServiceError
from dragoman.files.streams import Line, lines
from dragoman.lexicon.table.compose import Kind
from dragoman.lexicon.text.languages import UnknownLanguage, check_language
from dragoman.service.runtime import Runtime
from dragoman.store.documents.formats.forms import other_form, peek
from dragoman.store.documents.line import parse_document
from dragoman.store.line import LineRejected
from dragoman.store.tables.service import Upload

LANGUAGES = {
    "ar": "Arabic",
    "de": "German",
    "el": "Greek",
    "es": "Spanish",
    "fr": "French",
    "hi": "Hindi",
    "ja": "Japanese",
    "ko": "Korean",
    "ru": "Russian",
    "sw": "Swahili",
    "th": "Thai",
    "zh": "Chinese",
}
SOURCE = "en"
LESSONS = ("de", "ja")
"""Languages with a second glossary, of words that no table has, which is loaded without being activated."""
SUFFIX = ".ndjson"

_PART_BYTES = 1 << 20
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was loaded of one part: the checksum of its file, and of documents their ids, their collection's generation
    after that (None: not noted, as earlier versions did not), and the ids of those that somebody had changed."""

    checksum: str
    ids: list[str]
    generation: int | None = None
    changed: list[str] = field(default_factory=list)


NOTHING = Loaded("", [])


@dataclass(frozen=True, slots=True)
class DemoPart:
    """One collection or table of the demo: its file, and how to tell whether it is there, to check and to load it."""

    name: str
    file: Traversable
    present: Callable[[Runtime], bool]
    check: Callable[[Runtime, Traversable, Loaded], None]
    """Raises what speaks against loading the file, before anything of any part is loaded."""
    load: Callable[[Runtime, Traversable, Loaded], Loaded]
    """Takes what the last load did, and returns what this one did, without the checksum."""


def demo_parts() -> list[DemoPart]:
    """All collections and tables of the demo itself, in the order in which they are loaded."""
    folder = files("dragoman") / "demo"
    collections = [
        _collection(
            folder / f"documents.{language}.jsonl",
            f"demo_{language}",
            language,
            f"Articles in {LANGUAGES[language]}, written for the demo",
        )
        for language in LANGUAGES
    ]
    tables = [_table(folder / f"table.{SOURCE}-{other}.tsv", f"demo_{SOURCE}_{other}", other) for other in LANGUAGES]
    glossary = _table(folder / "glossary.en-de.tsv", "demo_glossary_en_de", "de", kind="glossary")
    lessons = [
        _table(folder / f"lesson.{SOURCE}-{other}.tsv", f"demo_lesson_{SOURCE}_{other}", other, "glossary", False)
        for other in LESSONS
    ]
    return [*collections, *tables, glossary, *lessons]


def folder_parts(folder: Path) -> tuple[list[DemoPart], list[str]]:
    """The files of a user's folder, each a collection ``data_LANGUAGE``; and the names of what is none of them.

    Raises:
        NotFound: there is no such folder.
        InvalidRequest: it cannot be read, has no such file, or one that is not named by a language.
    """
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}")
    try:
        entries = sorted(folder.iterdir())
    except OSError as fault:
        raise InvalidRequest(f"{folder} cannot be read: {fault.strerror}") from fault
    parts: dict[str, DemoPart] = {}
    left_out = []
    for path in entries:
        if path.suffix != SUFFIX or not path.is_file():
            left_out.append(path.name)
            continue
        language = _language_of(path)
        if (other := parts.get(language)) is not None:
            raise InvalidRequest(f"{path} and {other.file.name} are both of the language '{language}'; join them")
        parts[language] = _collection(path, f"data_{language}", language, f"Documents of {path}", of_user=True)
    if not parts:
        raise InvalidRequest(f"{folder} has no file of documents: it needs one a language, such as ja{SUFFIX}")
    return list(parts.values()), left_out


def _language_of(path: Path) -> str:
    try:
        return check_language(path.stem)
    except UnknownLanguage as fault:
        raise InvalidRequest(
            f"{path}: a file is named by its documents' language, such as ja{SUFFIX}; {fault}"
        ) from fault


def _collection(file: Traversable, name: str, language: str, description: str, of_user: bool = False) -> DemoPart:
    def present(runtime: Runtime) -> bool:
        try:
            return runtime.collections.get(name).documents > 0
        except NotFound:
            return False

    def check(runtime: Runtime, file: Traversable, before: Loaded) -> None:
        read_ids(file, runtime)
        if of_user and not before.ids and present(runtime):
            raise Conflict(
                f"{file}: there is a collection {name} already, which was not made of such a file; rename it"
            )

    def load(runtime: Runtime, file: Traversable, before: Loaded) -> Loaded:
        try:
            runtime.collections.get(name)
        except NotFound:
            runtime.collections.create(name, language, description)
        ids = read_ids(file, runtime)
        changed = _changed_since(runtime, name, before)
        if ids.keys() - changed:
            skipped = {line for id, line in ids.items() if id in changed}
            done = runtime.collections.import_documents(name, _read(file, runtime, skipped))
            if done.rejected:
                raise InvalidRequest(f"{file}, line {done.rejected[0].line}: {done.rejected[0].reason}")
        for id in set(before.ids) - ids.keys() - changed:
            with suppress(NotFound):
                runtime.collections.delete_document(name, id)
        return Loaded("", sorted(ids), runtime.collections.get(name).generation, sorted(changed))

    return DemoPart(name, file, present, check, load)


def read_ids(file: Traversable, runtime: Runtime) -> dict[str, int]:
    """The ids of the documents in a file of NDJSON, with their lines.

    Raises:
        InvalidRequest: it cannot be read, or a line is no document or has the id of another; the message names both.
    """
    limits = runtime.settings
    ids: dict[str, int] = {}
    for line in _lines(file, runtime):
        try:
            if line.content is None:
                raise LineRejected(f"is longer than {limits.uploads.ndjson_line_bytes} bytes")
            id = parse_document(line.content, limits.requests.body_depth).id
        except LineRejected as fault:
            raise InvalidRequest(f"{file}, line {line.line_number}: {fault}") from fault
        if id in ids:
            raise InvalidRequest(f"{file}, line {line.line_number}: id: line {ids[id]} has {id!r} as well")
        ids[id] = line.line_number
    if not ids:
        raise InvalidRequest(f"{file}: holds no documents")
    return ids


def _lines(file: Traversable, runtime: Runtime) -> Iterator[Line]:
    head, parts = peek(read_chunks(file))
    if (form := other_form(head)) is not None:
        raise InvalidRequest(f"{file}, line 1: is {form}; write one JSON object a line")
    yield from lines(parts, runtime.settings.uploads.ndjson_line_bytes)


def _read(file: Traversable, runtime: Runtime, skipped: set[int]) -> Iterator[bytes]:
    """The lines of a file; those that are skipped are empty, so that the others have their numbers."""
    last = 0
    for line in _lines(file, runtime):
        yield b"\n" * (line.line_number - last - 1)
        yield (b"" if line.line_number in skipped else line.content or b"") + b"\n"
        last = line.line_number


def read_chunks(file: Traversable) -> Iterator[bytes]:
    """
    Raises:
        InvalidRequest: the file cannot be read.
    """
    try:
        with file.open("rb") as stream:
            while chunk := stream.read(_PART_BYTES):
                yield chunk
    except OSError as fault:
        raise InvalidRequest(f"{file}: cannot be read: {fault.strerror}") from fault


def _changed_since(runtime: Runtime, name: str, before: Loaded) -> set[str]:
    """Ids of the last load's documents that somebody has changed since, and of those that were changed before it.

    Where the load noted no generation, it is the least of theirs: earlier versions stored all of them at once.
    """
    ids, changed = set(before.ids), set(before.changed)
    generations: dict[str, int] = {}
    cursor: str | None = None
    while ids or changed:
        page = runtime.collections.list_documents(name, _PAGE, cursor, texts=False)
        generations |= {document.id: document.generation for document in page.documents}
        cursor = page.next
        if cursor is None:
            break
    there = ids & generations.keys()
    loaded = min((generations[id] for id in there), default=0) if before.generation is None else before.generation
    return {id for id in there if generations[id] > loaded} | (changed & generations.keys())


def _table(file: Traversable, name: str, target: str, kind: Kind = "statistical", activate: bool = True) -> DemoPart:
    def present(runtime: Runtime) -> bool:
        try:
            return bool(runtime.tables.get(name).versions)
        except NotFound:
            return False

    def check(runtime: Runtime, file: Traversable, before: Loaded) -> None:
        return None

    def load(runtime: Runtime, file: Traversable, before: Loaded) -> Loaded:
        done = runtime.tables.upload(Upload(name, SOURCE, target, kind=kind, activate=activate), read_chunks(file))
        if done.rejected:
            first = done.rejected[0]
            raise ServiceError(f"demo table {name}, line {first.line}: {first.reason}")
        return NOTHING

    return DemoPart(name, file, present, check, load)
