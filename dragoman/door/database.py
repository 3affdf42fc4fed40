"""The face of the door: collections, tables, search and reading, over a folder or a service alike."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeVar, Unpack

from dragoman.door import calls
from dragoman.door.answers.results import Answers, Judgement, Ranked, SearchResults, Tag, TranslationCheck, Translations
from dragoman.door.calls import Call, CollectionSearchOptions, RankOptions, ReadOptions, SearchOptions
from dragoman.door.files import Documents, Entries, document_format, document_lines, table_file
from dragoman.door.progress import show_progress
from dragoman.door.records import (
    CollectionInfo,
    Document,
    Imported,
    PairTranslations,
    ReadDocument,
    Statistics,
    Suggested,
    TableInfo,
    Term,
    Uploaded,
)
from dragoman.engine.core.errors import Conflict, NotFound, Unavailable
from dragoman.files.atomic import atomic_file

T = TypeVar("T")

_AT_ONCE = 4
"""Queries of one call that are asked at a time: models compute those that come together in one batch."""
_POLL_SECONDS = 0.2
_STALLED_SECONDS = 60.0


class Transport(Protocol):
    """Answers calls."""

    def send(self, call: Call[T]) -> T:
        """The answer to a call."""

    def close(self) -> None:
        """Release what it holds."""


class Database:
    """Collections of documents in any languages, tables between languages, and models that read them.

    A context manager. Usable from many threads. All methods raise ``dragoman.Error``, with the HTTP ``status``.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.tables = Tables(self)
        """The translation tables."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Commit and close everything, or end the connection."""
        self._transport.close()

    def send(self, call: Call[T]) -> T:
        """The answer to a call of :mod:`dragoman.door.calls`."""
        return self._transport.send(call)

    def collection(self, name: str, language: str | None = None, **options: Any) -> Collection:
        """The collection of this name; made now, in this language (ISO 639-1), if there is none.

        ``options`` are those of a new one: ``description``, ``late_interaction``, ``entities``, ``shards``.

        Raises:
            NotFound: there is none, and no ``language`` is given.
            Conflict: it is in another language.
        """
        try:
            info = self.send(calls.get_collection(name))
        except NotFound:
            if language is None:
                raise
            self.send(calls.create_collection(name, language, options))
        else:
            check_language_of(info, language)
        return Collection(self, name)

    def collections(self) -> list[CollectionInfo]:
        """All collections, by name."""
        return self.send(calls.collections())

    def aliases(self) -> dict[str, str]:
        """The names of collections by their aliases, which may stand wherever a collection is named."""
        return self.send(calls.aliases())

    def set_alias(self, alias: str, collection: str) -> None:
        """Let an alias stand for a collection from now on, also where it stood for another."""
        self.send(calls.set_alias(alias, collection))

    def delete_alias(self, alias: str) -> None:
        """Delete an alias; its collection stays."""
        self.send(calls.delete_alias(alias))

    def search(self, query: str, **options: Unpack[SearchOptions]) -> SearchResults:
        """The documents that a query in any language finds, best first, with the evidence for each.

        >>> import dragoman
        >>> with dragoman.open(embed="on_demand") as db:
        ...     db.collection("news", language="de").add([{"id": "1", "text": "Die Supraleitung bei Raumtemperatur."}])
        ...     db.tables.add("mine", {"superconductivity": "Supraleitung"}, source="en", target="de").entries
        ...     [(hit.id, hit.highlights[0].table) for hit in db.search("superconductivity")]
        Imported(accepted=1, replaced=0, rejected=[], generation=1)
        1
        [('1', 'mine')]
        """
        return self.send(calls.search(query, options))

    def search_many(
        self, queries: Sequence[str], *, progress: bool | None = None, **options: Unpack[SearchOptions]
    ) -> list[SearchResults]:
        """The results of many queries, in their order; several are asked at a time."""
        texts = calls.collect_texts(queries, "queries")
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            results = pool.map(lambda query: self.search(query, **options), texts)
            return list(show_progress(results, "searching", progress, len(texts)))

    def ask(self, question: str, **options: Any) -> Answers:
        """The answers of a question, by parts of a ``context`` or of documents; ``options`` as in ``POST /v1/qa``."""
        return self.send(calls.ask(question, options))

    def judge(self, statement: str, **options: Any) -> Judgement:
        """Whether texts say a statement, deny it or neither; ``options`` as in ``POST /v1/qa``."""
        return self.send(calls.judge(statement, options))

    def read(self, collection: str, id: str, reader_language: str, **options: Unpack[ReadOptions]) -> ReadDocument:
        """A whole document with all matches of a ``query``, sentences, and glosses in the reader's language.

        ``options``: ``query``, ``query_language``, ``tables``, as in ``POST /v1/read``.
        """
        return self.send(calls.read_document(collection, id, reader_language, options))

    def lookup(self, term: str, source: str, target: str) -> PairTranslations:
        """What every table between two languages has for a term of ``source``, active or not; active ones first."""
        return self.send(calls.lookup(term, source, target))

    def suggest(
        self, typed: str, *, language: str | None = None, collections: Sequence[str] | None = None
    ) -> Suggested:
        """At most ten completions of what is typed, by titles and terms of tables, and other spellings of its words.

        ``language`` is by default the readers' languages; ``collections`` are all of them.
        """
        return self.send(calls.suggest(typed, language, collections))

    def rank(
        self, query: str, documents: Sequence[str], top_k: int | None = None, **options: Unpack[RankOptions]
    ) -> list[Ranked]:
        """Texts in any languages, the best for the query first, by the active tables.

        ``options``: ``query_language``, ``document_language``, ``reader_languages``, ``tables``.
        """
        return self.send(calls.rank(query, documents, top_k, options))

    def translate(self, texts: str | Sequence[str], source: str, target: str = "en") -> Translations:
        """Texts translated sentence by sentence; the languages are ISO 639-1 codes."""
        return self.send(calls.translate([texts] if isinstance(texts, str) else texts, source, target))

    def check_translation(self, text: str, translation: str, source: str, target: str = "en") -> TranslationCheck:
        """What a check says of a translation, whoever made it; each sentence is ``ok``, ``draft`` or ``failed``."""
        return self.send(calls.check_translation(text, translation, source, target))

    def tag(self, texts: Sequence[str], task: Literal["ner", "pos"] = "ner") -> list[list[Tag]]:
        """The names, or the parts of speech, in each text."""
        return self.send(calls.tag(texts, task))


