"""What ``POST /v1/search`` takes and answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

MAX_QUERY_LENGTH = 10_000
"""The longest query, in code points."""
MAX_TOP_K = 1000
MAX_NAMES = 100

Name = Annotated[StrictStr, Field(min_length=1, max_length=200)]
Names = Annotated[list[Name], Field(min_length=1, max_length=MAX_NAMES)]
Method = Literal["psq", "smt", "none", "dense", "hybrid"]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RerankOptions(_Request):
    """How the best hits of the first stage are to be scored again."""

    depth: Annotated[StrictInt, Field(ge=1, le=MAX_TOP_K)] = 50
    model: Name | None = None


class SearchRequest(_Request):
    """A query over one or more collections, in any language that the service has tables or documents in."""

    query: Annotated[
        StrictStr,
        Field(
            min_length=1,
            max_length=MAX_QUERY_LENGTH,
            description="The query's text. Lucene syntax in it is text.",
            examples=["how is solar power stored"],
        ),
    ]
    query_language: Annotated[
        Name | None, Field(description="ISO 639-1 code; detected when left out.", examples=["en"])
    ] = None
    collections: Annotated[
        Names | None, Field(description="Collections to search; all of them when left out.")
    ] = None
    top_k: Annotated[StrictInt, Field(ge=1, le=MAX_TOP_K)] = 10
    method: Annotated[
        Method,
        Field(
            description="psq: probabilistic structured queries; smt: the ten best translations of each term,"
            " weighted; none: the query as it is. dense and hybrid are not available in this version."
        ),
    ] = "psq"
    tables: Annotated[
        Names | None,
        Field(description="Names of the translation tables to use; every active one when left out."),
    ] = None
    rerank: Annotated[
        RerankOptions | Literal[False] | None,
        Field(description="How to rerank; false never does, left out means the collection's default."),
    ] = None
    explain: Annotated[
        StrictBool, Field(description="Adds to each hit what each query term contributed to its score.")
    ] = False
    query_id: Annotated[
        Name | None, Field(description="The topic's id in a TREC run; the request's id when left out.")
    ] = None


class Highlight(BaseModel):
    """A document word that matched a query word: ``text[start:end]``, in code points of the text."""

    start: int
    end: int
    document_term: str
    query_term: str
    probability: Annotated[
        float, Field(description="P(query term | document term); 1 for the same word on both sides.")
    ]
    table: Annotated[
        str | None, Field(description="The table that relates the two; null where they are the same string.")
    ]
    version: int | None


class Scores(BaseModel):
    """The score of each stage; null where the stage did not run."""

    first_stage: float
    rerank: float | None = None


class Contribution(BaseModel):
    """What one query term added to a first-stage score: ``score = weight * idf * saturation(tf)``."""

    query_term: str
    tf: Annotated[float, Field(description="Expected occurrences in the document, sum of P(e|f) tf_f.")]
    df: Annotated[float, Field(description="Expected number of documents that hold it, sum of P(e|f) df_f.")]
    idf: float
    weight: Annotated[float, Field(description="How often the term stands in the query.")]
    score: float


class Hit(BaseModel):
    """A document found."""

    rank: int
    id: str
    collection: str
    language: str
    score: float
    scores: Scores
    title: str | None
    snippet: Annotated[str, Field(description="The part of the text that matches best, as it stands there.")]
    snippet_start: Annotated[int, Field(description="Where the snippet begins in the text, in code points.")]
    highlights: list[Highlight]
    contributions: Annotated[
        list[Contribution] | None,
        Field(description="With explain; their scores add up to scores.first_stage."),
    ] = None


class QueryRead(BaseModel):
    """The query as it was understood."""

    text: str
    language: str
    detected: bool


class TableUsed(BaseModel):
    """A table version that the answer rests on."""

    name: str
    version: int


class TermTranslation(BaseModel):
    """A document-language term with its weight for the query term."""

    term: str
    probability: float
    language: str


class QueryTerm(BaseModel):
    """A word of the query and what it was searched as."""

    term: str
    translations: list[TermTranslation]


class Translation(BaseModel):
    """How the query was translated."""

    tables: list[TableUsed]
    terms: list[QueryTerm]
    oov: Annotated[
        list[str],
        Field(description="Query words without an entry for some document language; searched as they are."),
    ]


class Degraded(BaseModel):
    """A stage that did less than was asked, and why."""

    stage: str
    reason: str


class Timings(BaseModel):
    """Milliseconds spent per stage."""

    translate: float
    first_stage: float
    rerank: float
    total: float


class SearchResponse(BaseModel):
    """The documents found, with the evidence for each."""

    request_id: str
    query: QueryRead
    hits: list[Hit]
    translation: Translation
    degraded: list[Degraded]
    truncated: list[str]
    timings_ms: Timings
