"""Builds the responses of the rerank endpoints from a ranking."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.engine.core.errors import InternalError
from dragoman.engine.rerank.request import Ranking
from dragoman.service.rerank.schemas import (
    ApiVersion,
    DocumentFields,
    DocumentReturned,
    Failed,
    Meta,
    QueryTaken,
    Rank,
    Rerank,
    RerankAnswerV1,
    RerankAnswerV2,
    RerankTei,
    RerankV1,
    RerankV2,
    Result,
    TablesConsulted,
    Usage,
)


def answer_v1(identifier: str, request: RerankV1, ranking: Ranking) -> RerankAnswerV1:
    """The response in the format of Cohere v1 and Jina."""
    results = _results(ranking, request, request.documents if request.return_documents else None)
    return RerankAnswerV1(
        id=identifier,
        model=ranking.model,
        results=results,
        meta=_meta("1", ranking, request, request.model),
        usage=Usage(total_tokens=ranking.tokens),
        failed=_failures(ranking),
        truncated=ranking.truncated or None,
        voyage_results=None if request.truncation is None else results,
    )


def answer_v2(identifier: str, request: RerankV2, ranking: Ranking) -> RerankAnswerV2:
    """The response in the format of Cohere v2."""
    return RerankAnswerV2(
        id=identifier,
        results=_results(ranking, request, None),
        meta=_meta("2", ranking, request, request.model),
        failed=_failures(ranking),
        truncated=ranking.truncated or None,
    )


def check_scored(ranking: Ranking, documents: int) -> None:
    """Raise :class:`InternalError` if no document has a score."""
    if not ranking.best:
        raise InternalError(f"none of {documents} documents could be scored: {ranking.failed[0]}")


def answer_tei(request: RerankTei, ranking: Ranking) -> list[Rank]:
    """The response in the format of TEI."""
    texts = request.texts
    return [
        Rank(index=index, score=score, text=texts[index] if request.return_text else None)
        for index, score in _best(ranking, request)
    ]


def warnings(ranking: Ranking, request: Rerank, model: str | None = None) -> list[str]:
    """Messages about what differs from the request; ``model`` is the requested model."""
    warnings = [*ranking.languages.warnings, *request.unknown_fields()]
    if model is not None and model != ranking.model:
        warnings.append(f"scored by the model {ranking.model!r}; there is no model named {model[:100]!r}")
    if ranking.failed:
        warnings.append(f"{len(ranking.failed)} documents could not be scored and follow the others")
    if ranking.query_cut:
        warnings.append("only the beginning of the query was read, to leave room for the documents")
    if ranking.truncated:
        warnings.append(f"{len(ranking.truncated)} documents were read only up to a limit of at most 800 subwords")
    return warnings


def _best(ranking: Ranking, request: Rerank) -> list[tuple[int, float]]:
    """(index, score) of the best documents, as many as the request wants.

    Those that could not be scored come last, with a probability of 0, or the lowest of the other logits.
    """
    least = ranking.best[-1][1] if request.raw_scores else 0.0
    return [*ranking.best, *((index, least) for index in sorted(ranking.failed))][: request.limit]


def _results(ranking: Ranking, request: Rerank, documents: Sequence[str | DocumentFields] | None) -> list[Result]:
    """The best results, with the documents as sent if there are any."""
    languages = ranking.languages.documents
    return [
        Result(
            index=index,
            relevance_score=score,
            document=None if documents is None else _document_body(documents[index]),
            language=None if languages is None else languages[index],
        )
        for index, score in _best(ranking, request)
    ]


def _document_body(document: str | DocumentFields) -> DocumentReturned:
    fields = {"text": document} if isinstance(document, str) else document.model_dump()
    return DocumentReturned.model_validate(fields)


def _failures(ranking: Ranking) -> list[Failed] | None:
    return [Failed(index=index, reason=reason) for index, reason in sorted(ranking.failed.items())] or None


def _meta(version: str, ranking: Ranking, request: Rerank, model: str | None) -> Meta:
    languages = ranking.languages
    return Meta(
        api_version=ApiVersion(version=version),
        warnings=warnings(ranking, request, model) or None,
        query=QueryTaken(
            language=languages.language,
            detected=languages.detected,
            language_probability=round(languages.probability, 4),
        ),
        translation=TablesConsulted(tables=list(languages.tables)),
    )