class Collection:
    """A collection of documents."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self.name = name

    @property
    def info(self) -> CollectionInfo:
        """Its language, how many documents it has, and the state of its index and embeddings, as they are now."""
        return self._database.send(calls.get_collection(self.name))

    def __len__(self) -> int:
        return self.info.documents

    def __repr__(self) -> str:
        return f"Collection({self.name!r})"

    def __iter__(self) -> Iterator[Document]:
        """All documents, in the order in which they were first stored."""
        return self.documents()

    def documents(self, filter: Mapping[str, Any] | None = None) -> Iterator[Document]:
        """The documents that a filter over their metadata leaves, in the order in which they were first stored."""
        cursor: str | None = None
        while True:
            page = self._database.send(calls.list_documents(self.name, cursor, filter=filter))
            yield from page.documents
            if (cursor := page.next) is None:
                return

    def add(
        self,
        documents: Documents,
        *,
        format: str | None = None,
        map: str | None = None,
        progress: bool | None = None,
        if_match: int | None = None,
    ) -> Imported:
        """Add documents, or replace those with the same id. When it returns, they are searchable and durable.

        A document has ``id`` and ``text``, and may have ``title``, ``language`` and ``metadata``. One that is replaced
        keeps its language and metadata where they are left out. ``rejected`` of the result has those that were not
        taken. Where it is interrupted, some of those before are kept, each whole. A file may be NDJSON, a JSON array,
        CSV, TSV, Parquet or TREC, plain or gzip, by its name or ``format``; ``map`` says which fields are which, as in
        ``?map=``.

        Raises:
            PreconditionFailed: the collection's generation is not ``if_match``.
        """
        lines = show_progress(document_lines(documents), f"adding to {self.name}", progress)
        format = format or document_format(documents)
        return self._database.send(calls.add_documents(self.name, lines, if_match, format=format, map=map))

    def get(self, id: str) -> Document:
        """The document with this id."""
        return self._database.send(calls.get_document(self.name, id))

    def export(self, path: str | Path, filter: Mapping[str, Any] | None = None) -> int:
        """Write all documents that a filter leaves to an NDJSON file, which :meth:`add` takes; returns how many.

        The file is there whole or not at all.
        """
        count = 0
        with atomic_file(Path(path)) as unfinished, unfinished.open("wb") as stream:
            for part in self._database.send(calls.export_documents(self.name, filter)):
                stream.write(part)
                count += part.count(b"\n")
        return count

    def update(self, id: str, *, if_match: int | None = None, **changes: Any) -> Document:
        """Change ``title``, ``text``, ``language`` or ``metadata`` of a document; what is left out stays.

        Metadata is merged with what is there, and None in place of a value deletes its name.

        Raises:
            PreconditionFailed: the document's generation is not ``if_match``.
        """
        return self._database.send(calls.change_document(self.name, id, changes, if_match))

    def delete(self, id: str, *, if_match: int | None = None) -> None:
        """Delete the document with this id; ``if_match`` as for :meth:`update`."""
        self._database.send(calls.delete_document(self.name, id, if_match))

    def delete_documents(self, filter: Mapping[str, Any], *, dry_run: bool = False, if_match: int | None = None) -> int:
        """Delete all documents that a filter leaves, or none; returns how many. ``dry_run`` counts them alone.

        ``if_match`` as for :meth:`add`.
        """
        return self._database.send(calls.delete_documents(self.name, filter, dry_run, if_match))

    def search(self, query: str, **options: Unpack[CollectionSearchOptions]) -> SearchResults:
        """As :meth:`Database.search`, in this collection alone."""
        return self._database.send(calls.search_in(self.name, query, options))

    def read(self, id: str, reader_language: str, **options: Unpack[ReadOptions]) -> ReadDocument:
        """As :meth:`Database.read`, of a document of this collection."""
        return self._database.read(self.name, id, reader_language, **options)

    def wait(self, seconds: float | None = None, *, progress: bool | None = None) -> CollectionInfo:
        """Wait until every document has its embedding, so that searches are ``hybrid``; at once where it gets none.

        Raises:
            Unavailable: it takes longer than ``seconds``, or for a minute no document got any; the log says why.
        """
        until = None if seconds is None else time.monotonic() + seconds
        for _ in show_progress(self._steps(until), f"embedding {self.name}", progress, len(self)):
            pass
        return self.info

    def _steps(self, until: float | None) -> Iterator[None]:
        embedded, since = 0, time.monotonic()
        while (state := self.info.embeddings) is not None and state["state"] == "building":
            now, more = time.monotonic(), state["embedded"] - embedded
            if (until is not None and now >= until) or (not more and now - since > _STALLED_SECONDS):
                raise Unavailable(f"{self.name}: {state['embedded']} of {state['total']} documents have embeddings")
            yield from (None for _ in range(more))
            embedded, since = state["embedded"], now if more else since
            time.sleep(_POLL_SECONDS)

    def change(self, *, if_match: int | None = None, **changes: Any) -> CollectionInfo:
        """Change the collection; ``changes`` as in ``PATCH /v1/collections/{name}``.

        They are ``name``, ``description``, ``entities`` and ``shards``.
        """
        info = self._database.send(calls.change_collection(self.name, changes, if_match))
        if "name" in changes:
            self.name = info.name
        return info

    def truncate(self, *, if_match: int | None = None) -> CollectionInfo:
        """Delete all documents; the collection stays."""
        return self._database.send(calls.truncate_collection(self.name, if_match))

    def stats(self) -> Statistics:
        """What it holds: documents by language, fields of their metadata, and how many bytes it takes."""
        return self._database.send(calls.get_statistics(self.name))

    def drop(self, *, if_match: int | None = None) -> None:
        """Delete the collection with all its documents; ``if_match`` as for :meth:`add`."""
        self._database.send(calls.delete_collection(self.name, if_match))


class Tables:
    """The translation tables of a database. One is a mapping from terms of a language to terms of another."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        name: str,
        entries: Entries,
        *,
        source: str,
        target: str,
        kind: Literal["statistical", "glossary"] | None = None,
        activate: bool = True,
        **options: Any,
    ) -> Uploaded:
        """Add entries as a new version of a table, which searches use at once unless ``activate`` is False.

        They are a glossary, unless ``kind`` or a :class:`~dragoman.Table` says otherwise. ``options`` are those of
        ``PUT /v1/tables/{name}``: ``weight``, ``dry_run``, and of files ``format`` and others.
        """
        file, stated = table_file(entries, source, target)
        return self._database.send(calls.add_table(name, file, upload_fields(stated, kind, activate, options)))

    def __iter__(self) -> Iterator[TableInfo]:
        tables: list[TableInfo] = self._database.send(calls.tables())
        return iter(tables)

    def get(self, name: str) -> TableInfo:
        """A table with its versions."""
        return self._database.send(calls.get_table(name))

    def activate(self, name: str, version: int) -> TableInfo:
        """Make a version the one that searches use; also the way back to an earlier one."""
        return self._database.send(calls.activate_table(name, version))

    def deactivate(self, name: str) -> TableInfo:
        """Take a table out of use."""
        return self._database.send(calls.deactivate_table(name))

    def delete(self, name: str, version: int) -> None:
        """Delete a version that is not active."""
        self._database.send(calls.delete_table_version(name, version))

    def look_up(self, name: str, term: str, version: int | None = None) -> Term:
        """The translations of a term in a version; by default in the active one."""
        return self._database.send(calls.look_up(name, term, version))


def upload_fields(
    stated: Mapping[str, Any], kind: str | None, activate: bool, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters of an upload: what the entries state, and what the caller says."""
    chosen = {"kind": kind or stated.get("kind", "glossary"), "activate": activate}
    return {**stated, **chosen, **options}


def check_language_of(info: CollectionInfo, language: str | None) -> None:
    """
    Raises:
        Conflict: the collection is in another language than the wanted one.
    """
    if language is not None and language != info.language:
        raise Conflict(f"the collection {info.name!r} is in {info.language!r}, not in {language!r}")
