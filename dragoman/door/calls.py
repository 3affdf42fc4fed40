"""The calls of the door: each names what is asked for, carries its fields, and reads the answer.

A transport answers a call from a folder on this machine or by HTTP. So both have one face, and their answers one form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, SupportsIndex, TypedDict, TypeVar

from dragoman.door.answers.reading import read
from dragoman.door.answers.results import Answers, Judgement, Ranked, SearchResults, Tag, TranslationCheck, Translations
from dragoman.door.plain import object_to_json, to_json, to_parameter
from dragoman.door.records import (
    CollectionInfo,
    Document,
    DocumentPage,
    Imported,
    PairTranslations,
    ReadDocument,
    Statistics,
    Suggested,
    TableInfo,
    Term,
    Uploaded,
)
from dragoman.engine.core.errors import InvalidRequest

T = TypeVar("T")

Name = Literal[
    "search",
    "ask",
    "read",
    "lookup",
    "suggest",
    "rank",
    "translate",
    "check_translation",
    "tag",
    "collections",
    "create_collection",
    "get_collection",
    "change_collection",
    "truncate_collection",
    "get_statistics",
    "aliases",
    "set_alias",
    "delete_alias",
    "delete_collection",
    "add_documents",
    "list_documents",
    "export_documents",
    "get_document",
    "change_document",
    "delete_document",
    "delete_documents",
    "tables",
    "add_table",
    "get_table",
    "patch_table",
    "activate_table",
    "deactivate_table",
    "delete_table_version",
    "look_up",
    "get_backup",
    "restore_backup",
    "report",
]


_IDS_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A call: its name, its fields named as in HTTP, a body that is streamed, and how to read the answer.

    ``place`` has the fields that the address names, ``if_match`` the generation that what is changed has to be of.
    """

    name: Name
    place: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: Iterable[bytes] | None = None
    read: Callable[[Any], T] = lambda answer: answer
    if_match: int | None = None

    def __post_init__(self) -> None:
        """
        Raises:
            InvalidRequest: an address cannot name such a place: it would be that of something else. Or ``if_match`` is
                no generation.
        """
        if self.if_match is not None and (isinstance(self.if_match, bool) or not isinstance(self.if_match, int)):
            raise InvalidRequest("if_match: must be a generation, which is a number")
        for field_name, text in self.place.items():
            if not isinstance(text, str) or not _can_be_in_address(field_name, text):
                raise InvalidRequest(f"{field_name}: {text!r} names nothing, because no address can hold it")

    def content(self) -> bytes:
        """The fields as the JSON of a request.

        Raises:
            InvalidRequest: JSON cannot hold a field; the message names it.
        """
        return object_to_json(self.fields)

    def parameters(self) -> dict[str, str]:
        """The fields as parameters of an address; those that are None are left out.

        Raises:
            InvalidRequest: a field is no text, number or boolean; the message names it.
        """
        return {name: to_parameter(field, name) for name, field in self.fields.items() if field is not None}


