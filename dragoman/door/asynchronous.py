"""The face of the door for an event loop, over a service."""

from __future__ import annotations

from asyncio import Semaphore, gather
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeVar, Unpack

from dragoman.door import calls
from dragoman.door.answers.results import Answers, Judgement, Ranked, SearchResults, Tag, TranslationCheck, Translations
from dragoman.door.calls import Call, CollectionSearchOptions, RankOptions, ReadOptions, SearchOptions
from dragoman.door.database import check_language_of, upload_fields
from dragoman.door.files import Documents, Entries, document_format, document_lines, table_file
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
from dragoman.door.remote import AsyncRemote
from dragoman.engine.core.errors import NotFound

T = TypeVar("T")

_AT_ONCE = 4


class AsyncDatabase:
    """As :class:`~dragoman.door.database.Database`; an asynchronous context manager."""

    def __init__(self, transport: AsyncRemote) -> None:
        self._transport = transport
        self.tables = AsyncTables(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the connection."""
        await self._transport.close()

    async def send(self, call: Call[T]) -> T:
        """The answer to a call of :mod:`dragoman.door.calls`."""
        return await self._transport.send(call)

    async def collection(self, name: str, language: str | None = None, **options: Any) -> AsyncCollection:
        """The collection of this name; made now, in this language, if there is none."""
        try:
            info = await self.send(calls.get_collection(name))
        except NotFound:
            if language is None:
                raise
            await self.send(calls.create_collection(name, language, options))
        else:
            check_language_of(info, language)
        return AsyncCollection(self, name)

    async def collections(self) -> list[CollectionInfo]:
        """All collections, by name."""
        return await self.send(calls.collections())

    async def aliases(self) -> dict[str, str]:
        """The names of collections by their aliases, which may stand wherever a collection is named."""
        return await self.send(calls.aliases())

    async def set_alias(self, alias: str, collection: str) -> None:
        """Let an alias stand for a collection from now on, also where it stood for another."""
        await self.send(calls.set_alias(alias, collection))

    async def delete_alias(self, alias: str) -> None:
        """Delete an alias; its collection stays."""
        await self.send(calls.delete_alias(alias))

    async def search(self, query: str, **options: Unpack[SearchOptions]) -> SearchResults:
        """The documents that a query finds, best first, with the evidence for each."""
        return await self.send(calls.search(query, options))

    async def search_many(self, queries: Sequence[str], **options: Unpack[SearchOptions]) -> list[SearchResults]:
        """The results of many queries, in their order; several are asked at a time."""
        turns = Semaphore(_AT_ONCE)

        async def in_turn(query: str) -> SearchResults:
            async with turns:
                return await self.search(query, **options)

        return list(await gather(*(in_turn(query) for query in calls.collect_texts(queries, "queries"))))

    async def ask(self, question: str, **options: Any) -> Answers:
        """The answers of a question, by parts of a ``context`` or of documents."""
        return await self.send(calls.ask(question, options))

    async def judge(self, statement: str, **options: Any) -> Judgement:
        """Whether a ``context``, or documents, say a statement, deny it or neither."""
        return await self.send(calls.judge(statement, options))

    async def read(
        self, collection: str, id: str, reader_language: str, **options: Unpack[ReadOptions]
    ) -> ReadDocument:
        """A whole document with all matches of a ``query``, sentences, and glosses in the reader's language.

        ``options``: ``query``, ``query_language``, ``tables``, as in ``POST /v1/read``.
        """
        return await self.send(calls.read_document(collection, id, reader_language, options))

    async def lookup(self, term: str, source: str, target: str) -> PairTranslations:
        """What every table between two languages has for a term of ``source``, active or not; active ones first."""
        return await self.send(calls.lookup(term, source, target))

    async def suggest(
        self, typed: str, *, language: str | None = None, collections: Sequence[str] | None = None
    ) -> Suggested:
        """At most ten completions of what is typed, by titles and terms of tables, and other spellings of its words.

        ``language`` is by default the readers' languages; ``collections`` are all of them.
        """
        return await self.send(calls.suggest(typed, language, collections))

    async def rank(
        self, query: str, documents: Sequence[str], top_k: int | None = None, **options: Unpack[RankOptions]
    ) -> list[Ranked]:
        """Texts in any languages, the best for the query first, by the active tables."""
        return await self.send(calls.rank(query, documents, top_k, options))

    async def translate(self, texts: str | Sequence[str], source: str, target: str = "en") -> Translations:
        """Texts translated sentence by sentence."""
        return await self.send(calls.translate([texts] if isinstance(texts, str) else texts, source, target))

    async def check_translation(self, text: str, translation: str, source: str, target: str = "en") -> TranslationCheck:
        """What a check says of a translation, whoever made it; each sentence is ``ok``, ``draft`` or ``failed``."""
        return await self.send(calls.check_translation(text, translation, source, target))

    async def tag(self, texts: Sequence[str], task: Literal["ner", "pos"] = "ner") -> list[list[Tag]]:
        """The names, or the parts of speech, in each text."""
        return await self.send(calls.tag(texts, task))


class AsyncCollection:
    """A collection of documents."""

    def __init__(self, database: AsyncDatabase, name: str) -> None:
        self._database = database
        self.name = name

    async def info(self) -> CollectionInfo:
        """Its language, how many documents it has, and the state of its index and embeddings."""
        return await self._database.send(calls.get_collection(self.name))

    def __aiter__(self) -> AsyncIterator[Document]:
        """All documents, in the order in which they were first stored."""
        return self.documents()

    async def documents(self, filter: Mapping[str, Any] | None = None) -> AsyncIterator[Document]:
        """The documents that a filter over their metadata leaves, in the order in which they were first stored."""
        cursor: str | None = None
        while True:
            page = await self._database.send(calls.list_documents(self.name, cursor, filter=filter))
            for document in page.documents:
                yield document
            if (cursor := page.next) is None:
                return

    async def add(
        self,
        documents: Documents,
        *,
        format: str | None = None,
        map: str | None = None,
        if_match: int | None = None,
    ) -> Imported:
        """Add documents, or replace those with the same id."""
        lines, format = document_lines(documents), format or document_format(documents)
        return await self._database.send(calls.add_documents(self.name, lines, if_match, format=format, map=map))

    async def get(self, id: str) -> Document:
        """The document with this id."""
        return await self._database.send(calls.get_document(self.name, id))

    async def update(self, id: str, *, if_match: int | None = None, **changes: Any) -> Document:
        """As :meth:`Collection.update <dragoman.door.database.Collection.update>`."""
        return await self._database.send(calls.change_document(self.name, id, changes, if_match))

    async def delete(self, id: str, *, if_match: int | None = None) -> None:
        """Delete the document with this id."""
        await self._database.send(calls.delete_document(self.name, id, if_match))

    async def delete_documents(
        self, filter: Mapping[str, Any], *, dry_run: bool = False, if_match: int | None = None
    ) -> int:
        """As :meth:`Collection.delete_documents <dragoman.door.database.Collection.delete_documents>`."""
        return await self._database.send(calls.delete_documents(self.name, filter, dry_run, if_match))

    async def search(self, query: str, **options: Unpack[CollectionSearchOptions]) -> SearchResults:
        """As :meth:`AsyncDatabase.search`, in this collection alone."""
        return await self._database.send(calls.search_in(self.name, query, options))

    async def read(self, id: str, reader_language: str, **options: Unpack[ReadOptions]) -> ReadDocument:
        """As :meth:`AsyncDatabase.read`, of a document of this collection."""
        return await self._database.read(self.name, id, reader_language, **options)

    async def change(self, *, if_match: int | None = None, **changes: Any) -> CollectionInfo:
        """Change the collection; ``changes`` as in ``PATCH /v1/collections/{name}``.

        They are ``name``, ``description``, ``entities`` and ``shards``.
        """
        info = await self._database.send(calls.change_collection(self.name, changes, if_match))
        if "name" in changes:
            self.name = info.name
        return info

    async def truncate(self, *, if_match: int | None = None) -> CollectionInfo:
        """Delete all documents; the collection stays."""
        return await self._database.send(calls.truncate_collection(self.name, if_match))

    async def stats(self) -> Statistics:
        """What it holds: documents by language, fields of their metadata, and how many bytes it takes."""
        return await self._database.send(calls.get_statistics(self.name))

    async def drop(self, *, if_match: int | None = None) -> None:
        """Delete the collection with all its documents."""
        await self._database.send(calls.delete_collection(self.name, if_match))


class AsyncTables:
    """The translation tables of a database."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def add(
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
        """Add entries as a new version of a table, which searches use at once unless ``activate`` is False."""
        file, stated = table_file(entries, source, target)
        return await self._database.send(calls.add_table(name, file, upload_fields(stated, kind, activate, options)))

    async def all(self) -> list[TableInfo]:
        """All tables, by name."""
        return await self._database.send(calls.tables())

    async def get(self, name: str) -> TableInfo:
        """A table with its versions."""
        return await self._database.send(calls.get_table(name))

    async def activate(self, name: str, version: int) -> TableInfo:
        """Make a version the one that searches use."""
        return await self._database.send(calls.activate_table(name, version))

    async def deactivate(self, name: str) -> TableInfo:
        """Take a table out of use."""
        return await self._database.send(calls.deactivate_table(name))

    async def delete(self, name: str, version: int) -> None:
        """Delete a version that is not active."""
        await self._database.send(calls.delete_table_version(name, version))

    async def look_up(self, name: str, term: str, version: int | None = None) -> Term:
        """The translations of a term in a version; by default in the active one."""
        return await self._database.send(calls.look_up(name, term, version))
