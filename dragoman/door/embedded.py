"""The calls of the door in this process: a data directory with its database, indexes, tables and models, no server."""

from __future__ import annotations

import atexit
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from threading import Condition
from typing import Any, TypeVar
from uuid import uuid4

from pydantic import BaseModel, TypeAdapter, ValidationError

from dragoman.door.calls import Call, Name
from dragoman.door.fields import (
    EXPORT,
    IMPORT,
    LANGUAGE,
    LIST,
    OPTIONAL_VERSION,
    SUGGESTED,
    TERM,
    UPLOAD,
    dump,
    expected_generations,
    read_fields,
    read_version,
)
from dragoman.engine.core.answer import fields_of
from dragoman.engine.core.errors import ERRORS, Conflict, InvalidRequest, Unavailable, classify, from_status
from dragoman.engine.core.json import parse
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.models.queue.abandoned import finish_computing
from dragoman.engine.models.tagging import Tagging, check_texts, tagger_model, tagger_place
from dragoman.engine.query.readers import readers_of
from dragoman.engine.settings import Settings
from dragoman.engine.settings.settings import all_fields
from dragoman.indexes.java import jvm
from dragoman.service.collections.bodies import collection_body, document_body, import_body, page_body
from dragoman.service.collections.schemas import (
    AliasTarget,
    CollectionChange,
    Deletion,
    NewCollection,
    StatisticsBody,
)
from dragoman.service.qa.schemas import QaRequest
from dragoman.service.read.schemas import ReadRequest
from dragoman.service.rerank.response import answer_v1, check_scored
from dragoman.service.rerank.schemas import RerankV1
from dragoman.service.search.schemas import SearchRequest
from dragoman.service.suggest.parameters import split_names
from dragoman.service.tables.bodies import pair_body, patched_body, term_body, uploaded_body
from dragoman.service.tables.schemas import TablePatch, UploadParameters
from dragoman.service.tagging.schemas import TagRequest
from dragoman.service.translation.schemas import CheckRequest, TranslateRequest, as_answer
from dragoman.store.backup.backup import restore_backup, write_backup
from dragoman.store.documents.patch import DocumentPatch
from dragoman.store.library import Library
from dragoman.store.validation import check_parameters, describe

T = TypeVar("T")
Body = TypeVar("Body", bound=BaseModel)


