"""One import of documents: lines into batches, each batch into the database and then into the index."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from dragoman.engine.core.errors import InvalidRequest, NotFound, ServiceError, classify
from dragoman.engine.core.json import memory_of
from dragoman.engine.core.limits import BATCH_BYTES, BATCH_LINES
from dragoman.engine.indexing.feed import indexed_text
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
from dragoman.files.streams import StreamFault, unpack
from dragoman.indexes.attributes.values import encode_attributes
from dragoman.indexes.documents import IndexedDocument, IndexRow
from dragoman.lexicon.text.beginnings import title_key
from dragoman.store.database import Store
from dragoman.store.documents.fingerprint import fingerprint
from dragoman.store.documents.formats.mapping import FieldMapping
from dragoman.store.documents.formats.reader import TABLES, WHOLE, read_rows
from dragoman.store.documents.formats.rows import Row, RowLimits
from dragoman.store.documents.info import Generations, check_generation
from dragoman.store.documents.line import DocumentLine, parse_document
from dragoman.store.line import LineRejected
from dragoman.store.models import Collection, Document


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that is no document; ``id`` is the document's where the line has a usable one."""

    line: int
    id: str | None
    reason: str


@dataclass(slots=True)
class Imported:
    """What an import did: ``accepted`` counts all documents stored, ``replaced`` those among them whose id
    was there before, in the collection or earlier in the same body.
    """

    accepted: int = 0
    replaced: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    generation: int = 0


@dataclass(frozen=True, slots=True)
class ImportForm:
    """How a body is written: its format, whether it has to be gzip, and which of its fields are which."""

    format: str = "ndjson"
    gzip: bool = False
    mapping: FieldMapping = field(default_factory=FieldMapping)
    fingerprint_field: str | None = None
    """What of the metadata gets a mark that near copies of a text share."""
    encoding: str | None = None
    """Of its text; None: UTF-8."""


@dataclass(slots=True)
class _Batch:
    documents: list[DocumentLine] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    size: int = 0
    last_line: int = 0


_LISTED = 5


def _list_rejected(rejected: Sequence[Rejected]) -> str:
    lines = "; ".join(f"line {entry.line}: {entry.reason}" for entry in rejected[:_LISTED])
    return f"{lines}; and {len(rejected) - _LISTED} more" if len(rejected) > _LISTED else lines


class _LanguageChanged(Exception):
    """The language of a document was changed after it had been analysed."""


def _join_by_id(documents: Iterable[DocumentLine]) -> dict[str, DocumentLine]:
    """The last document of each id, with the language and the metadata that an earlier one had and it leaves out."""
    joined: dict[str, DocumentLine] = {}
    for document in documents:
        if (earlier := joined.get(document.id)) is not None:
            inherited = {
                name: getattr(earlier, name) for name in ("language", "metadata") if getattr(document, name) is None
            }
            document = document.model_copy(update=inherited)
        joined[document.id] = document
    return joined


