"""Request and response bodies between the API and a worker process."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, NonNegativeInt, model_validator

from dragoman.engine.core.limits import DOCUMENTS
from dragoman.engine.core.priority import in_background
from dragoman.engine.models.scoring import ScoreRequest, Scores, SpannedText
from dragoman.ranking.about import RerankerAbout
from dragoman.ranking.attention import Direction, Links
from dragoman.store.validation import Body, Text

Span = tuple[NonNegativeInt, NonNegativeInt]
Weight = Annotated[FiniteFloat, Field(ge=0, le=1_000_000)]


WORDS = 20_000_000
"""Most words, or links, of one text; the worker's limits of a body are reached before."""
_SECONDS = 1_000_000.0


class _Body(Body):
    model_config = ConfigDict(extra="forbid")


class TextBody(_Body):
    """A text and (start, end) of its words, in order."""

    text: Text
    spans: list[Span] = Field(max_length=WORDS, fail_fast=True)

    @model_validator(mode="after")
    def _words_are_in_the_text(self) -> Self:
        before = 0
        for index, (start, end) in enumerate(self.spans):
            if not before <= start <= end <= len(self.text):
                raise ValueError(f"spans[{index}]: [{start}, {end}] is no word of the text after the one before")
            before = start
        return self


class DocumentBody(TextBody):
    """A document with (query word, document word, T) for the words that translate each other.

    ``glossary`` has the numbers of the links that are a glossary's.
    """

    links: list[tuple[NonNegativeInt, NonNegativeInt, Weight]] = Field(max_length=WORDS, fail_fast=True)
    glossary: list[NonNegativeInt] = Field(default_factory=list, max_length=WORDS, fail_fast=True)


class ScoreBody(_Body):
    """A query and documents to score, with a timeout in seconds."""

    query: TextBody
    documents: list[DocumentBody] = Field(min_length=1, max_length=DOCUMENTS, fail_fast=True)
    seconds: FiniteFloat = Field(gt=0, le=_SECONDS)
    background: bool = False

    @model_validator(mode="after")
    def _words_are_there(self) -> Self:
        for index, document in enumerate(self.documents):
            if any(i >= len(self.query.spans) or j >= len(document.spans) for i, j, _ in document.links):
                raise ValueError(f"documents[{index}].links: names a word that is not there")
            if any(link >= len(document.links) for link in document.glossary):
                raise ValueError(f"documents[{index}].glossary: names a link that is not there")
        return self

    @classmethod
    def of(cls, request: ScoreRequest, seconds: float) -> ScoreBody:
        documents = [
            DocumentBody.model_construct(
                text=document.text,
                spans=list(document.spans),
                links=list(zip(links.left.tolist(), links.right.tolist(), links.weights.tolist(), strict=True)),
                glossary=[] if links.glossary is None else np.flatnonzero(links.glossary).tolist(),
            )
            for document, links in zip(request.documents, request.links, strict=True)
        ]
        query = TextBody.model_construct(text=request.query.text, spans=list(request.query.spans))
        return cls.model_construct(query=query, documents=documents, seconds=seconds, background=in_background())

    def request(self) -> ScoreRequest:
        """The request that :meth:`of` was called with."""
        return ScoreRequest(
            SpannedText(self.query.text, self.query.spans),
            [SpannedText(document.text, document.spans) for document in self.documents],
            [_links(document.links, document.glossary) for document in self.documents],
        )


def _links(links: list[tuple[int, int, float]], glossary: list[int]) -> Links:
    left, right, weights = zip(*links, strict=True) if links else ((), (), ())
    written = None
    if glossary:
        written = np.zeros(len(left), np.bool_)
        written[glossary] = True
    return Links(np.asarray(left, np.int64), np.asarray(right, np.int64), np.asarray(weights, np.float32), written)


class HybridBody(BaseModel):
    """How a model's score joins that of hybrid search."""

    model_config = ConfigDict(extra="forbid")

    weight: FiniteFloat = Field(ge=0)
    scale: FiniteFloat = Field(gt=0)
    offset: FiniteFloat


class ModelBody(BaseModel):
    """The model of a worker."""

    model_config = ConfigDict(extra="forbid")

    name: str
    direction: Direction
    placebo: bool
    first_stage_weight: FiniteFloat
    hybrid: HybridBody | None = None
    not_for: list[str]

    @classmethod
    def of(cls, about: RerankerAbout) -> ModelBody:
        fields: dict[str, Any] = asdict(about)
        return cls(**{name: fields[name] for name in cls.model_fields})

    def about(self) -> RerankerAbout:
        return RerankerAbout.of(self.model_dump())


class ScoresBody(BaseModel):
    """A score per document, null if it failed; `failed` has the reasons by document number."""

    model_config = ConfigDict(extra="forbid")

    model: ModelBody
    values: list[FiniteFloat | None]
    failed: dict[int, str]
    truncated: list[int]
    tokens: int
    query_cut: bool

    @classmethod
    def of(cls, scores: Scores) -> ScoresBody:
        return cls(
            model=ModelBody.of(scores.about),
            values=scores.values,
            failed=scores.failed,
            truncated=scores.truncated,
            tokens=scores.tokens,
            query_cut=scores.query_cut,
        )

    def scores(self) -> Scores:
        return Scores(
            self.model.about(),
            list(self.values),
            self.failed,
            self.truncated,
            self.tokens,
            self.query_cut,
        )