class Embedded:
    """Answers calls from a data directory, which is this process's alone until it is closed. Usable from many threads.

    Raises:
        Conflict: another process has the folder open.
        ServiceError: Java or Lucene is not installed, or the folder cannot be used.
    """

    def __init__(self, settings: Settings, temporary: ExitStack | None = None, *, background: bool = True) -> None:
        """``temporary`` is closed at the end. Without ``background`` only embeddings that are asked for are made."""
        self._changed = Condition()
        self._under_way = 0
        self._closed = False
        self._background = background
        with ExitStack() as opened, _keep_mask():
            if temporary is not None:
                opened.enter_context(temporary)
            try:
                self._library = Library(settings)
            except Conflict as fault:
                raise Conflict(f"{fault}; dragoman.connect(URL) is the way to a service that has it open") from fault
            opened.callback(finish_computing)  # or the end of the program would stop a thread inside of torch
            opened.callback(self._library.close)
            self._library.start(serving=background)
            jvm.run(bool)  # Java ends with the interpreter, and what is registered after its start comes before that
            self._opened = opened.pop_all()
        atexit.register(self.close)  # or threads that compute would be stopped inside of the models
        self._answers: dict[Name, Callable[[Call[Any]], Any]] = {
            "search": self._search,
            "ask": self._ask,
            "read": self._read,
            "lookup": self._lookup,
            "suggest": self._suggest,
            "rank": self._rank,
            "translate": self._translate,
            "check_translation": self._check_translation,
            "tag": self._tag,
            "collections": self._collections,
            "create_collection": self._create_collection,
            "get_collection": lambda call: self._collection(call.place["name"]),
            "change_collection": self._change_collection,
            "truncate_collection": self._truncate_collection,
            "get_statistics": self._get_statistics,
            "aliases": lambda call: {"aliases": fields_of(self._library.collections.aliases.all())},
            "set_alias": self._set_alias,
            "delete_alias": lambda call: self._library.collections.aliases.delete(call.place["alias"]),
            "delete_collection": lambda call: self._library.collections.delete(
                call.place["name"], expected_generations(call)
            ),
            "add_documents": self._add_documents,
            "list_documents": self._list_documents,
            "export_documents": self._export_documents,
            "get_document": self._document,
            "change_document": self._change_document,
            "delete_document": self._delete_document,
            "delete_documents": self._delete_documents,
            "get_backup": lambda call: write_backup(self._library.store),
            "restore_backup": self._restore_backup,
            "tables": self._tables,
            "add_table": self._add_table,
            "get_table": lambda call: fields_of(self._library.tables.get(call.place["name"])),
            "patch_table": self._patch_table,
            "activate_table": self._activate_table,
            "deactivate_table": lambda call: fields_of(self._library.tables.deactivate(call.place["name"])),
            "delete_table_version": self._delete_table_version,
            "look_up": self._look_up,
            "report": lambda call: fields_of(
                getattr(self._library.reports, call.place["kind"])(int(call.fields["limit"]))
            ),
        }

    def send(self, call: Call[T]) -> T:
        """The answer to a call.

        Raises:
            ServiceError: as a service answers it; :class:`Unavailable` after the end.
        """
        with self._changed:
            if self._closed:
                raise Unavailable("the database is closed")
            self._under_way += 1
        try:
            return call.read(self._answers[call.name](call))
        except Exception as fault:
            error = classify(fault)
            if error is None or (error is fault and type(error) in ERRORS):
                raise
            if type(error) not in ERRORS:  # no answer of a service tells its kinds apart
                error = from_status(error.status, str(error))
            raise error from fault
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Wait for the calls under way, commit and close everything. Closing again does nothing."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.wait_for(lambda: not self._under_way)
        self._opened.close()
        atexit.unregister(self.close)

    def _search(self, call: Call[Any]) -> Any:
        request = self._body(SearchRequest, call)
        if request.method is None:
            self._open_embeddings(request.collections)
        return fields_of(self._library.search.search(request.as_query(), uuid4().hex))

    def _ask(self, call: Call[Any]) -> Any:
        return fields_of(self._library.qa.answer(self._body(QaRequest, call).as_query(), uuid4().hex))

    def _open_embeddings(self, collections: Sequence[str] | None) -> None:
        """Open what embeddings there are, which nothing else does without the work in the background."""
        if not self._background:
            keys = [info.key for info in self._library.collections.chosen(collections)]
            with suppress(Unavailable):  # then the default is a method without embeddings
                self._library.dense.open_present(keys)

    def _read(self, call: Call[Any]) -> Any:
        request = self._body(ReadRequest, call)
        if request.query is not None:
            self._open_embeddings([self._library.collections.get(request.collection).name])
        return fields_of(self._library.reading.read(request.as_query(), uuid4().hex))

    def _lookup(self, call: Call[Any]) -> Any:
        term, source, target = read_fields(
            (TERM, call.fields["term"], "query", "term"),
            *((LANGUAGE, call.fields[name], "query", name) for name in ("source", "target")),
        )
        return dump(pair_body(self._library.tables.browse.look_up_all(term, source, target)))

    def _suggest(self, call: Call[Any]) -> Any:
        fields = {**call.fields, "collections": [call.fields["collections"]] if "collections" in call.fields else None}
        typed, language, collections = read_fields(
            *((kind, fields.get(name), "query", name) for name, kind in SUGGESTED.items())
        )
        readers = self._library.settings.search.readers
        suggested = self._library.suggest.suggest(
            typed, uuid4().hex, language, split_names(collections), readers_of(None, readers)
        )
        return fields_of(suggested)

    def _rank(self, call: Call[Any]) -> Any:
        body = self._body(RerankV1, call)
        until = self._until()
        begun = self._library.rerank_requests.begin(body.as_query(), body.texts())
        scores = begun.pending.result(until)
        ranking = begun.ranking(scores, raw=bool(body.raw_scores))
        check_scored(ranking, len(scores.values))
        return dump(answer_v1(uuid4().hex, body, ranking))

    def _translate(self, call: Call[Any]) -> Any:
        body = self._body(TranslateRequest, call)
        translations, until = self._library.translations, self._until()
        translations.check_configured()
        translations.check(body.all)
        info = self._model("translator", until)
        info.check(body.source, body.target)
        underway = translations.begin(body.all, body.source, body.target)
        _wait([future for text in underway for future in text.futures if future is not None], until)
        translated, degraded = self._library.checked_translations.finish(underway, body.source, body.target)
        return as_answer(translated, underway, info, body, degraded)

    def _check_translation(self, call: Call[Any]) -> Any:
        body = self._body(CheckRequest, call)
        self._library.translations.check([body.text, body.translation])
        return fields_of(self._library.checking.check_text(body.text, body.translation, body.source, body.target))

    def _tag(self, call: Call[Any]) -> Any:
        body, until = self._body(TagRequest, call), self._until()
        tagger_place(self._library.settings, body.task)
        check_texts(body.texts, self._library.settings)
        self._model(tagger_model(body.task), until)
        underway = Tagging(self._library.models.worker, body.task, body.texts)
        _wait(underway.futures, until)
        return {"results": [[asdict(tag) for tag in tags] for tags in underway.results()]}

    def _until(self) -> float:
        return time.monotonic() + self._library.settings.worker.worker_seconds

    def _model(self, name: str, until: float) -> Any:
        info = self._library.models.description(name)
        if info is None:
            futures = self._library.models.load(name)
            _wait(futures, until)
            info = futures[0].result()
        return info

    def _collections(self, call: Call[Any]) -> Any:
        failed = self._library.collections.unindexed_counts()
        return {"collections": [self._dump_collection(info, failed) for info in self._library.collections.all()]}

    def _create_collection(self, call: Call[Any]) -> Any:
        new = self._body(NewCollection, call)
        collection = self._library.collections.create(
            new.name, new.language, new.description, new.late_interaction, new.entities, new.shards
        )
        return self._collection(collection.name)

    def _change_collection(self, call: Call[Any]) -> Any:
        change = self._body(CollectionChange, call)
        info = self._library.collections.change(call.place["name"], change.changes(), expected_generations(call))
        return self._collection(info.name)

    def _truncate_collection(self, call: Call[Any]) -> Any:
        info = self._library.collections.truncate(call.place["name"], expected_generations(call))
        return self._dump_collection(info, {})

    def _set_alias(self, call: Call[Any]) -> Any:
        target = self._body(AliasTarget, call)
        return fields_of(self._library.collections.aliases.put(call.place["alias"], target.collection))

    def _get_statistics(self, call: Call[Any]) -> Any:
        statistics = self._library.collections.statistics(call.place["name"])
        return dump(StatisticsBody.model_validate(statistics, from_attributes=True))

    def _collection(self, name: str) -> Any:
        info = self._library.collections.get(name)
        return self._dump_collection(info, self._library.collections.unindexed_counts(info.key))

    def _dump_collection(self, info: CollectionInfo, failed: Mapping[int, int]) -> Any:
        return dump(collection_body(info, failed.get(info.key, 0), self._library.dense, self._library.source))

    def _add_documents(self, call: Call[Any]) -> Any:
        (asked,) = read_fields((IMPORT, call.parameters(), "query"))
        imported = self._library.collections.import_documents(
            call.place["name"], iter(call.body or ()), asked.read_form("", False), expected_generations(call)
        )
        return dump(import_body(imported))

    def _document(self, call: Call[Any]) -> Any:
        name = call.place["name"]
        return dump(document_body(self._library.collections.document(name, call.place["id"])))

    def _list_documents(self, call: Call[Any]) -> Any:
        name = call.place["name"]
        (asked,) = read_fields((LIST, call.parameters(), "query"))
        chosen = asked.chosen()
        page = self._library.collections.list_documents(
            name, asked.limit, asked.cursor, texts=chosen.texts, filter=asked.filter_fields()
        )
        return dump(page_body(page, chosen))

    def _export_documents(self, call: Call[Any]) -> Iterator[bytes]:
        (asked,) = read_fields((EXPORT, call.parameters(), "query"))
        return self._library.collections.export(call.place["name"], asked.filter_fields())

    def _restore_backup(self, call: Call[Any]) -> Any:
        rows = restore_backup(self._library.store, call.body or (), self._library.settings.store.data_dir)
        self._library.open_restored()
        return {"rows": rows}

    def _change_document(self, call: Call[Any]) -> Any:
        name, patch = call.place["name"], self._body(DocumentPatch, call)
        changed = self._library.collections.change_document(name, call.place["id"], patch, expected_generations(call))
        return dump(document_body(changed))

    def _delete_document(self, call: Call[Any]) -> None:
        self._library.collections.delete_document(call.place["name"], call.place["id"], expected_generations(call))

    def _delete_documents(self, call: Call[Any]) -> Any:
        body = self._body(Deletion, call)
        name, expected = call.place["name"], expected_generations(call)
        deleted = self._library.collections.delete_documents(name, body.filter, dry_run=body.dry_run, expected=expected)
        return {"deleted": deleted}

    def _tables(self, call: Call[Any]) -> Any:
        return {"tables": fields_of(self._library.tables.all())}

    def _add_table(self, call: Call[Any]) -> Any:
        parameters = call.parameters()
        check_parameters(parameters, list(UploadParameters.model_fields))
        (read,) = read_fields((UPLOAD, parameters, "query"))
        upload = read.as_upload(call.place["name"])
        return dump(uploaded_body(upload, self._library.tables.upload(upload, iter(call.body or ()))))

    def _patch_table(self, call: Call[Any]) -> Any:
        changes = self._body(TablePatch, call).as_patch()
        return dump(patched_body(self._library.tables.patch(call.place["name"], changes)))

    def _activate_table(self, call: Call[Any]) -> Any:
        return fields_of(self._library.tables.activate(call.place["name"], read_version(call)))

    def _delete_table_version(self, call: Call[Any]) -> None:
        self._library.tables.delete(call.place["name"], read_version(call))

    def _look_up(self, call: Call[Any]) -> Any:
        term, version = read_fields(
            (TERM, call.place["term"], "path", "term"),
            (OPTIONAL_VERSION, call.parameters().get("version"), "query", "version"),
        )
        return dump(term_body(term, self._library.tables.look_up(call.place["name"], term, version)))

    def _body(self, kind: type[Body], call: Call[Any]) -> Body:
        """The fields of a call as the request that a service reads.

        Raises:
            ServiceError: a field is unknown or not allowed.
        """
        requests = self._library.settings.requests
        content = parse(call.content(), requests.body_depth, requests.body_values)
        body: Body
        (body,) = read_fields((TypeAdapter(kind), content, "body"))
        return body