class DocumentImport:
    """Imports one body into one collection."""

    def __init__(
        self,
        store: Store,
        index: CollectionIndex,
        collection: Collection,
        settings: Settings,
        metrics: Metrics,
        expected: Generations = None,
    ) -> None:
        """With ``expected``, nothing is stored unless the collection is of one of these generations until then."""
        self._store = store
        self._index = index
        self._collection = collection
        self._settings = settings
        self._metrics = metrics
        self._expected = expected
        self._fingerprint_field: str | None = None
        self._done = Imported(generation=collection.generation)
        self._stored_line = 0
        self._reached = 0
        self._whole = False

    def run(self, parts: Iterator[bytes], form: ImportForm) -> Imported:
        """Import all documents of the body, which may be packed; a JSON array whole or not at all.

        Raises:
            InvalidRequest: every line is rejected; the message tells the first of them.
            PreconditionFailed: the collection is of none of the expected generations.
            ServiceError: the body cannot be read to its end, or something cannot be stored.
        """
        self._fingerprint_field = form.fingerprint_field
        check_generation(self._expected, self._collection.generation, "collection")
        with self._index.writing():
            pass  # refused before anything is read where the index cannot take documents
        where = ""
        try:
            try:
                self._import(parts, form)
            except Exception:
                where = "" if form.format == WHOLE else f"line {self._reached + 1}: "
                raise
            finally:
                self._publish()
        except Exception as fault:
            error = classify(fault)
            if error is None:
                raise
            raise type(error)(f"{where}{error}; {self._describe_stored()}") from fault
        if not self._reached:
            raise InvalidRequest("the body holds no documents")
        self._done.rejected.sort(key=lambda rejected: rejected.line)
        self._metrics.documents("rejected", len(self._done.rejected))
        if not self._done.accepted and self._done.rejected:
            raise InvalidRequest(f"no line is a document, nothing was stored: {_list_rejected(self._done.rejected)}")
        return self._done

    def _publish(self) -> None:
        if self._done.accepted:
            self._index.refresh()

    def _import(self, parts: Iterator[bytes], form: ImportForm) -> None:
        limits = self._settings.uploads
        plain = unpack(parts, limit=limits.decompressed_bytes, ratio=limits.decompression_ratio, gzip=form.gzip)
        self._whole = whole = form.format == WHOLE
        batch = _Batch()
        try:
            for row in read_rows(plain, form.format, form.mapping, self._row_limits(), form.encoding):
                self._take(row, batch, form)
                self._reached = batch.last_line = row.line
                if not whole and (len(batch.documents) >= BATCH_LINES or batch.size >= BATCH_BYTES):
                    full, batch = batch, _Batch(last_line=row.line)
                    self._save(full)
        except (StreamFault, ServiceError):
            if not whole:
                self._save(batch)  # the lines before the fault are whole
            raise
        self._refuse_part()
        self._save(batch)

    def _row_limits(self) -> RowLimits:
        uploads, requests = self._settings.uploads, self._settings.requests
        return RowLimits(
            uploads.ndjson_line_bytes,
            requests.body_bytes,
            requests.body_values,
            requests.body_depth,
            uploads.decompressed_bytes,
            uploads.decompression_ratio,
            self._settings.store.data_dir,
        )

    def _refuse_part(self) -> None:
        """
        Raises:
            InvalidRequest: some documents of a body are rejected that is stored whole or not at all.
        """
        if self._whole and self._done.rejected:
            raise InvalidRequest(f"an array is imported whole: {_list_rejected(self._done.rejected)}")

    def _take(self, row: Row, batch: _Batch, form: ImportForm) -> None:
        try:
            if row.content is None:
                raise LineRejected(row.reason)
            depth = self._settings.requests.body_depth
            document = parse_document(row.content, depth, form.mapping, form.format in TABLES)
        except LineRejected as fault:
            self._reject(Rejected(row.line, fault.id, str(fault)))
            return
        batch.documents.append(document)
        batch.lines.append(row.line)
        batch.size += memory_of(row.content)

    def _reject(self, rejected: Rejected) -> None:
        if len(self._done.rejected) >= self._settings.uploads.rejected_lines:
            raise InvalidRequest(
                f"more than {self._settings.uploads.rejected_lines} lines rejected, this one because: {rejected.reason}"
            )
        self._done.rejected.append(rejected)

    def _save(self, batch: _Batch) -> None:
        if not batch.documents:
            return
        while not self._try_to_save(batch):
            pass

    def _try_to_save(self, batch: _Batch) -> bool:
        """Analyse and store a batch; False if the language of a document in it was changed between the two."""
        started = time.perf_counter()
        rows, languages = self._analyse(batch)
        analysed = time.perf_counter()
        if not batch.documents:
            return True
        with self._index.writing():
            begun = time.perf_counter()
            try:
                with self._store.write() as session:
                    generation, attributes, replaced = self._write(session, batch.documents, languages)
            except _LanguageChanged:
                return False
            stored = time.perf_counter()
            self._expected = None  # from now on it is this import that changes the collection
            self._done.accepted += len(batch.documents)
            self._done.replaced += replaced
            self._done.generation = generation
            self._stored_line = batch.last_line
            self._index.apply(
                [rows[id]._replace(key=key, attributes=line) for id, (key, line) in attributes.items()], generation
            )
        self._metrics.stage("store", stored - begun)
        self._metrics.stage("index", time.perf_counter() - stored + analysed - started)
        self._metrics.documents("stored", len(batch.documents))
        return True

    def _analyse(self, batch: _Batch) -> tuple[dict[str, IndexRow], dict[str, str]]:
        """The analysed documents of a batch and their languages, by their ids.

        A document that cannot be analysed is rejected.
        """
        while True:
            last = {document.id: position for position, document in enumerate(batch.documents)}
            languages = self._languages(batch.documents)
            rows, faults = self._index.analyse(
                [
                    IndexedDocument(position, languages[document.id], indexed_text(document.title, document.text))
                    for position, document in ((position, batch.documents[position]) for position in last.values())
                ]
            )
            for position, reason in faults.items():
                self._reject(Rejected(batch.lines[position], batch.documents[position].id, reason))
            self._refuse_part()
            if not faults:
                return {batch.documents[row.key].id: row for row in rows}, languages
            usable = [position for position in range(len(batch.documents)) if position not in faults]
            batch.documents, batch.lines = [batch.documents[n] for n in usable], [batch.lines[n] for n in usable]
            if not batch.documents:
                return {}, {}

    def _languages(self, documents: list[DocumentLine]) -> dict[str, str]:
        """The language of each document by its id: as sent, or as it has been so far, or else the collection's."""
        latest = _join_by_id(documents)
        left_out = [id for id, document in latest.items() if document.language is None]
        present: dict[str, str] = {}
        if left_out:
            with self._store.read() as session:
                stored = select(Document.id, Document.language).where(
                    Document.collection_id == self._collection.id,
                    Document.id.in_(left_out),
                    Document.deleted.is_(False),
                )
                present = {row.id: row.language for row in session.execute(stored)}
        return {id: document.language or present.get(id, self._collection.language) for id, document in latest.items()}

    def _write(
        self, session: Session, documents: list[DocumentLine], languages: dict[str, str]
    ) -> tuple[int, dict[str, tuple[int, str]], int]:
        """Store a batch as the collection's next generation; of several with one id the last counts.

        Returns the generation, the key and the attributes of each document by its id, and how many were replaced.

        Raises:
            _LanguageChanged: a document that is sent without a language has another one than it was analysed in.
        """
        collection = session.get(Collection, self._collection.id, with_for_update=True)
        if collection is None:
            raise NotFound("the collection has been deleted meanwhile")
        check_generation(self._expected, collection.generation, "collection")
        collection.generation += 1
        latest = _join_by_id(documents)
        present: dict[str, tuple[int, bool]] = {}
        stored_languages = dict.fromkeys(latest, collection.language)
        metadata = {id: document.metadata for id, document in latest.items()}
        for id, key, language, deleted, stored in session.execute(
            select(Document.id, Document.key, Document.language, Document.deleted, Document.metadata_).where(
                Document.collection_id == collection.id, Document.id.in_(list(latest))
            )
        ):
            present[id] = key, deleted
            if not deleted:
                stored_languages[id] = language
                metadata[id] = stored if metadata[id] is None else metadata[id]
        if any(document.language is None and languages[id] != stored_languages[id] for id, document in latest.items()):
            raise _LanguageChanged
        rows = {id: self._row(collection, document, languages[id]) for id, document in latest.items()}
        if (marked := self._fingerprint_field) is not None:
            for id, document in latest.items():
                metadata[id] = {**(metadata[id] or {}), marked: fingerprint(document.text)}
                rows[id]["metadata_"] = metadata[id]
        keys = {id: key for id, (key, _) in present.items()}
        for id, (_, deleted) in present.items():
            if latest[id].metadata is None and not deleted and self._fingerprint_field is None:
                del rows[id]["metadata_"]  # it stays as it is
        if updated := [{"key": keys[id], **row} for id, row in rows.items() if id in keys]:
            session.execute(update(Document), updated)
        if added := [row for id, row in rows.items() if id not in keys]:
            inserted = session.execute(insert(Document).returning(Document.id, Document.key), added)
            for id, key in inserted:
                keys[id] = key
        replaced = sum(not deleted for _, deleted in present.values())
        collection.document_count += len(latest) - replaced
        attributes = {
            id: (keys[id], encode_attributes(id, languages[id], row["title"], metadata[id])) for id, row in rows.items()
        }
        return collection.generation, attributes, replaced + len(documents) - len(latest)

    def _row(self, collection: Collection, document: DocumentLine, language: str) -> dict[str, Any]:
        return {
            "collection_id": collection.id,
            "id": document.id,
            "language": language,
            "title": document.title,
            "title_key": title_key(document.title, language),
            "text": document.text,
            "metadata_": document.metadata or None,
            "generation": collection.generation,
            "deleted": False,
        }

    def _describe_stored(self) -> str:
        if not self._done.accepted:
            return "nothing was stored"
        return (
            f"stored and kept: the {self._done.accepted} documents up to line {self._stored_line} "
            f"({self._done.replaced} replaced, generation {self._done.generation})"
        )
