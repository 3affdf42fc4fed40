"""What a search answers: the hits with the evidence for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from dragoman.engine.checking.response import CheckedTranslation
from dragoman.engine.core.answer import Answer, Degraded, left_out
from dragoman.engine.query.response import QueryRead, Translation
from dragoman.engine.search.request import Method

TextField = Literal["title", "text"]
Found = Literal["good", "weak", "none"]
"""Whether an answer has what was asked for: it has; it may have; it has not."""
MatchKind = Literal["table", "identical", "sound", "spelling", "meaning"]


@dataclass(slots=True, kw_only=True)
class Highlight(Answer):
    """A part of a document that matched: ``document[field][start:end]``, in code points of that field.

    All offsets of an answer are in code points unless the request's ``offsets`` says UTF-16 code units.
    """

    field: TextField
    start: int
    end: int
    match: MatchKind
    """How it matched. table: a table has the two words as translations; identical: the same word on both sides, up
    to its form; sound: words that no table has and that sound alike; spelling: a table has a word as a translation that
    is spelt nearly as the query's, which neither a table nor a document has; meaning: the sentence whose embedding is
    nearest to the query's."""
    document_term: str
    query_term: str
    """For meaning, the whole query."""
    probability: float | None
    """P(query term | document term); 1 for the same word on both sides; for words that sound alike, the similarity
    of their romanisations; for spelling, half of it for each edit; null for meaning."""
    table: str | None
    """The table with this translation, for table and spelling; null for every other kind of match."""
    version: int | None


@dataclass(slots=True, kw_only=True)
class Gloss(Answer):
    """A content word, ``document[field][start:end]`` in code points of that field as in a highlight."""

    field: TextField
    start: int
    end: int
    translations: list[str]
    """The three best at most, by P(query term | document term); the best one first."""


@dataclass(slots=True, kw_only=True)
class Entity(Answer):
    """A name in a document, ``document[field][start:end]`` in code points of that field."""

    text: str
    label: str
    """PER, LOC, ORG or MISC."""
    score: float
    """The probability of the label."""
    field: TextField
    start: int
    end: int


@dataclass(slots=True, kw_only=True)
class Scores(Answer):
    """The score of each stage; null if the stage did not run."""

    first_stage: float
    """BM25 in the hit's collection and language; for dense, the inner product of the vectors of the query and the
    best passage; for hybrid, the fused score."""
    dense: float | None = field(default_factory=left_out)
    """The inner product of the vectors of the query and the best passage, for hybrid."""
    late: float | None = field(default_factory=left_out)
    """How well the document's subwords match the query's, for the first 50 of hybrid: the mean of their largest
    cosines, weighted by rarity; a word that a table links counts 0.1 more, one of a glossary in full."""
    rerank: float | None
    """The reranker's probability that the document answers the query, as in the rerank endpoints."""


@dataclass(slots=True, kw_only=True)
class Contribution(Answer):
    """The contribution of one query term to a first-stage score.

    psq: ``score = weight * idf * tf / (tf + norm)``. smt: the weighted sum of that over the translations; tf, df and
    idf are weighted sums too.
    """

    query_term: str
    tf: float
    """Expected occurrences in the document, sum of P(e|f) tf_f."""
    df: float
    """Expected number of documents with it, sum of P(e|f) df_f."""
    idf: float
    weight: float
    """How often the term occurs in the query."""
    score: float


@dataclass(slots=True, kw_only=True)
class RankedBy(Answer):
    """A document's rank and score in one of the rankings; it adds ``weight * value`` to the hit's score.

    Of hits below the first 50, without late interaction, the parts add up to ``scores.first_stage``.
    """

    rank: int | None
    """Null for a document below the fused ranks, of which only the score counts."""
    score: float
    """BM25, or the inner product of the vectors."""
    value: float
    """The share of the highest attainable BM25 score, or the share of the cosine above that of unrelated sentences,
    without what is common to its language; with DRAGOMAN_HYBRID_FUSION=rrf 1 / (60 + rank)."""
    weight: float


@dataclass(slots=True, kw_only=True)
class Fusion(Answer):
    """The document in each ranking; null if it has no score there."""

    bm25: RankedBy | None
    dense: RankedBy | None
    late: RankedBy | None = field(default_factory=left_out)
    """Late interaction; null below the first 50."""


@dataclass(slots=True, kw_only=True)
class Total(Answer):
    """How many documents there are to be found; with ``gte`` there are more, or parts could not be asked."""

    value: int
    relation: Literal["eq", "gte"]


@dataclass(slots=True, kw_only=True)
class FacetCount(Answer):
    """How many of the documents to be found have a value."""

    value: str | int | float | bool
    count: int


@dataclass(slots=True, kw_only=True)
class QueryWord(Answer):
    """A word ``query[start:end]`` of the query, in code points."""

    text: str
    start: int
    end: int


@dataclass(slots=True, kw_only=True)
class AttentionWord(Answer):
    """A word ``document[field][start:end]``, in code points of that field as in a highlight."""

    field: TextField
    start: int
    end: int
    text: str


@dataclass(slots=True, kw_only=True)
class Attention(Answer):
    """How the tables link the words of the query with those of the document: T of the reranker's attention matrix."""

    direction: Literal["forward", "backward", "mean"]
    """What a weight is: P(document word | query word), P(query word | document word), or their mean. It is that of
    the reranker where it ran, else the mean."""
    query_words: list[QueryWord]
    """All words of the query; a word that is not searched has a row of zeros."""
    document_words: list[AttentionWord]
    """The words that are linked with a word of the query, of the title and then the text, up to where a reranker reads.
    All others have columns of zeros, and are left out."""
    weights: list[list[float]]
    """A row for each word of the query, a column for each of the document: 1 for the same word on both sides, the
    likeness of words that no table has and that sound alike, 0 without a link."""