def _can_be_in_address(field_name: str, text: str) -> bool:
    """Whether an address that names this place leads there. Ids and terms may have slashes, names of addresses not."""
    if text in ("", ".", "..") or (field_name in ("name", "alias") and "/" in text):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def collect_texts(texts: Iterable[str], what: str) -> list[str]:
    """Several texts as a list.

    Raises:
        InvalidRequest: it is one text, whose letters would be taken for texts, or holds none.
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InvalidRequest(f"{what}: several texts are wanted, such as a list, and no {type(texts).__name__}")
    return list(texts)


def check_top_k(top_k: int | None) -> None:
    """
    Raises:
        InvalidRequest: it is no number of texts.
    """
    if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, SupportsIndex) or top_k < 1):
        raise InvalidRequest("top_k: must be an integer of at least 1")


class CollectionSearchOptions(TypedDict, total=False):
    """What a search of one collection may say, as in ``POST /v1/search``.

    What is left out is what the service measured to be best.
    """

    query_language: str
    reader_languages: Sequence[str]
    top_k: int
    method: Literal["hybrid", "psq", "smt", "none", "dense"]
    tables: Sequence[str]
    rerank: Mapping[str, Any] | Literal[False]
    names: bool
    entities: Sequence[str]
    filter: Mapping[str, Any]
    fields: Sequence[str]
    facets: Sequence[str | Mapping[str, Any]]
    sort: Sequence[str]
    offset: int
    cursor: str
    collapse: str
    must: Sequence[str]
    must_not: Sequence[str]
    syntax: Literal["text", "simple"]
    untranslated: Literal["literal", "error"]
    gloss: bool
    explain: bool | Mapping[str, bool]
    translate_snippets: bool
    snippets: Mapping[str, int]
    min_generation: Mapping[str, int]
    query_id: str


class SearchOptions(CollectionSearchOptions, total=False):
    """What a search may say, as in ``POST /v1/search``."""

    collections: Sequence[str]


class ReadOptions(TypedDict, total=False):
    """What a reading may say, as in ``POST /v1/read``."""

    query: str
    query_language: str
    tables: Sequence[str]


class RankOptions(TypedDict, total=False):
    """What a ranking may say, as in ``POST /v1/rerank``."""

    query_language: str
    document_language: str
    reader_languages: Sequence[str]
    tables: Sequence[str]


def search_in(collection: str, query: str, options: Mapping[str, Any]) -> Call[SearchResults]:
    """A search of one collection.

    Raises:
        InvalidRequest: the options name others.
    """
    if "collections" in options:
        raise InvalidRequest(f"collections: this is a search of {collection!r} alone; that of the database takes them")
    return search(query, {"collections": [collection], **options})


def _check_offsets(options: Mapping[str, Any]) -> None:
    """
    Raises:
        InvalidRequest: other offsets are asked for than those of Python's strings, by which records are read and shown.
    """
    if options.get("offsets", "codepoint") != "codepoint":
        raise InvalidRequest("offsets: these records are in code points, as Python's strings; ask the service by HTTP")


def search(query: str, options: Mapping[str, Any]) -> Call[SearchResults]:
    _check_offsets(options)
    return Call("search", fields={"query": query, **options}, read=lambda answer: read(SearchResults, answer))


def ask(question: str, options: Mapping[str, Any]) -> Call[Answers]:
    _check_offsets(options)
    return Call("ask", fields={"question": question, **options}, read=lambda answer: read(Answers, answer))


def judge(statement: str, options: Mapping[str, Any]) -> Call[Judgement]:
    _check_offsets(options)
    return Call("ask", fields={"statement": statement, **options}, read=lambda answer: read(Judgement, answer))


def read_document(collection: str, id: str, reader_language: str, options: Mapping[str, Any]) -> Call[ReadDocument]:
    _check_offsets(options)
    fields = {"collection": collection, "id": id, "reader_language": reader_language, **options}
    return Call("read", fields=fields, read=lambda answer: read(ReadDocument, answer))


def lookup(term: str, source: str, target: str) -> Call[PairTranslations]:
    fields = {"term": term, "source": source, "target": target}
    return Call("lookup", fields=fields, read=lambda answer: read(PairTranslations, answer))


def suggest(typed: str, language: str | None, collections: Sequence[str] | None) -> Call[Suggested]:
    fields: dict[str, Any] = {"q": typed}
    if language is not None:
        fields["language"] = language
    if collections is not None:
        fields["collections"] = ",".join(collections)
    return Call("suggest", fields=fields, read=lambda answer: read(Suggested, answer))


def rank(query: str, documents: Iterable[str], top_k: int | None, options: Mapping[str, Any]) -> Call[list[Ranked]]:
    if unknown := sorted(options.keys() - RankOptions.__annotations__.keys()):
        raise InvalidRequest(
            f"{unknown[0]}: there is no such option; there are {', '.join(RankOptions.__annotations__)}"
        )
    texts = collect_texts(documents, "documents")
    check_top_k(top_k)
    fields = {"query": query, "documents": texts, "top_n": top_k, **options}
    return Call("rank", fields=fields, read=lambda answer: ranking(answer, texts))


def ranking(answer: Mapping[str, Any], texts: Sequence[str]) -> list[Ranked]:
    """The texts in the order of a rerank answer."""
    return [Ranked(result["index"], result["relevance_score"], texts[result["index"]]) for result in answer["results"]]


def translate(texts: Sequence[str], source: str, target: str) -> Call[Translations]:
    fields = {"texts": collect_texts(texts, "texts"), "source": source, "target": target}
    return Call("translate", fields=fields, read=lambda answer: read(Translations, answer))


def check_translation(text: str, translation: str, source: str, target: str) -> Call[TranslationCheck]:
    fields = {"text": text, "translation": translation, "source": source, "target": target}
    return Call("check_translation", fields=fields, read=lambda answer: read(TranslationCheck, answer))


def tag(texts: Sequence[str], task: str) -> Call[list[list[Tag]]]:
    fields = {"texts": collect_texts(texts, "texts"), "task": task}
    return Call(
        "tag", fields=fields, read=lambda answer: [[read(Tag, tag) for tag in tags] for tags in answer["results"]]
    )


def collections() -> Call[list[CollectionInfo]]:
    return Call(
        "collections", read=lambda answer: [read(CollectionInfo, collection) for collection in answer["collections"]]
    )


def create_collection(name: str, language: str, options: Mapping[str, Any]) -> Call[CollectionInfo]:
    fields = {"name": name, "language": language, **options}
    return Call("create_collection", fields=fields, read=lambda answer: read(CollectionInfo, answer))


def get_collection(name: str) -> Call[CollectionInfo]:
    return Call("get_collection", {"name": name}, read=lambda answer: read(CollectionInfo, answer))


def change_collection(name: str, changes: Mapping[str, Any], if_match: int | None = None) -> Call[CollectionInfo]:
    place = {"name": name}
    return Call(
        "change_collection", place, changes, read=lambda answer: read(CollectionInfo, answer), if_match=if_match
    )


def truncate_collection(name: str, if_match: int | None = None) -> Call[CollectionInfo]:
    return Call(
        "truncate_collection", {"name": name}, read=lambda answer: read(CollectionInfo, answer), if_match=if_match
    )


def get_statistics(name: str) -> Call[Statistics]:
    return Call("get_statistics", {"name": name}, read=lambda answer: read(Statistics, answer))


def aliases() -> Call[dict[str, str]]:
    return Call("aliases", read=lambda answer: {entry["alias"]: entry["collection"] for entry in answer["aliases"]})


def set_alias(alias: str, collection: str) -> Call[None]:
    return Call("set_alias", {"alias": alias}, {"collection": collection}, read=lambda answer: None)


def delete_alias(alias: str) -> Call[None]:
    return Call("delete_alias", {"alias": alias})


def delete_collection(name: str, if_match: int | None = None) -> Call[None]:
    return Call("delete_collection", {"name": name}, if_match=if_match)


def add_documents(
    name: str,
    lines: Iterable[bytes],
    if_match: int | None = None,
    *,
    format: str | None = None,
    map: str | None = None,
) -> Call[Imported]:
    return Call(
        "add_documents",
        {"name": name},
        {"format": format, "map": map},
        body=lines,
        read=lambda answer: read(Imported, answer),
        if_match=if_match,
    )


def list_documents(
    name: str, cursor: str | None = None, limit: int | None = None, filter: Mapping[str, Any] | None = None
) -> Call[DocumentPage]:
    fields = {"cursor": cursor, "limit": limit, "filter": _filter_parameter(filter)}
    return Call("list_documents", {"name": name}, fields, read=lambda answer: read(DocumentPage, answer))


def list_ids(name: str, cursor: str | None = None) -> Call[tuple[list[str], str | None]]:
    """A page of ids, and the cursor of the next one."""
    fields = {"cursor": cursor, "limit": _IDS_LISTED, "fields": "id"}
    return Call("list_documents", {"name": name}, fields, read=_read_ids)


def _read_ids(answer: Mapping[str, Any]) -> tuple[list[str], str | None]:
    return [document["id"] for document in answer["documents"]], answer.get("next")


def export_documents(name: str, filter: Mapping[str, Any] | None = None) -> Call[Iterator[bytes]]:
    return Call("export_documents", {"name": name}, {"filter": _filter_parameter(filter)})


def _filter_parameter(filter: Mapping[str, Any] | None) -> str | None:
    return None if filter is None else to_json(filter, "filter").decode()


def get_document(name: str, id: str) -> Call[Document]:
    return Call("get_document", {"name": name, "id": id}, read=lambda answer: read(Document, answer))


def change_document(name: str, id: str, changes: Mapping[str, Any], if_match: int | None = None) -> Call[Document]:
    place = {"name": name, "id": id}
    return Call("change_document", place, changes, read=lambda answer: read(Document, answer), if_match=if_match)


def delete_document(name: str, id: str, if_match: int | None = None) -> Call[None]:
    return Call("delete_document", {"name": name, "id": id}, if_match=if_match)


def delete_documents(
    name: str, filter: Mapping[str, Any], dry_run: bool = False, if_match: int | None = None
) -> Call[int]:
    fields = {"filter": filter, "dry_run": dry_run}
    return Call(
        "delete_documents", {"name": name}, fields, read=lambda answer: int(answer["deleted"]), if_match=if_match
    )


def get_backup() -> Call[Iterator[bytes]]:
    return Call("get_backup")


def restore_backup(parts: Iterable[bytes]) -> Call[dict[str, int]]:
    return Call("restore_backup", body=parts, read=lambda answer: answer["rows"])


def tables() -> Call[list[TableInfo]]:
    return Call("tables", read=lambda answer: [read(TableInfo, table) for table in answer["tables"]])


def add_table(name: str, file: Iterable[bytes], options: Mapping[str, Any]) -> Call[Uploaded]:
    return Call("add_table", {"name": name}, options, file, lambda answer: read(Uploaded, answer))


def get_table(name: str) -> Call[TableInfo]:
    return Call("get_table", {"name": name}, read=lambda answer: read(TableInfo, answer))


def activate_table(name: str, version: int) -> Call[TableInfo]:
    place = {"name": name, "version": to_parameter(version, "version")}
    return Call("activate_table", place, read=lambda answer: read(TableInfo, answer))


def deactivate_table(name: str) -> Call[TableInfo]:
    return Call("deactivate_table", {"name": name}, read=lambda answer: read(TableInfo, answer))


def delete_table_version(name: str, version: int) -> Call[None]:
    return Call("delete_table_version", {"name": name, "version": to_parameter(version, "version")})


def look_up(name: str, term: str, version: int | None) -> Call[Term]:
    return Call("look_up", {"name": name, "term": term}, {"version": version}, read=lambda answer: read(Term, answer))


def report(kind: str, limit: int) -> Call[dict[str, Any]]:
    return Call("report", {"kind": kind}, {"limit": limit})
