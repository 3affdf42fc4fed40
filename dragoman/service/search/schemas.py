"""Request and response bodies of ``POST /v1/search``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    Tag,
    field_validator,
)

from dragoman.engine.core.limits import QUERY_CHARS
from dragoman.engine.search import request
from dragoman.engine.search.request import Method, SearchQuery
from dragoman.store.validation import (
    AtFirstFault,
    Body,
    LanguageCode,
    Name,
    Names,
    NotBlank,
    ReaderLanguages,
    Text,
)


class _Request(Body):
    model_config = ConfigDict(extra="forbid")


class RerankOptions(_Request):
    """How to rerank the best hits of the first stage."""

    depth: StrictInt = Field(default=50, ge=1, description="How many hits to rerank, by default up to 1,000.")
    model: Name | None = None


class ExplainOptions(_Request):
    """What an explanation has beside the contributions."""

    attention: StrictBool = Field(
        default=False,
        description="Add to each hit how the tables link the words of the query with its words: the translation"
        " attention of the reranker, which hits have whether they are reranked or not.",
    )


def _explain_kind(explain: Any) -> str:
    return "ExplainOptions" if isinstance(explain, dict | ExplainOptions) else "switch"


_Explain = Annotated[
    Annotated[ExplainOptions, Tag("ExplainOptions")] | Annotated[StrictBool, Tag("switch")],
    Discriminator(_explain_kind),
]


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
        default=None,
        description="Translation tables to use: `name` for the active version, `name@3` for any that is"
        " there. All active ones when left out.",
    )
    rerank: _Rerank | None = Field(
        default=None,
        description="How to rerank; false turns it off. When left out, hits of psq, smt and none are reranked, at most"
        " 50 and as many as DRAGOMAN_RERANK_BUDGET_MS allows, unless all of them are in the query's language or in"
        " language pairs for which the reranker was measured not to help. Hits of dense and hybrid are not reranked"
        " then, and none are if DRAGOMAN_RERANK=never is set or there is no reranker.",
    )
    names: StrictBool = Field(
        default=False,
        description="Whether names in the query stay whole: where a table has all of one, and those of persons where"
        " their words match by form and sound. For psq and hybrid. Finding names takes longer than the rest of a search"
        " does, and was not measured to find more.",
    )
    entities: Annotated[list[Name], Field(min_length=1, max_length=100), AtFirstFault] | None = Field(
        default=None,
        description="Only documents that hold all of these names: as written, as a table translates the whole name from"
        " the query's language, or alike in sound in another script. Of collections made with `entities`; without"
        " `collections`, of those alone.",
        examples=[["Angela Merkel"]],
    )
    filter: dict[str, Any] | None = Field(
        default=None,
        description="Only documents whose fields match, in MongoDB's form: a path in the metadata, or `id`, `language`,"
        " `title`, `entities`. See docs/search.md.",
        examples=[{"category": "politics", "year": {"$gte": 2020}}],
    )
    gloss: StrictBool = Field(
        default=False,
        description="Add to each hit the translations of its words into the query's language, from the active tables.",
    )
    explain: _Explain = Field(
        default=False,
        description="Add to each hit the contribution of each query term to its score; an object says what else.",
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

    def as_query(self) -> SearchQuery:
        """What the engine is asked."""
        asked = {name: getattr(self, name) for name in type(self).model_fields if name != "query_id"}
        if isinstance(self.explain, ExplainOptions):
            asked |= {"explain": True, "attention": self.explain.attention}
        options = asked["rerank"]
        if isinstance(options, RerankOptions):
            asked["rerank"] = request.RerankOptions(options.depth, options.model)
        return SearchQuery(**asked)

    @field_validator("rerank", mode="before")
    @classmethod
    def _options(cls, rerank: Any) -> Any:
        if rerank is not None and rerank is not False and not isinstance(rerank, dict | RerankOptions):
            raise ValueError("must be an object, false or left out")
        return rerank