@dataclass(slots=True, kw_only=True)
class Snippet(Answer):
    """A part of a document's text, verbatim."""

    text: str
    start: int
    """Where it begins in the document's text, in code points."""


@dataclass(slots=True, kw_only=True)
class Hit(Answer):
    """A document found."""

    rank: int
    id: str
    collection: str
    language: str
    score: float
    """The score that orders hits: its share of the highest score that any document of this collection and language
    could reach for the query; for dense, the inner product; for hybrid, the fused score. For reranked hits: the
    sigmoid of the weighted sum of the model's logit and the logarithm of that share; for hybrid, of its fused
    score, calibrated to a probability; for dense, the reranker's probability. Hits below the reranked ones have
    scaled scores in their original order."""
    scores: Scores
    title: str | None
    """Only its beginning where the answer would be larger than DRAGOMAN_ANSWER_BYTES; see `truncated`."""
    snippet: str
    """The part of the text that matches best, verbatim; of a text of more than 20,000 characters the best of those
    that were looked at, see `truncated`."""
    snippet_start: int
    """Where the snippet begins in the text, in code points."""
    snippets: list[Snippet] = field(default_factory=left_out)
    """Only where more than one is requested: the snippet, and then others of the same document that have matches and
    do not overlap, the best one first; what has no room in the answer is left out and named in `truncated`."""
    metadata: dict[str, Any]
    """The document's metadata, or what the request's `fields` choose of it; what has no room, or more than 100,000
    characters, is left out and named in `truncated`."""
    highlights: list[Highlight]
    """All matches in the title and inside the snippet, or all `snippets`, in this order; of a word that more than 32
    words of the query match, the most probable 32. A hit of dense search has one of its meaning, which holds those of
    its words; of a sentence longer than the snippet, it marks what the snippet has."""
    gloss: list[Gloss] | None = field(default_factory=left_out)
    """Only if requested, or where a sentence of `snippet_translation` failed: the content words of the title and the
    snippet, or all `snippets`, that the tables have. Empty if the hit is in the query's language."""
    entities: list[Entity] | None = field(default_factory=left_out)
    """Only in collections with `entities`: the distinct names in the document, each where it stands first; null if
    the document has not been read for names yet."""
    collapsed: int = field(default_factory=left_out)
    """Only with `collapse`: how many other documents with the same value were ranked."""
    snippet_translation: CheckedTranslation | None = field(default_factory=left_out)
    """Only if requested: `snippet`, not the further ones, in the query's language, each sentence checked; null if it
    already is in that language, or if it could not be translated, which `degraded` reports."""
    contributions: list[Contribution] = field(default_factory=left_out)
    """Only if explained: what each query term adds. Their scores add up to the BM25 score, which is
    scores.first_stage, or fusion.bm25.score for hybrid; empty for dense."""
    fusion: Fusion | None = field(default_factory=left_out)
    """Only if explained, for hybrid."""
    attention: Attention | None = field(default_factory=left_out)
    """Only if requested; null where there was no time or no room for it, see `degraded` and `truncated`."""
    relevance: float
    """The probability that the document answers the query, which means the same for every method and language. It
    depends on the query, the document and its collection: on no filter, page or other hit."""
    weak: bool
    """Whether that is so low that the hit is more likely to be there for want of a better one."""


@dataclass(slots=True, kw_only=True)
class Suggestion(Answer):
    """Another reading of the query, which finds documents."""

    query_language: str
    """The query's language to search with instead."""
    reason: str


@dataclass(slots=True, kw_only=True)
class Timings(Answer):
    """Milliseconds spent per stage."""

    translate: float
    first_stage: float
    rerank: float
    total: float
    dense: float | None = field(default_factory=left_out)
    """Dense search, if it ran: encoding, embedding and searching; part of first_stage."""
    late: float | None = field(default_factory=left_out)
    """Late interaction, if it ran; after first_stage."""
    gloss: float | None = field(default_factory=left_out)
    """Only if requested."""
    attention: float | None = field(default_factory=left_out)
    """Only if requested."""
    translate_snippets: float | None = field(default_factory=left_out)
    """Only if requested."""


@dataclass(slots=True, kw_only=True)
class RerankUsed(Answer):
    """How hits were reranked."""

    depth: int
    """The hits that were, from the first on: as the request says, or as many as the service has time for."""
    model: str


@dataclass(slots=True, kw_only=True)
class SearchResponse(Answer):
    """The documents found, with the evidence for each."""

    request_id: str
    query: QueryRead
    method: Method
    """The method that was used."""
    rerank: RerankUsed | None
    """Null if no hit was reranked."""
    hits: list[Hit]
    translation: Translation
    total: Total
    """The documents to be found: for psq, smt and none all that match, for dense and hybrid those that are ranked, at
    most 1,000."""
    facets: dict[str, list[FacetCount]] = field(default_factory=left_out)
    """Only if requested: of the documents that `total` counts, the most frequent values of each field."""
    next: str | None
    """The cursor to the next page; null if there is none."""
    found: Found
    """Whether there is anything for the query, by the relevance of the ten best: `good`; `weak`, where it is doubtful;
    or `none`: no hits, or hits that are there for want of better ones."""
    suggestions: list[Suggestion]
    """Where no word of a short query was found: languages in which it finds documents."""
    degraded: list[Degraded]
    truncated: list[str]
    """What was read, looked at or listed in part only: of the query, of long documents by their ids, and of an
    answer that would be too large."""
    timings_ms: Timings
