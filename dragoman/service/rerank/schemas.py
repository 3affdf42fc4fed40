"""Request and response bodies of the rerank endpoints: Cohere v1 (and Jina), Cohere v2, and TEI."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    NonNegativeInt,
    PlainValidator,
    SkipValidation,
    StrictBool,
    StrictInt,
    Tag,
    model_validator,
)

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.core.json import check_text, check_value
from dragoman.engine.core.limits import DOCUMENTS, QUERY_CHARS, TEXT_CHARS
from dragoman.engine.query.response import TableUsed
from dragoman.engine.rerank.request import RerankQuery
from dragoman.store.validation import (
    FIELDS,
    JINA_FORM,
    TEI_FORM,
    AtFirstFault,
    LanguageCode,
    Names,
    NotBlank,
    ReaderLanguages,
    Text,
    TolerantBody,
)

MODEL_CHARS = 1_000
"""Longest name of a model."""
DOCUMENT_FIELDS = 1_000
"""Most fields of a document."""

_Query = Annotated[
    NotBlank,
    Field(min_length=1, max_length=QUERY_CHARS, description="The query's text.", examples=["volcano eruption and ash"]),
]
_TopN = Annotated[
    Annotated[StrictInt, Field(ge=0)] | None, Field(description="How many of the best to return; null or 0: all.")
]


class Rerank(TolerantBody):
    """The fields shared by all forms."""

    query: _Query
    query_language: LanguageCode | None = Field(default=None, description="ISO 639-1 code; detected when left out.")
    document_language: LanguageCode | None = Field(
        default=None, description="ISO 639-1 code of all documents; detected for each when left out."
    )
    reader_languages: ReaderLanguages | None = Field(
        default=None,
        description="Languages of those who ask: a short text that may be in one of them or in another language is"
        " taken for theirs. When left out, DRAGOMAN_READER_LANGUAGES or else the header Accept-Language.",
        examples=[["en"]],
    )
    tables: Names | None = Field(
        default=None,
        description="Translation tables to use: `name` for the active version, `name@3` for any that is there. All"
        " active ones when left out.",
    )
    raw_scores: StrictBool | None = Field(
        default=False, description="Return logits instead of probabilities, which are their sigmoids."
    )
    top_n: _TopN = None
    top_k: Annotated[StrictInt, Field(ge=0)] | None = Field(default=None, description="Another name of `top_n`.")

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        if self.top_n is not None and self.top_k is not None and self.top_n != self.top_k:
            raise ValueError(f"top_k: {self.top_k} is not top_n, {self.top_n}; they are two names of one thing")
        return self

    @property
    def limit(self) -> int | None:
        """How many of the best to return; None for all."""
        return (self.top_k if self.top_n is None else self.top_n) or None

    def as_query(self) -> RerankQuery:
        """What the engine is asked."""
        return RerankQuery(**{part.name: getattr(self, part.name) for part in fields(RerankQuery)})


class DocumentFields(BaseModel):
    """A document given as fields."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"maxProperties": DOCUMENT_FIELDS})

    text: SkipValidation[Annotated[str, Field(max_length=TEXT_CHARS)] | None] = None


def _document(document: Any) -> str | DocumentFields:
    """A document with valid field names; the values are checked later, where a message can name the field.

    Raises:
        ValueError: it is neither a text nor an object, or a field's name is not valid text.
    """
    if isinstance(document, str):
        if len(document) > TEXT_CHARS:
            raise ValueError(f"must have at most {TEXT_CHARS} characters")
        return check_text(document)
    if not isinstance(document, dict):
        raise ValueError("must be a text or an object with a text")
    if len(document) > DOCUMENT_FIELDS:
        raise ValueError(f"has {len(document)} fields; at most {DOCUMENT_FIELDS} are allowed")
    try:
        check_value(list(document))
    except ValueError as fault:
        raise ValueError(f"a field's name {fault}") from fault
    return DocumentFields.model_validate(document)


_Passage = Annotated[Text, Field(max_length=TEXT_CHARS)]
_Document = Annotated[str | DocumentFields, PlainValidator(_document, json_schema_input_type=_Passage | DocumentFields)]
_Documents = Annotated[list[_Document], Field(min_length=1, max_length=DOCUMENTS), AtFirstFault]
_Passages = Annotated[list[_Passage], Field(min_length=1, max_length=DOCUMENTS), AtFirstFault]


_FieldName = Annotated[Text, Field(max_length=1_000)]