@contextmanager
def _keep_mask() -> Iterator[None]:
    """Keep the program's mask of new files, which a service narrows for its own; the folder itself is private."""
    mask = os.umask(0o077)
    os.umask(mask)
    try:
        yield
    finally:
        os.umask(mask)


def in_folder(folder: Path | None, chosen: Mapping[str, Any]) -> Embedded:
    """A folder with default settings but for the chosen ones: those of the environment belong to a service.

    Without a folder everything is in a temporary one, which is removed at the end.

    Raises:
        ServiceError: as :class:`Embedded`; a setting is unknown or not allowed.
    """
    temporary = ExitStack()
    with temporary:
        if folder is None:
            folder = Path(temporary.enter_context(tempfile.TemporaryDirectory(prefix="dragoman-")))
        return Embedded(_settings(folder, chosen), temporary.pop_all())


def _settings(folder: Path, chosen: Mapping[str, Any]) -> Settings:
    """
    Raises:
        InvalidRequest: there is no such setting, or its value is not allowed.
    """
    if unknown := sorted(chosen.keys() - {name for _, name, _ in all_fields()}):
        raise InvalidRequest(f"there is no setting {unknown[0]}")
    try:
        return Settings.from_defaults(**dict(chosen) | {"data_dir": folder})
    except ValidationError as fault:
        raise InvalidRequest(describe(fault.errors())) from fault


def _wait(futures: list[Future[Any]], until: float) -> None:
    """
    Raises:
        Unavailable: they are not done in time.
    """
    waiting = wait(futures, max(0.0, until - time.monotonic())).not_done
    if waiting:
        for future in futures:
            future.cancel()
        raise Unavailable("the texts were not computed in time")
