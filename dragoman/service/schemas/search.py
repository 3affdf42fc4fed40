"""Request and response bodies of ``POST /v1/search``."""

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

from dragoman.engine.core.limits import QUERY_CHARS
from dragoman.service.core.validation import (
    AtFirstFault,
    Body,
    LanguageCode,
    Name,
    Names,
    NotBlank,
    ReaderLanguages,
    Text,
)

Method = Literal["psq", "smt", "none", "dense", "hybrid"]
TextField = Literal["title", "text"]
MatchKind = Literal["table", "identical", "sound", "meaning"]


class _Request(Body):
    model_config = ConfigDict(extra="forbid")


class RerankOptions(_Request):
    """How to rerank the best hits of the first stage."""

    depth: StrictInt = Field(default=50, ge=1, description="How many hits to rerank, by default up to 1,000.")
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
        max_length=QUERY_CHARS,
        description="The query's text, by default up to 10,000 characters. Lucene syntax has no effect.",
        examples=["volcano eruption and ash"],
    )
    query_language: LanguageCode | None = Field(
        default=None, description="ISO 639-1 code; detected when left out.", examples=["en"]
    )
    reader_languages: ReaderLanguages | None = Field(
        default=None,
        description="Languages of those who ask: a short text that may be in one of them or in another language is"
        " taken for theirs. When left out, DRAGOMAN_READER_LANGUAGES or else the header Accept-Language.",
        examples=[["en"]],
    )
    collections: Names | None = Field(
        default=None, description="Collections to search, by default up to 100; all of them when left out."
    )
    top_k: StrictInt = Field(default=10, ge=1, description="How many hits, by default up to 1,000.")
    method: Method | None = Field(
        default=None,
        description="psq: probabilistic structured queries; smt: the ten best translations of each term, weighted;"
        " none: the untranslated query; dense: passages whose sentence embeddings are nearest to the query's;"
        " hybrid: psq and dense, by a convex combination of their scores. When left out, hybrid where the embeddings of"
        " all searched collections are complete, else psq.",
    )
    tables: Names | None = Field(
        default=None, description="Active translation tables to use; all of them when left out."
    )
    rerank: _Rerank | None = Field(
        default=None,
        description="How to rerank; false turns it off. When left out, hits of psq, smt and none are reranked, at most"
        " 50 and as many as DRAGOMAN_RERANK_BUDGET_MS allows, unless all of them are in the query's language or in"
        " language pairs for which the reranker was measured not to help. Hits of dense and hybrid are not reranked"
        " then, and none are if DRAGOMAN_RERANK=never is set or there is no reranker.",
    )
    names: StrictBool = Field(
        default=True,
        description="Whether names in the query stay whole: where a table has all of one, and those of persons where"
        " their words match by form and sound. Names are looked for in hybrid searches, and in those of psq that say"
        " true here.",
    )
    entities: Annotated[list[Name], Field(min_length=1, max_length=100), AtFirstFault] | None = Field(
        default=None,
        description="Only documents that hold all of these names: as written, as a table translates the whole name from"
        " the query's language, or alike in sound in another script. Of collections made with `entities`; without"
        " `collections`, of those alone.",
        examples=[["Angela Merkel"]],
    )
    gloss: StrictBool = Field(
        default=False,
        description="Add to each hit the translations of its words into the query's language, from the active tables.",
    )
    explain: StrictBool = Field(
        default=False, description="Add to each hit the contribution of each query term to its score."
    )
    translate_snippets: StrictBool = Field(
        default=False,
        description="Add to each hit its snippet in the query's language; 503 unless `DRAGOMAN_TRANSLATOR` names a"
        " translator.",
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
    """A part of a document that matched: ``document[field][start:end]``, in code points of that field."""

    field: TextField
    start: int
    end: int
    match: MatchKind = Field(
        description="How it matched. table: a table has the two words as translations; identical: the same word on both"
        " sides, up to its form; sound: words that no table has and that sound alike; meaning: the sentence whose"
        " embedding is nearest to the query's."
    )
    document_term: str
    query_term: str = Field(description="For meaning, the whole query.")
    probability: float | None = Field(
        description="P(query term | document term); 1 for the same word on both sides; for words that sound alike, the"
        " similarity of their romanisations; null for meaning."
    )
    table: str | None = Field(description="The table with this translation; null for every other kind of match.")
    version: int | None


class Gloss(BaseModel):
    """A content word, ``document[field][start:end]`` in code points of that field as in a highlight."""

    field: TextField
    start: int
    end: int
    translations: list[str] = Field(
        description="The three best at most, by P(query term | document term); the best one first."
    )


class Entity(BaseModel):
    """A name in a document, ``document[field][start:end]`` in code points of that field."""

    text: str
    label: str = Field(description="PER, LOC, ORG or MISC.")
    score: float = Field(description="The probability of the label.")
    field: TextField
    start: int
    end: int


class Scores(BaseModel):
    """The score of each stage; null if the stage did not run."""

    first_stage: float = Field(
        description="BM25 in the hit's collection and language; for dense, the inner product of the vectors of the"
        " query and the best passage; for hybrid, the fused score."
    )
    dense: float | None = Field(
        default=None, description="The inner product of the vectors of the query and the best passage, for hybrid."
    )
    late: float | None = Field(
        default=None,
        description="How well the document's subwords match the query's, for the first 50 of hybrid: the mean of their"
        " largest cosines, weighted by rarity; a word that a table links counts 0.1 more, one of a glossary in full.",
    )
    rerank: float | None = Field(
        description="The reranker's probability that the document answers the query, as in the rerank endpoints."
    )


class Contribution(BaseModel):
    """The contribution of one query term to a first-stage score.

    psq: ``score = weight * idf * tf / (tf + norm)``. smt: the weighted sum of that over the translations; tf, df and
    idf are weighted sums too.
    """

    query_term: str
    tf: float = Field(description="Expected occurrences in the document, sum of P(e|f) tf_f.")
    df: float = Field(description="Expected number of documents with it, sum of P(e|f) df_f.")
    idf: float
    weight: float = Field(description="How often the term occurs in the query.")
    score: float


class Hit(BaseModel):
    """A document found."""

    rank: int
    id: str
    collection: str
    language: str
    score: float = Field(
        description="The score that orders hits: its share of the highest score that any document of this collection"
        " and language could reach for the query; for dense, the inner product; for hybrid, the fused score. For"
        " reranked hits: the sigmoid of the weighted sum of the model's logit and the logarithm of that share; for"
        " hybrid, of its fused score, calibrated to a probability; for dense, the reranker's probability. Hits below"
        " the reranked ones have scaled scores in their original order."
    )
    scores: Scores
    title: str | None = Field(
        description="Only its beginning where the answer would be larger than DRAGOMAN_ANSWER_BYTES; see `truncated`."
    )
    snippet: str = Field(
        description="The part of the text that matches best, verbatim; of a text of more than 20,000 characters the"
        " best of those that were looked at, see `truncated`."
    )
    snippet_start: int = Field(description="Where the snippet begins in the text, in code points.")
    highlights: list[Highlight] = Field(
        description="All matches in the title and inside the snippet, in this order; of a word that more than 32 words"
        " of the query match, the most probable 32. A hit of dense search has one of its meaning, which holds those of"
        " its words."
    )
    gloss: list[Gloss] | None = Field(
        default=None,
        description="Only if requested: the content words of the title and the snippet that the tables have, in this"
        " order. Empty if the hit is in the query's language.",
    )
    entities: list[Entity] | None = Field(
        default=None,
        description="Only in collections with `entities`: the distinct names in the document, each where it stands"
        " first; null if the document has not been read for names yet.",
    )
    snippet_translation: str | None = Field(
        default=None,
        description="Only if requested: the snippet in the query's language; null if it already is in that language,"
        " or if it could not be translated, which `degraded` reports.",
    )


class RankedBy(BaseModel):
    """A document's rank and score in one of the rankings; it adds ``weight * value`` to the hit's score.

    Of hits below the first 50, without late interaction, the parts add up to ``scores.first_stage``.
    """

    rank: int | None = Field(description="Null for a document below the fused ranks, of which only the score counts.")
    score: float = Field(description="BM25, or the inner product of the vectors.")
    value: float = Field(
        description="The share of the highest attainable BM25 score, or the share of the cosine above that of unrelated"
        " sentences, without what is common to its language; with DRAGOMAN_HYBRID_FUSION=rrf 1 / (60 + rank)."
    )
    weight: float


class Fusion(BaseModel):
    """The document in each ranking; null if it has no score there."""

    bm25: RankedBy | None
    dense: RankedBy | None
    late: RankedBy | None = Field(default=None, description="Late interaction; null below the first 50.")


class ExplainedHit(Hit):
    """A document found, with the contribution of each query term to its score."""

    contributions: list[Contribution] = Field(
        description="Their scores add up to the BM25 score, which is scores.first_stage, or fusion.bm25.score for"
        " hybrid; empty for dense."
    )
    fusion: Fusion | None = Field(default=None, description="Only for hybrid.")


class QueryRead(BaseModel):
    """The query as it was understood."""

    text: str
    language: str
    detected: bool
    language_probability: float = Field(
        description="How sure the language is among those that were considered; 1 where the request names it."
    )


class TableUsed(BaseModel):
    """A table version used for the response."""

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
    oov: dict[str, list[str]] = Field(
        description="By document language, the query words that no table has for it and that are in no phrase of a"
        " glossary; searched untranslated. Languages without such words are left out.",
        examples=[{"de": ["qwertyzxcvb"]}],
    )
    names: list[str] = Field(description="Names in the query that stayed whole, in some language at least.")
    ignored: list[str] = Field(
        description="Query words that are not searched in any language: stop words, and other words of the question's"
        " form."
    )


class Degraded(BaseModel):
    """A stage that did less than requested, and why."""

    stage: str
    reason: str
    _cause: str = "other"

    @classmethod
    def of(cls, stage: str, reason: str, cause: str) -> Self:
        """A degraded stage; ``cause`` is the kind of the reason, an ``error_type`` or another constant."""
        made = cls(stage=stage, reason=reason)
        made._cause = cause
        return made

    @property
    def cause(self) -> str:
        """The kind of the reason, for counting."""
        return self._cause


class Suggestion(BaseModel):
    """Another reading of the query, which finds documents."""

    query_language: str = Field(description="The query's language to search with instead.")
    reason: str


class Timings(BaseModel):
    """Milliseconds spent per stage."""

    translate: float
    first_stage: float
    rerank: float
    total: float
    dense: float | None = Field(
        default=None, description="Dense search, if it ran: encoding, embedding and searching; part of first_stage."
    )
    late: float | None = Field(default=None, description="Late interaction, if it ran; after first_stage.")
    gloss: float | None = Field(default=None, description="Only if requested.")
    translate_snippets: float | None = Field(default=None, description="Only if requested.")


class SearchResponse(BaseModel):
    """The documents found, with the evidence for each."""

    request_id: str
    query: QueryRead
    method: Method = Field(description="The method that was used.")
    hits: list[ExplainedHit | Hit]
    translation: Translation
    suggestions: list[Suggestion] = Field(
        description="Where no word of a short query was found: languages in which it finds documents."
    )
    degraded: list[Degraded]
    truncated: list[str] = Field(
        description="What was read, looked at or listed in part only: of the query, of long documents by their ids, and"
        " of an answer that would be too large."
    )
    timings_ms: Timings
