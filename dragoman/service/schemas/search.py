"""What ``POST /v1/search`` takes and answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    Tag,
    field_validator,
)

from dragoman.service.core.validation import LanguageCode, NotBlank, Text

Name = Annotated[Text, Field(min_length=1, max_length=200)]
Names = Annotated[list[Name], Field(min_length=1)]
Method = Literal["psq", "smt", "none", "dense", "hybrid"]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RerankOptions(_Request):
    """How the best hits of the first stage are to be scored again."""

    depth: StrictInt = Field(default=50, ge=1, description="How many of them, up to 1,000 unless set otherwise.")
    model: Name | None = None


def _kind(rerank: Any) -> str:
    return "off" if rerank is False else "RerankOptions"


_Rerank = Annotated[
    Annotated[RerankOptions, Tag("RerankOptions")] | Annotated[Literal[False], Tag("off")], Discriminator(_kind)
]


class SearchRequest(_Request):
    """A query over one or more collections, in any language that the service has tables or documents in."""

    query: NotBlank = Field(
        min_length=1,
        description="The query's text, up to 10,000 characters unless set otherwise. Lucene syntax in it is text.",
        examples=["volcano eruption and ash"],
    )
    query_language: LanguageCode | None = Field(
        default=None, description="ISO 639-1 code; detected when left out.", examples=["en"]
    )
    collections: Names | None = Field(
        default=None, description="Collections to search, up to 100 unless set otherwise; all of them when left out."
    )
    top_k: StrictInt = Field(default=10, ge=1, description="How many hits, up to 1,000 unless set otherwise.")
    method: Method = Field(
        default="psq",
        description="psq: probabilistic structured queries; smt: the ten best translations of each term, weighted;"
        " none: the query as it is; dense: passages whose sentence embeddings are nearest to the query's;"
        " hybrid: psq and dense, by reciprocal rank fusion.",
    )
    tables: Names | None = Field(
        default=None, description="Active translation tables to use; all of them when left out."
    )
    rerank: _Rerank | None = Field(
        default=None,
        description="How to rerank; false never does. Left out, the best 50 hits of psq, smt and none are reranked,"
        " unless all of them are in the query's language or in pairs of languages where the reranker was measured not"
        " to gain; those of dense and hybrid are not, and none are where DRAGOMAN_RERANK=never is set or there is no"
        " reranker.",
    )
    explain: StrictBool = Field(
        default=False, description="Adds to each hit what each query term contributed to its score."
    )
    translate_snippets: StrictBool = Field(
        default=False, description="Adds to each hit its snippet in the query's language."
    )
    query_id: Text | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="The topic's id in a TREC run; default: the request's id.",
    )

    @field_validator("rerank", mode="before")
    @classmethod
    def _options(cls, rerank: Any) -> Any:
        if rerank is not None and rerank is not False and not isinstance(rerank, dict | RerankOptions):
            raise ValueError("must be an object, false or left out")
        return rerank


class Highlight(BaseModel):
    """A document word that matched a query word: ``text[start:end]``, in code points of the text."""

    start: int
    end: int
    document_term: str
    query_term: str
    probability: float = Field(
        description="P(query term | document term); 1 for the same word on both sides, and the similarity of their"
        " romanisations for words that sound alike."
    )
    table: str | None = Field(
        description="The table that relates the two; null where they are the same word or sound alike."
    )
    version: int | None


class Scores(BaseModel):
    """The score of each stage; null where the stage did not run."""

    first_stage: float = Field(
        description="BM25 in the hit's collection and language; for dense the inner product of the query's vector and"
        " the best passage's; for hybrid the fused score."
    )
    rerank: float | None = Field(
        description="The reranker's probability that the document answers, as the rerank endpoints give it."
    )


class Contribution(BaseModel):
    """What one query term added to a first-stage score.

    psq: ``score = weight * idf * tf / (tf + norm)``; for smt it is the weighted sum of that over the
    translations, and tf, df and idf are the weighted sums of theirs.
    """

    query_term: str
    tf: float = Field(description="Expected occurrences in the document, sum of P(e|f) tf_f.")
    df: float = Field(description="Expected number of documents that hold it, sum of P(e|f) df_f.")
    idf: float
    weight: float = Field(description="How often the term stands in the query.")
    score: float


class Hit(BaseModel):
    """A document found."""

    rank: int
    id: str
    collection: str
    language: str
    score: float = Field(
        description="What hits are ordered by: the share of the highest score that any document of this collection"
        " and language could reach for the query; for dense the inner product; for hybrid the fused score. Of hits that"
        " were reranked, the sigmoid of the model's logit and the logarithm of that share, weighted, for dense and"
        " hybrid the reranker's probability; of those below them, numbers that fall as their own scores do."
    )
    scores: Scores
    title: str | None
    snippet: str = Field(description="The part of the text that matches best, as it stands there.")
    snippet_start: int = Field(description="Where the snippet begins in the text, in code points.")
    highlights: list[Highlight] = Field(
        description="All matches inside the snippet; none for dense, which matches no words."
    )
    snippet_translation: str | None = Field(
        default=None,
        description="Only where asked for: the snippet in the query's language; null where it is in that language"
        " already, or could not be translated, which `degraded` says.",
    )


class RankedBy(BaseModel):
    """A document's place in one of the rankings that were fused: it adds weight / (60 + rank) to the score."""

    rank: int
    score: float
    weight: float


class Fusion(BaseModel):
    """Where each ranking had the document; null where it did not have it among its best."""

    bm25: RankedBy | None
    dense: RankedBy | None


class ExplainedHit(Hit):
    """A document found, with what each query term added to its score."""

    contributions: list[Contribution] = Field(
        description="Their scores add up to the BM25 score, which is scores.first_stage, for hybrid fusion.bm25.score;"
        " empty for dense."
    )
    fusion: Fusion | None = Field(default=None, description="Only for hybrid.")


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
    """A translation of a query word."""

    term: str
    probability: float = Field(description="P(translation | query word)")
    language: str


class QueryTerm(BaseModel):
    """A word of the query with its most probable translations, at most ten per language."""

    term: str
    translations: list[TermTranslation]


class Translation(BaseModel):
    """How the query was translated."""

    tables: list[TableUsed]
    terms: list[QueryTerm]
    oov: list[str] = Field(
        description="Query words that the tables cannot translate into some document language; searched as they are."
    )
    ignored: list[str] = Field(
        description="Query words that are searched in no language: stop words, and others that say how it is asked."
    )


class Degraded(BaseModel):
    """A stage that did less than was asked, and why."""

    stage: str
    reason: str
    _cause: str = "other"

    @classmethod
    def of(cls, stage: str, reason: str, cause: str) -> Self:
        """What a stage lacks, with the kind of the reason in a word: an ``error_type``, or one of this program's."""
        made = cls(stage=stage, reason=reason)
        made._cause = cause
        return made

    @property
    def cause(self) -> str:
        """The kind of the reason, for counting."""
        return self._cause


class Timings(BaseModel):
    """Milliseconds spent per stage."""

    translate: float
    first_stage: float
    rerank: float
    total: float
    dense: float | None = Field(
        default=None, description="Part of first_stage, where it ran: encoding, embedding and searching."
    )
    translate_snippets: float | None = Field(default=None, description="Only where asked for.")


class SearchResponse(BaseModel):
    """The documents found, with the evidence for each."""

    request_id: str
    query: QueryRead
    hits: list[ExplainedHit | Hit]
    translation: Translation
    degraded: list[Degraded]
    truncated: list[str]
    timings_ms: Timings