class RerankV1(Rerank):
    """Cohere v1 and Jina."""

    model: Text | None = Field(
        default=None,
        max_length=MODEL_CHARS,
        description="Any name is accepted; `model` in the response is the one that scored.",
    )
    documents: _Documents
    truncation: StrictBool | None = Field(
        default=None, description="Voyage's field. An answer to it has the results under `data` as well."
    )
    return_documents: StrictBool | None = False
    rank_fields: Annotated[list[_FieldName], AtFirstFault] | None = Field(
        default=None,
        max_length=FIELDS,
        description="Fields to score of documents that are objects, joined by newlines; default: text.",
    )

    def texts(self) -> list[str]:
        """The documents' texts.

        Raises:
            InvalidRequest: a document has no such field, or the field is not text; or a field is named twice.
        """
        if len(set(self.rank_fields or ())) < len(self.rank_fields or ()):
            raise InvalidRequest("rank_fields: names a field twice")
        return [self._text(index, document) for index, document in enumerate(self.documents)]

    def _text(self, index: int, document: str | DocumentFields) -> str:
        if isinstance(document, str):
            return document
        fields: dict[str, Any] = document.model_dump(exclude_unset=True)
        _check_fields(index, fields)
        parts = []
        for name in self.rank_fields or ["text"]:
            if not isinstance(text := fields.get(name), str):
                raise InvalidRequest(f"documents[{index}].{name}: must be a text")
            if len(text) > TEXT_CHARS:
                raise InvalidRequest(f"documents[{index}].{name}: must have at most {TEXT_CHARS} characters")
            parts.append(text)
        return "\n".join(parts)


def _check_fields(index: int, fields: dict[str, Any]) -> None:
    """Check the fields of a document.

    Raises:
        InvalidRequest: a value cannot be returned as JSON, or ``text`` is not text.
    """
    for name, content in fields.items():
        try:
            check_value(content)
        except ValueError as fault:
            raise InvalidRequest(f"documents[{index}].{name}: {fault}") from fault
    if not isinstance(fields.get("text"), str | None):
        raise InvalidRequest(f"documents[{index}].text: must be a text")


class RerankV2(Rerank):
    """Cohere v2."""

    model: Text | None = Field(default=None, max_length=MODEL_CHARS)
    documents: _Passages


class RerankTei(Rerank):
    """TEI."""

    texts: _Passages
    return_text: StrictBool | None = False


def _form_of(body: Any) -> str:
    if isinstance(body, dict):
        return TEI_FORM if "texts" in body else JINA_FORM
    return TEI_FORM if isinstance(body, RerankTei) else JINA_FORM


RerankEither = Annotated[
    Annotated[RerankV1, Tag(JINA_FORM)] | Annotated[RerankTei, Tag(TEI_FORM)], Discriminator(_form_of)
]
"""TEI's form where `texts` is there, else Jina's and Cohere's."""


class DocumentReturned(BaseModel):
    """A document as sent: its text, or its fields."""

    model_config = ConfigDict(extra="allow")

    text: str | None = None


class Result(BaseModel):
    """A document in the ranking; `index` is its position in the request."""

    index: int
    relevance_score: float
    document: DocumentReturned | None = None
    language: str | None = Field(
        default=None, description="The document's detected language; left out if it is given or only assumed."
    )


class Failed(BaseModel):
    """A document that could not be scored."""

    index: int
    reason: str


class ApiVersion(BaseModel):
    version: str


class BilledUnits(BaseModel):
    search_units: int = 1


class QueryTaken(BaseModel):
    """The query's language, given or detected; `warnings` says if it is only assumed."""

    language: str
    detected: bool
    language_probability: float = Field(
        description="How sure the language is among those that were considered; 1 where the request names it."
    )


class TablesConsulted(BaseModel):
    """The table versions between the query's language and the documents' languages."""

    tables: list[TableUsed]


class Meta(BaseModel):
    """The fields that Cohere's clients read."""

    api_version: ApiVersion
    billed_units: BilledUnits = BilledUnits()
    warnings: list[str] | None = Field(default=None, description="What differs from the request.")
    query: QueryTaken
    translation: TablesConsulted


class Usage(BaseModel):
    """The fields that Jina's clients read."""

    total_tokens: NonNegativeInt = Field(description="Subwords read; the query counts once per passage.")


class _Answer(BaseModel):
    id: str = Field(description="The request's id.")
    results: list[Result] = Field(description="Best first; ties in the order of the request.")
    meta: Meta
    failed: list[Failed] | None = Field(
        default=None, description="Documents that could not be scored; left out if none."
    )
    truncated: list[int] | None = Field(
        default=None,
        description="Documents of which only the beginning was read, at most 800 subwords; left out if none.",
    )


class RerankAnswerV1(_Answer):
    model_config = ConfigDict(serialize_by_alias=True)

    model: str
    usage: Usage
    voyage_results: list[Result] | None = Field(
        default=None, serialization_alias="data", description="Voyage's name of `results`, where it is asked for."
    )


class RerankAnswerV2(_Answer):
    pass


class Rank(BaseModel):
    """TEI's result."""

    index: int
    score: float
    text: str | None = None
