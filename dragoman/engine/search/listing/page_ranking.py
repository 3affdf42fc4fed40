"""Ranks one page of a search, and reads its documents."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.engine.indexing.collections import SearchedCollections
from dragoman.engine.indexing.feed import indexed_text
from dragoman.engine.query.analysed_text import AnalysedText, RecentWords
from dragoman.engine.search.listing.lister import Lister
from dragoman.engine.search.listing.options import ListOptions
from dragoman.engine.search.ranked import Position, Retrieval
from dragoman.engine.search.relevance.judging import Judge
from dragoman.engine.search.relevance.signals import LOOKED_AT
from dragoman.engine.search.request import BY_MEANING
from dragoman.engine.search.rerank_stage import RerankStage
from dragoman.engine.search.search_ranking import MOST_RANKED, SearchRanking
from dragoman.lexicon.text.tokens import Analysis


class PageRanking:
    """Ranks pages; all pages of a query are of one list. Safe from any thread."""

    def __init__(
        self,
        collections: SearchedCollections,
        ranking: SearchRanking,
        lister: Lister,
        rerank: RerankStage,
        analysis: Callable[[str], Analysis],
    ) -> None:
        self._collections = collections
        self._ranking = ranking
        self._lister = lister
        self._rerank = rerank
        self._analysis = analysis
        self._words = RecentWords()

    def rank(self, retrieval: Retrieval, listed: ListOptions, *, read: bool) -> None:
        """Rank the documents of the page, and read them, once, if ``read`` or if they are reranked."""
        request, start = retrieval.request, retrieval.offset
        end = min(start + request.top_k, max(MOST_RANKED, request.top_k))
        options = None if listed.order else self._rerank.options(request)
        by_candidates = listed.any and (request.method in BY_MEANING or listed.collapse is not None)
        deepest = MOST_RANKED if by_candidates else end if options is None else max(end, options.depth)
        self._ranking.rank(retrieval, max(deepest, LOOKED_AT))
        judge = Judge(retrieval)
        self._lister.list(retrieval, listed, deepest)
        if options is not None:
            self.read(retrieval, options.depth)
            self._rerank.rerank(retrieval, options)
            judge.note_reranked()
        judge.judge_answer()
        if listed.collapse is not None:
            ranked, total = len(retrieval.documents), retrieval.total
            self._lister.collapse(retrieval, listed.collapse)
            if total.relation == "gte" or total.value > ranked:
                retrieval.truncated.append(f"collapse: only the first {ranked} documents were looked at")
        reachable = min(MOST_RANKED, retrieval.total.value if listed.collapse is None else len(retrieval.documents))
        retrieval.documents = retrieval.documents[start:end]
        judge.judge(retrieval.documents)
        if end < reachable:
            depth = retrieval.rerank_depth if retrieval.reranked is not None else 0
            automatic = depth if request.rerank is None else None
            retrieval.next = retrieval.cursor(Position(end, request.method or "psq", automatic))
        if read:
            self.read(retrieval, request.top_k)

    def read(self, retrieval: Retrieval, count: int) -> None:
        """Read those of the first documents that were not read yet, with their passages.

        Those that were deleted meanwhile, or of which no found passage is left, are left out.
        """
        chosen, others = retrieval.documents[:count], retrieval.documents[count:]
        retrieval.documents = [document for document in chosen if not document.is_read]
        if not retrieval.documents:
            retrieval.documents = [*chosen, *others]
            return
        self._ranking.add_passages(retrieval)
        present = {id(document) for document in retrieval.documents}
        stored = self._collections.by_keys([document.key for document in retrieval.documents])
        readable = []
        for document in chosen:
            if document.is_read:
                readable.append(document)
                continue
            if document.key not in stored or id(document) not in present:
                continue
            document.stored = stored[document.key]
            if document.passage is not None and document.passage.generation != document.stored.generation:
                if document.collection_ranking is None:
                    continue
                document.passage = None
            text = indexed_text(document.stored.title, document.stored.text)
            document.whole = AnalysedText(text, document.stored.language, self._analysis, self._words)
            document.is_read = True
            readable.append(document)
        retrieval.documents = [*readable, *others]
