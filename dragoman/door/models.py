"""Models without a database: ranking, embeddings, names. Each is loaded once a process, when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from dragoman.door.answers.results import Ranked, Tag
from dragoman.door.calls import check_top_k, collect_texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dragoman.backbone.sentences import SentenceEncoder
    from dragoman.door.database import Database
    from dragoman.door.table import Table
    from dragoman.ranking.about import RerankerAbout
    from dragoman.ranking.scoring import AnyScorer
    from dragoman.tagging.tagger import Tagger

_LOADING = Lock()
_COMPUTING = Lock()
"""One computation at a time: each has all processor threads."""


def rank(
    query: str,
    documents: Sequence[str],
    top_k: int | None = None,
    *,
    tables: Sequence[Table] = (),
    query_language: str | None = None,
    document_language: str | None = None,
) -> list[Ranked]:
    """Texts in any languages, the best for the query first; no collection and no server.

    A score is the probability that the text answers the query. With ``tables`` their entries link words of the query
    and of the texts; that needs Java (``dragoman[search]``), and languages that are not named are detected.

    >>> import dragoman
    >>> [hit.index for hit in dragoman.rank("volcano ash", ["Ein Rezept für Brot.", "Der Vulkan spuckt Asche."])]
    [1, 0]
    """
    texts = collect_texts(documents, "documents")
    check_top_k(top_k)
    if not texts:
        return []
    if tables:
        return _with_tables(query, texts, top_k, tables, query_language, document_language)
    from dragoman.lexicon.text.tokens import PlainAnalysis
    from dragoman.ranking.about import sigmoid, standalone
    from dragoman.ranking.attention import TranslationReference, Words
    from dragoman.ranking.passages import shorten_query, tokenize_texts

    scorer, about = _scorer()

    def words_of(text: str, language: str | None) -> Words:
        tokens = PlainAnalysis(language or "en").tokens(text)
        return Words([token.term for token in tokens], [(token.start, token.end) for token in tokens])

    asked, text_words = words_of(query, query_language), [words_of(text, document_language) for text in texts]
    reference = TranslationReference(asked, None, direction=about.direction)
    links = [reference.links(words) for words in text_words]
    with _COMPUTING:
        read_query, *passages = tokenize_texts(
            scorer.encoder, [query, *texts], [asked.spans, *(words.spans for words in text_words)]
        )
        rows = scorer.rows(shorten_query(scorer.encoder, read_query), passages, links)
        values, shares = scorer.scores(rows), scorer.shares(rows)
    probabilities = [
        sigmoid(float(standalone(score, share, about.standalone))) for score, share in zip(values, shares, strict=True)
    ]
    best = sorted(enumerate(probabilities), key=lambda scored: (-scored[1], scored[0]))[:top_k]
    return [Ranked(index, probability, texts[index]) for index, probability in best]


def encode(
    texts: Sequence[str], kind: Literal["query", "passage"] = "passage", model: str = "e5-small"
) -> NDArray[np.float32]:
    """The embeddings (texts, width) of texts in any languages, of length 1; those of e5-small have 384 numbers.

    A query and a passage that answers it are near each other; each is encoded as its ``kind``. ``model`` is also the
    folder or the Hugging Face name of an encoder.

    >>> import dragoman
    >>> dragoman.encode(["Wo ist der Bahnhof?"], kind="query").shape
    (1, 384)

    Raises:
        ValueError: ``kind`` is neither query nor passage.
        CheckpointError: the model cannot be loaded.
    """
    if kind not in ("query", "passage"):
        raise ValueError(f"kind is query or passage, not {kind!r}")
    encoder = _encoder(model)
    with _COMPUTING:
        return encoder.encode(collect_texts(texts, "texts"), kind)


def tag(texts: Sequence[str], task: Literal["ner", "pos"] = "ner") -> list[list[Tag]]:
    """The names (PER, LOC, ORG, MISC), or the parts of speech (of Universal Dependencies), in texts of any languages.

    >>> import dragoman
    >>> [(tag.text, tag.label) for tag in dragoman.tag(["Angela Merkel besuchte Paris."])[0]]
    [('Angela Merkel', 'PER'), ('Paris', 'LOC')]

    Raises:
        ValueError: there is no tagger of this task.
    """
    from dragoman.lexicon.text.passages import passages

    texts, tagger = collect_texts(texts, "texts"), _tagger(task)
    spans = [(place, start, end) for place, text in enumerate(texts) for start, end in passages(text)]
    with _COMPUTING:
        tagged = tagger.tag([texts[place][start:end] for place, start, end in spans])
    results: list[list[Tag]] = [[] for _ in texts]
    for (place, start, _), tags in zip(spans, tagged, strict=True):
        results[place] += [Tag(tag.text, start + tag.start, start + tag.end, tag.label, tag.score) for tag in tags]
    return results


def _encoder(model: str) -> SentenceEncoder:
    with _LOADING:
        return _load_encoder(model)


@lru_cache(maxsize=2)
def _load_encoder(model: str) -> SentenceEncoder:
    from dragoman.backbone.loading import load_encoder
    from dragoman.backbone.sentences import SentenceEncoder

    return SentenceEncoder(load_encoder(model))


def _scorer() -> tuple[AnyScorer, RerankerAbout]:
    with _LOADING:
        return _load_scorer()


@lru_cache(maxsize=1)
def _load_scorer() -> tuple[AnyScorer, RerankerAbout]:
    from dragoman.ranking.about import LATE
    from dragoman.ranking.scoring import load_scorer

    return load_scorer(LATE)


def _tagger(task: str) -> Tagger:
    with _LOADING:
        return _load_tagger(task)


@lru_cache(maxsize=2)
def _load_tagger(task: str) -> Tagger:
    from dragoman.backbone.checkpoints import CONFIG, read_json
    from dragoman.tagging.shipped import find_shipped
    from dragoman.tagging.tagger import load_tagger

    folder = find_shipped(task)
    if folder is None:
        raise ValueError(f"task is ner or pos, not {task!r}")
    return load_tagger(folder, _load_encoder(str(read_json(folder / CONFIG).get("encoder"))))


def _with_tables(
    query: str,
    texts: Sequence[str],
    top_k: int | None,
    tables: Sequence[Table],
    query_language: str | None,
    document_language: str | None,
) -> list[Ranked]:
    options: dict[str, Any] = {"query_language": query_language, "document_language": document_language}
    with _WITH_TABLES:
        return _database_of(tuple(tables)).rank(query, texts, top_k, **options)


_WITH_TABLES = Lock()
_KEPT: dict[tuple[Table, ...], Database] = {}
"""A database in memory with the tables that were used last; one, since each loads a model."""


def _database_of(tables: tuple[Table, ...]) -> Database:
    """A database in memory with these tables alone, kept for the next call with the same ones."""
    from dragoman.door.opening import open

    if tables in _KEPT:
        return _KEPT[tables]
    while _KEPT:
        _KEPT.popitem()[1].close()
    database = open(embed="on_demand")
    for place, table in enumerate(tables):
        database.tables.add(f"table-{place}", table, source=table.source, target=table.target)
    _KEPT[tables] = database
    return database
