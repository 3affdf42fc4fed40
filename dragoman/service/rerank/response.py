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
    RerankAnswerV1,
    RerankAnswerV2,
    RerankV1,
    RerankV2,
    Result,
    TablesConsulted,
    Usage,
)


def answer_v1(identifier: str, request: RerankV1, ranking: Ranking) -> RerankAnswerV1:
    """The response in the format of Cohere v1 and Jina."""
    return RerankAnswerV1(
        id=identifier,
        model=ranking.model,
        results=_results(ranking, request.top_n, request.documents if request.return_documents else None),
        meta=_meta("1", ranking, request.model),
        usage=Usage(total_tokens=ranking.tokens),
        failed=_failures(ranking),
        truncated=ranking.truncated or None,
    )


def answer_v2(identifier: str, request: RerankV2, ranking: Ranking) -> RerankAnswerV2:
    """The response in the format of Cohere v2."""
    return RerankAnswerV2(
        id=identifier,
        results=_results(ranking, request.top_n, None),
        meta=_meta("2", ranking, request.model),
        failed=_failures(ranking),
        truncated=ranking.truncated or None,
    )


def check_scored(ranking: Ranking, documents: int) -> None:
    """Raise :class:`InternalError` if no document has a score."""
    if not ranking.best:
        raise InternalError(f"none of {documents} documents could be scored: {ranking.failed[0]}")


def best(ranking: Ranking, top_n: int | None) -> list[tuple[int, float]]:
    """(index, score) of the ``top_n`` best; null or 0 means all."""
    return ranking.best[: top_n or None]


def warnings(ranking: Ranking, model: str | None) -> list[str]:
    """Messages about what differs from the request; ``model`` is the requested model."""
    warnings = list(ranking.languages.warnings)
    if model is not None and model != ranking.model:
        warnings.append(f"scored by the model {ranking.model!r}; there is no model named {model[:100]!r}")
    if ranking.failed:
        warnings.append(f"{len(ranking.failed)} documents could not be scored and are left out")
    if ranking.query_cut:
        warnings.append("only the beginning of the query was read, to leave room for the documents")
    if ranking.truncated:
        warnings.append(f"{len(ranking.truncated)} documents were read only up to their first 800 subwords")
    return warnings


def _results(ranking: Ranking, top_n: int | None, documents: Sequence[str | DocumentFields] | None) -> list[Result]:
    """The ``top_n`` best results, with the documents as sent if there are any."""
    languages = ranking.languages.documents
    return [
        Result(
            index=index,
            relevance_score=score,
            document=None if documents is None else _document_body(documents[index]),
            language=None if languages is None else languages[index],
        )
        for index, score in best(ranking, top_n)
    ]


def _document_body(document: str | DocumentFields) -> DocumentReturned:
    fields = {"text": document} if isinstance(document, str) else document.model_dump()
    return DocumentReturned.model_validate(fields)


def _failures(ranking: Ranking) -> list[Failed] | None:
    return [Failed(index=index, reason=reason) for index, reason in sorted(ranking.failed.items())] or None


def _meta(version: str, ranking: Ranking, model: str | None) -> Meta:
    languages = ranking.languages
    return Meta(
        api_version=ApiVersion(version=version),
        warnings=warnings(ranking, model) or None,
        query=QueryTaken(
            language=languages.language,
            detected=languages.detected,
            language_probability=round(languages.probability, 4),
        ),
        translation=TablesConsulted(tables=list(languages.tables)),
    )
