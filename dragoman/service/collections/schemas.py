"""Request and response bodies of ``/v1/collections``."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool

from dragoman.engine.core.chosen_fields import ChosenFields, check_fields
from dragoman.engine.core.errors import InvalidRequest, MalformedBody, TooLarge
from dragoman.engine.core.json import parse
from dragoman.engine.core.limits import FILTER_CHARS
from dragoman.engine.core.names import check_name
from dragoman.engine.indexing.filtering import FilterFields
from dragoman.store.collections.statistics import FIELDS_FROM, FIELDS_SHOWN
from dragoman.store.validation import Body, FilterObject, LanguageCode, Name, Text

MOST_SHARDS = 64
UNINDEXED_LISTED = 1000
"""Documents that one list of unindexed ones has."""
LISTED, MOST_LISTED = 100, 1000
"""Documents of a page, unless the caller says otherwise, and at most."""


Shards = Annotated[
    int,
    Field(
        strict=True,
        ge=1,
        le=MOST_SHARDS,
        description="Parts of the index, which are searched at once; scores are those of one part. More parts than the"
        " machine has cores gain nothing.",
    ),
]


CollectionName = Annotated[
    str,
    AfterValidator(check_name),
    Field(
        max_length=64,
        description="1 to 64 characters of a-z, 0-9, '_', '.' and '-', the first of them a letter or digit.",
    ),
]
Description = Annotated[Text | None, Field(max_length=10_000)]


class NewCollection(Body):
    """A collection to create."""

    model_config = ConfigDict(extra="forbid")

    name: CollectionName
    language: LanguageCode = Field(description="ISO 639-1 code of the documents' language.")
    description: Description = None
    late_interaction: StrictBool | None = Field(
        default=None,
        description="Whether states of all subwords are kept with the embeddings (48 bytes each), which improves the"
        " order of hybrid; when left out, while they take at most DRAGOMAN_LATE_MEGABYTES.",
    )
    entities: StrictBool = Field(
        default=False,
        description="Whether names are found in the documents, in the background after an import: hits show them, and"
        " searches can be limited to documents that hold some. 503 if there is no tagger of names.",
    )
    shards: Shards = 1


class CollectionChange(Body):
    """What is to be changed in a collection; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    name: CollectionName = Field(default_factory=str)
    description: Description = None
    entities: StrictBool = Field(default_factory=bool, description="Whether names are found in the documents.")
    shards: Shards = Field(default_factory=int)

    def changes(self) -> dict[str, Any]:
        """The fields that are there."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class AliasTarget(Body):
    """What an alias is to stand for."""

    model_config = ConfigDict(extra="forbid")

    collection: Name = Field(description="The name of a collection, or an alias of it.")


class AliasBody(BaseModel):
    """An alias, and the collection that it stands for."""

    alias: str
    collection: str


class AliasList(BaseModel):
    """All aliases by name."""

    aliases: list[AliasBody]


class IndexInfo(BaseModel):
    """The Lucene index of a collection."""

    state: str = Field(description="ready, building, stale (a change could not be indexed) or failed")
    generation: int = Field(description="Generation up to which it includes all changes; -1 before it is open.")
    failed: int = Field(description="Documents that could not be indexed; GET .../unindexed lists them.")
    shards: int = Field(description="Parts that it has now; 0 before it is open.")


class EmbeddingsInfo(BaseModel):
    """The embeddings of a collection's documents, for search by meaning."""

    state: Literal["building", "complete"]
    embedded: int = Field(description="Documents that have embeddings.")
    failed: int = Field(description="Documents that could not be embedded; the log says why.")
    total: int
    late_interaction: bool = Field(description="Whether the states of subwords are kept for late interaction.")


class EntitiesInfo(BaseModel):
    """The names in a collection's documents."""

    state: Literal["building", "complete"]
    tagged: int = Field(description="Documents that were read for names.")
    failed: int = Field(description="Documents that could not be read; the log says why.")
    total: int


class CollectionBody(BaseModel):
    """A collection."""

    name: str
    language: str
    description: str | None
    documents: int
    generation: int = Field(description="Increases with every change of the documents.")
    shards: int = Field(description="Parts that the index is to have; index.shards says how many it has.")
    index: IndexInfo
    embeddings: EmbeddingsInfo | None = Field(description="Null if the collection has none and gets none by itself.")
    entities: EntitiesInfo | None = Field(description="Null if names are not found in its documents.")
    created_at: datetime


class CollectionList(BaseModel):
    """All collections by name."""

    collections: list[CollectionBody]


class RejectedLine(BaseModel):
    """A line that is not a valid document."""

    line: int = Field(description="Counted from 1, blank lines included.")
    id: str | None
    reason: str


