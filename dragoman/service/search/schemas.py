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
from dragoman.engine.query.exact.syntax import LONGEST
from dragoman.engine.query.exact.wishes import MOST
from dragoman.engine.search import request
from dragoman.engine.search.listing.options import MOST_FACETS, MOST_SORTED
from dragoman.engine.search.request import SNIPPET_LENGTH, Method, SearchQuery
from dragoman.indexes.attributes.values import LONGEST_PATH
from dragoman.store.validation import (
    AtFirstFault,
    Body,
    FilterObject,
    LanguageCode,
    Name,
    Names,
    NotBlank,
    Offsets,
    ReaderLanguages,
    Text,
)


class _Request(Body):
    model_config = ConfigDict(extra="forbid")


class RerankOptions(_Request):
    """How to rerank the best hits of the first stage."""

    depth: StrictInt = Field(default=50, ge=1, description="How many hits to rerank, by default up to 1,000.")
    model: Name | None = None


_Generations = Annotated[dict[Name, Annotated[StrictInt, Field(ge=0)]], Field(max_length=20)]

FieldName = Annotated[Text, Field(min_length=1, max_length=LONGEST_PATH + 1)]


class FacetField(_Request):
    """A field whose values are counted."""

    field: FieldName
    size: StrictInt = Field(default=10, ge=1, le=1_000, description="The most frequent values that are shown.")


_Facet = Annotated[
    Annotated[FacetField, Tag("FacetField")] | Annotated[FieldName, Tag("FieldName")],
    Discriminator(lambda facet: "FieldName" if isinstance(facet, str) else "FacetField"),
]


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


class SnippetOptions(_Request):
    """Which parts of their texts hits show."""

    count: StrictInt = Field(
        default=1,
        ge=1,
        le=5,
        description="How many snippets a hit has at most: with more than one, each hit has the field `snippets`, and"
        " `highlights` are those of all of them.",
    )
    length: StrictInt = Field(
        default=SNIPPET_LENGTH, ge=50, le=2_000, description="How long a snippet is at most, in code points."
    )


def _kind(rerank: Any) -> str:
    return "off" if rerank is False else "RerankOptions"


_Rerank = Annotated[
    Annotated[RerankOptions, Tag("RerankOptions")] | Annotated[Literal[False], Tag("off")], Discriminator(_kind)
]


_Exact = Annotated[list[Annotated[NotBlank, Field(max_length=LONGEST)]], Field(max_length=MOST), AtFirstFault]


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
    names: StrictBool | None = Field(
        default=None,
        description="Whether names in the query stay whole: where a table has all of one, and those of persons where"
        " their words match by form and sound. For psq and hybrid. Finding names takes longer than the rest of a search"
        " does, and was not measured to find more, so they do not when left out.",
    )
    entities: Annotated[list[Name], Field(min_length=1, max_length=100), AtFirstFault] | None = Field(
        default=None,
        description="Only documents that hold all of these names: as written, as a table translates the whole name from"
        " the query's language, or alike in sound in another script. Of collections made with `entities`; without"
        " `collections`, of those alone.",
        examples=[["Angela Merkel"]],
    )
    must: _Exact = Field(
        default=[],
        description="Words and phrases that documents must hold: as they are, or in translation. See docs/search.md.",
        examples=[["volcano", "ash cloud"]],
    )
    must_not: _Exact = Field(
        default=[],
        description="Words and phrases that documents must not hold, neither as they are nor in translation.",
    )
    syntax: Literal["text", "simple"] = Field(
        default="text",
        description='simple: in the query `"…"` is a phrase that must occur, `+word` a word that must, and `-word` one'
        " that must not; text: all of it is text.",
    )
    untranslated: Literal["literal", "error"] = Field(
        default="literal",
        description="What happens with a required or excluded word without a translation into a language of the"
        " documents: it is looked for as it is, which the answer says, or the search is refused.",
    )
    filter: FilterObject | None = Field(
        default=None,
        description="Only documents whose fields match, in MongoDB's form: a path in the metadata, or `id`, `language`,"
        " `title`, `entities`. See docs/search.md.",
        examples=[{"category": "politics", "year": {"$gte": 2020}}],
    )
    facets: Annotated[list[_Facet], Field(min_length=1, max_length=MOST_FACETS), AtFirstFault] | None = Field(
        default=None,
        description="Fields whose values are counted in the documents that `total` counts, by default the 10 most"
        " frequent ones of each.",
        examples=[["category", {"field": "year", "size": 20}]],
    )
    sort: Annotated[list[FieldName], Field(min_length=1, max_length=MOST_SORTED), AtFirstFault] | None = Field(
        default=None,
        description="Fields that order the hits, descending after '-', and `_score`, best first; without a value last,"
        " ties by document. psq, smt and none order all matching documents, dense and hybrid those that are ranked.",
        examples=[["-date", "_score"]],
    )
    offset: StrictInt = Field(
        default=0, ge=0, description="Hits before the first one; offset and top_k together reach 1,000 hits."
    )
    cursor: Annotated[Text, Field(min_length=1, max_length=2_000)] | None = Field(
        default=None,
        description="`next` of the page before, with the same request; 410 where documents or tables have changed.",
    )
    collapse: FieldName | None = Field(
        default=None,
        description="A field of which each value has one hit, the best, with the number of the others; documents"
        " without a value stay. Of those that are ranked, at most 1,000.",
        examples=["story"],
    )
    fields: Annotated[list[Name], Field(max_length=100), AtFirstFault] | None = Field(
        default=None,
        description="What hits have of documents' metadata: dotted paths, through lists of objects too; `metadata.id`"
        " reaches a key of such a name. When left out, all of it.",
        examples=[["url"]],
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
        description="Add to each hit its snippet in the query's language, of several the first one; 503 unless"
        " `DRAGOMAN_TRANSLATOR` names a translator.",
    )
    snippets: SnippetOptions | None = Field(
        default=None,
        description="How many snippets hits have, and how long they are; one of at most 400 characters when left out.",
        examples=[{"count": 3, "length": 200}],
    )
    offsets: Offsets = "codepoint"
    min_generation: _Generations | None = Field(
        default=None,
        description="The generation of collections that the search is to see at least, as imports and changes are"
        " answered with it. 409 where a collection has not reached it, 503 where its index has not yet.",
        examples=[{"news": 12}],
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
        asked["names"] = bool(self.names)
        if isinstance(self.explain, ExplainOptions):
            asked |= {"explain": True, "attention": self.explain.attention}
        options = asked["rerank"]
        if isinstance(options, RerankOptions):
            asked["rerank"] = request.RerankOptions(options.depth, options.model)
        shown = self.snippets or SnippetOptions()
        asked["snippets"] = request.SnippetOptions(shown.count, shown.length)
        if self.facets is not None:
            asked["facets"] = [
                request.FacetField(facet) if isinstance(facet, str) else request.FacetField(facet.field, facet.size)
                for facet in self.facets
            ]
        return SearchQuery(**asked)

    @field_validator("rerank", mode="before")
    @classmethod
    def _options(cls, rerank: Any) -> Any:
        if rerank is not None and rerank is not False and not isinstance(rerank, dict | RerankOptions):
            raise ValueError("must be an object, false or left out")
        return rerank
