"""Settings of what is searched: indexes, translation tables, and the ranking of hits."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from dragoman.engine.core.limits import DOCUMENTS, KIB, MIB, NAMES, QUERY_CHARS, READER_LANGUAGES, TEXT_CHARS
from dragoman.engine.settings.group import Group
from dragoman.lexicon.text.languages import check_language


class IndexSettings(Group):
    """The indexes of documents: words in Lucene, embeddings and states of subwords."""

    jvm_heap: str | None = Field(
        default=None,
        description="Largest Java heap for Lucene, such as 512m or 2g; default 384m.",
    )
    index_commit_seconds: float = Field(
        default=5.0, gt=0, description="Interval between two commits of changed indexes."
    )
    analysis_seconds: float = Field(
        default=60.0, gt=0, description="Longest analysis of one document, seconds; over it the document is rejected."
    )
    embed: Literal["always", "on_demand"] = Field(
        default="always",
        description="Which collections get embeddings, made in the background: always, all, if there is an encoder;"
        " on_demand, from their first search by dense or hybrid on.",
    )
    late_megabytes: float = Field(
        default=512.0,
        ge=0,
        description="Collections keep the states of their subwords, for late interaction, while they take at most that"
        " much memory each, unless a collection says otherwise.",
    )


class TablesSettings(Group):
    """What translation tables may hold."""

    table_line_bytes: int = Field(default=64 * KIB, gt=0, description="Longest line of a translation table, bytes.")
    table_training_pairs: int = Field(
        default=2_000_000,
        gt=0,
        description="Most sentence pairs that a job trains a table from; it takes memory for each.",
    )
    table_entries: int = Field(
        default=1_000_000,
        gt=0,
        description="Most entries of a translation table; its upload and activation take memory for each.",
    )
    table_spreadsheet_bytes: int = Field(
        default=64 * MIB,
        gt=0,
        description="Largest spreadsheet (.xlsx, .ods) that is read as a translation table, unpacked, bytes.",
    )
    table_selection_bytes: int = Field(
        default=256 * MIB,
        ge=0,
        description="Size of the compiled files kept for requests that choose among the tables, bytes; the least"
        " recently used are deleted. Those of the last such request are kept in any case.",
    )


class SearchSettings(Group):
    """What a search or rerank request may ask for, and how it is ranked."""

    query_chars: int = Field(default=10_000, gt=0, le=QUERY_CHARS, description="Longest query, characters.")
    query_words: int = Field(
        default=500,
        gt=0,
        description="Most words of a query that are searched; `truncated` reports that a query has more.",
    )
    top_k_max: int = Field(default=1_000, gt=0, description="Largest top_k of a search.")
    search_names: int = Field(
        default=100, gt=0, le=NAMES, description="Most collections, or tables, that one search may name."
    )
    answer_bytes: int = Field(
        default=16 * MIB,
        ge=4 * MIB,
        description="Room in the answer of a search, bytes, for titles, highlights, glosses, names, contributions and"
        " attention beside the first snippets; what does not fit is left out of the lower hits and named in"
        " `truncated`. Of a document that is read, for what comes with it.",
    )
    concurrent_searches: int = Field(
        default=256,
        gt=0,
        description="Concurrent searches, questions and rerank requests that are read, running or queued; more are"
        " refused with 429.",
    )
    concurrent_model_searches: int = Field(
        default=64,
        gt=0,
        description="Concurrent searches that wait for the models. More are refused with 429 if they name a method that"
        " needs the encoder; else they are made by psq, or without reranking.",
    )
    reader_languages: str = Field(
        default="",
        description="Languages of those who search, ISO 639-1 codes separated by commas, such as en,fr: a short query"
        " that may be in one of them or in another language is taken for theirs. Default: what their browsers accept.",
    )
    query_cache_bytes: int = Field(
        default=16 * MIB,
        ge=0,
        description="Room for encoded queries, bytes: a query that is asked again is not encoded again. 0: none.",
    )
    embed_seconds: float = Field(
        default=10.0, ge=0, description="How long a dense search waits for documents without an embedding."
    )
    hybrid_fusion: Literal["convex", "rrf"] = Field(
        default="convex",
        description="How hybrid fuses psq and dense: convex, a convex combination of scores; rrf, by ranks.",
    )
    hybrid_dense_weight: float = Field(
        default=0.6,
        ge=0,
        le=1,
        description="Weight of dense search in hybrid; that of psq is the rest to 1. In a language that no table"
        " translates the query into it is at least 0.9.",
    )
    late_weight: float = Field(
        default=1.0,
        ge=0,
        description="Weight of late interaction in hybrid, beside 1 for the fused score; 0 turns it off.",
    )
    rerank: Literal["auto", "never"] = Field(
        default="auto",
        description="Whether searches without a rerank field are reranked: auto, unless all hits are in the query's"
        " language or in language pairs for which the reranker was measured not to help; never.",
    )
    rerank_seconds: float = Field(
        default=10.0, gt=0, description="How long a search waits for the reranker before it responds without it."
    )
    rerank_budget_ms: float = Field(
        default=300.0,
        gt=0,
        description="Latency budget of reranking in searches without a rerank field, milliseconds, without the wait"
        " for the model: its depth, at most 50, follows from it and the speed measured once. What takes longer is left"
        " out, and `degraded` says so.",
    )
    rerank_depth_max: int = Field(default=1_000, gt=0, description="Largest rerank.depth of a search.")
    rerank_documents: int = Field(
        default=2_048, gt=0, le=DOCUMENTS, description="Most documents in one rerank request."
    )
    document_chars: int = Field(
        default=200_000, gt=0, le=TEXT_CHARS, description="Longest document in a rerank request, characters."
    )

    @field_validator("reader_languages")
    @classmethod
    def _of_languages(cls, languages: str) -> str:
        """The languages, each by its one code."""
        codes = [check_language(code.strip()) for code in languages.split(",") if code.strip()]
        if len(codes) > READER_LANGUAGES:
            raise ValueError(f"names {len(codes)} languages; at most {READER_LANGUAGES} are allowed")
        return ",".join(dict.fromkeys(codes))

    @property
    def readers(self) -> list[str]:
        """``reader_languages`` as a list."""
        return [code for code in self.reader_languages.split(",") if code]

    @property
    def late_interaction(self) -> bool:
        """Whether hybrid uses late interaction, which is for fused scores."""
        return self.hybrid_fusion == "convex" and self.late_weight > 0