class ImportBody(BaseModel):
    """The result of an upload."""

    accepted: int = Field(description="Documents stored, including replacements.")
    replaced: int = Field(description="Accepted documents whose id existed before.")
    rejected: list[RejectedLine]
    generation: int


class UnindexedBody(BaseModel):
    """A document that could not be indexed."""

    id: str
    reason: str
    at: datetime


class UnindexedList(BaseModel):
    """Documents that could not be indexed, in the order in which they were first stored."""

    documents: list[UnindexedBody] = Field(description=f"At most {UNINDEXED_LISTED}.")
    total: int


class RetryBody(BaseModel):
    """What came of trying again."""

    indexed: int = Field(description="Documents that are indexed now.")
    failed: int = Field(description="Documents that still are not.")


class DocumentBody(BaseModel):
    """A document as stored."""

    id: str
    collection: str
    language: str
    title: str | None
    text: str
    metadata: dict[str, Any] | None
    generation: int = Field(description="The collection's, in which the document was changed last; also in ETag.")


class FieldBody(BaseModel):
    """A field of documents' metadata."""

    field: str = Field(description="A dotted path; it goes through lists.")
    documents: int = Field(description="Documents that have it.")
    types: dict[str, int] = Field(
        description="How many of them have values of each type: string, date, number, boolean, null."
    )
    examples: list[Any] = Field(description="At most 3 of its values, none longer than 100 characters.")


class BytesBody(BaseModel):
    """How many bytes a collection takes."""

    texts: int = Field(description="Texts and titles of the documents.")
    metadata: int
    embeddings: int = Field(description="As they are stored in the database.")
    index: int = Field(description="Files of the Lucene index.")


class StatisticsBody(BaseModel):
    """What a collection holds."""

    documents: int
    generation: int
    languages: dict[str, int] = Field(description="Documents by language.")
    fields: list[FieldBody]
    fields_from: int = Field(
        description=f"Documents whose metadata was looked at: all, or of more than {FIELDS_FROM} those that were first"
        " stored last."
    )
    fields_left_out: int = Field(
        description=f"Paths that fields lacks: it has at most {FIELDS_SHOWN}, those that the most documents have."
    )
    bytes: BytesBody


_FILTER_DEPTH = 100


class FilterParameters(BaseModel):
    """Which documents are wanted."""

    filter: Annotated[str, Field(max_length=FILTER_CHARS)] | None = Field(
        None,
        description="Only documents whose fields match: JSON, as in searches.",
        examples=['{"year": {"$gte": 2020}}'],
    )

    def filter_fields(self) -> FilterFields | None:
        """
        Raises:
            InvalidRequest: the filter is no JSON object.
        """
        if self.filter is None:
            return None
        try:
            fields = parse(self.filter.encode("utf-8", "surrogatepass"), _FILTER_DEPTH)
        except (MalformedBody, TooLarge) as fault:
            raise InvalidRequest(f"filter: {str(fault).replace('the body', 'it')}") from fault
        if not isinstance(fields, dict):
            raise InvalidRequest("filter: must be a JSON object of fields and conditions")
        return fields


class ListParameters(FilterParameters):
    """Which documents a list has, and what of them."""

    limit: int = Field(LISTED, ge=1, le=MOST_LISTED, description="Most documents of a page.")
    cursor: Annotated[str, Field(max_length=100)] | None = Field(None, description="The page before has it in next.")
    fields: Annotated[str, Field(max_length=4000)] | None = Field(
        None,
        description="What to show of documents, separated by commas: id, collection, language, title, text, metadata,"
        " generation, or paths in metadata such as author.name; id is always shown. Default: all.",
    )

    def chosen(self) -> ChosenFields:
        """
        Raises:
            InvalidRequest: a field has no name.
        """
        if self.fields is None:
            return ChosenFields(None)
        names = [name.strip() for name in self.fields.split(",")]
        check_fields(names, "query parameter fields")
        return ChosenFields(names)


class ListedDocument(BaseModel):
    """A document of a list; fields that are not chosen are left out."""

    id: str
    collection: str = ""
    language: str = ""
    title: str | None = None
    text: str = ""
    metadata: dict[str, Any] | None = None
    generation: int = 0


class DocumentPageBody(BaseModel):
    """Documents, in the order in which they were first stored."""

    documents: list[ListedDocument]
    next: str | None = Field(description="The cursor of the next page; null: this is the last.")
    total: int = Field(description="Documents of all pages.")


class Deletion(Body):
    """Which documents are to be deleted."""

    model_config = ConfigDict(extra="forbid")

    filter: FilterObject = Field(
        description="Those whose fields match, as in searches; {} is all of them.", examples=[{"source": "old.csv"}]
    )
    dry_run: StrictBool = Field(default=False, description="Whether to count them alone.")


class DeletionBody(BaseModel):
    """What was deleted."""

    deleted: int = Field(description="Documents that were deleted, or would be.")
