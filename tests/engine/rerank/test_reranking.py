"""What the reranker is asked for: the links of words, and as much of a document as it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.engine.core.errors import ClientDisconnected, TooManyRequests, Unavailable
from dragoman.engine.models.scoring import Pending, ScoreRequest, Scores
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.rerank.reranking import Reranking
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.ranking.about import RerankerAbout
from dragoman.ranking.limits import readable
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload

pytestmark = pytest.mark.slow


class Recorder:
    """Keeps what it is asked to score, and says that it cut the first document."""

    def __init__(self) -> None:
        self.asked: list[ScoreRequest] = []

    def about(self, cancelled: Any = None, seconds: float | None = None) -> RerankerAbout:
        return RerankerAbout()

    def admit(self, documents: int, seconds: float) -> None:
        if documents > 3:
            raise TooManyRequests("full")

    def begin(self, asked: ScoreRequest, seconds: float) -> Pending:
        self.asked.append(asked)
        values: list[float | None] = [0.0] * len(asked.documents)
        return Pending([], lambda: Scores(RerankerAbout(), values, truncated=[0]))

    def ready(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Of tables that know the words of a phrase, and glossaries that know the phrase."""
    runtime = Runtime(Settings.load(data_dir=Path(tmp_path_factory.mktemp("data")), rerank="never"))
    try:
        runtime.start(serving=False)
        for target, words in {"it": b"hot\tcaldo\ndog\tcane\n", "da": b"hot\tvarm\ndog\thund\n"}.items():
            runtime.tables.upload(Upload(f"words-{target}", "en", target, activate=True), iter([words]))
            phrases = Upload(f"phrases-{target}", "en", target, kind="glossary", activate=True)
            runtime.tables.upload(phrases, iter([b"hot dog\tpanino\nhot\tpepe\n"]))
        return runtime.tables.registry.snapshot
    finally:
        runtime.close()


def links(snapshot: Snapshot, query: str, source: str, document: str, target: str) -> set[tuple[str, str]]:
    scoring = Recorder()
    Reranking(scoring, analysis).begin(text(query, source), [text(document, target)], snapshot, 60)
    (asked,) = scoring.asked
    (linked,) = asked.links
    return {
        (word(asked.query.text, asked.query.spans[left]), word(document, asked.documents[0].spans[right]))
        for left, right in zip(linked.left, linked.right, strict=True)
    }


def text(content: str, language: str) -> AnalysedText:
    return AnalysedText(content, language, analysis)


def word(text: str, span: tuple[int, int]) -> str:
    return text[span[0] : span[1]]


@pytest.mark.parametrize(
    ("target", "document", "dog"), [("it", "panino, cane", "cane"), ("da", "panino, hund", "hund")]
)
def test_what_a_glossary_says_of_a_phrase_stands_for_its_words(
    snapshot: Snapshot, target: str, document: str, dog: str
) -> None:
    assert links(snapshot, "A hot dog", "en", document, target) == {("hot", "panino"), ("dog", "panino")}
    assert links(snapshot, "It is hot", "en", document, target) == set()
    back = links(snapshot, document, target, "A hot dog, a dog", "en")
    assert back == {("panino", "hot"), ("panino", "dog"), (dog, "dog")}


def test_of_a_long_document_only_what_is_read_is_sent_and_that_is_said(snapshot: Snapshot) -> None:
    scoring, long = Recorder(), "un cane " * 20_000
    documents = [text("un cane", "it"), text("Panino", "it"), text(long, "it")]
    found = Reranking(scoring, analysis).begin(text("dog", "en"), documents, snapshot, 60).finish()
    assert [one.text for one in scoring.asked[0].documents] == ["un cane", "Panino", readable(long)]
    assert found.truncated == [0, 2]


def test_nothing_is_read_that_nobody_waits_for(snapshot: Snapshot) -> None:
    scoring = Recorder()
    reranking, query, documents = Reranking(scoring, analysis), text("dog", "en"), [text("un cane", "it")]
    with pytest.raises(Unavailable, match="not analysed in time"):
        reranking.begin(query, documents, snapshot, 0.0)
    with pytest.raises(ClientDisconnected):
        reranking.begin(query, documents, snapshot, 60, lambda: True)
    with pytest.raises(TooManyRequests):
        reranking.begin(query, documents * 4, snapshot, 60)
    assert scoring.asked == []
