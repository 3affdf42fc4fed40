"""The in-memory index follows all changes, and is dropped when it becomes too large."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dragoman.indexes import IndexedDocument, LuceneIndex, Ranking
from dragoman.indexes.bm25 import BM25
from dragoman.indexes.documents import Row
from dragoman.indexes.memory.snapshot import Budget, MemoryIndex
from dragoman.lexicon.query import Alternative, TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import PlainAnalysis

ANALYSES = {"de": PlainAnalysis("de"), "ru": PlainAnalysis("ru")}
VOCABULARY = [f"w{number}" for number in range(40)]


def group(*terms: tuple[str, float]) -> TermGroup:
    return TermGroup("q", "q", 0, 1, [Alternative(term, weight, 0) for term, weight in terms])


QUERIES = [TranslatedQuery("psq", [group((a, 0.5), (b, 1.0)), group((a, 0.9))]) for a, b in zip(
    VOCABULARY, VOCABULARY[7:], strict=False
)]  # fmt: skip


def ranked(index: LuceneIndex, language: str) -> list[Ranking]:
    return [index.rank(query, language, 1_000, BM25(0.2, 0.3)) for query in QUERIES]


def write(index: LuceneIndex, texts: dict[int, tuple[str, str]]) -> None:
    index.add([IndexedDocument(key, language, text) for key, (language, text) in texts.items()], ANALYSES)


@pytest.mark.slow
def test_any_order_of_changes_leaves_the_live_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.indexes.memory.snapshot._MAX_DELETED", 3)
    monkeypatch.setattr("dragoman.indexes.memory.snapshot._BLOCKS", 2)
    rng = random.Random(5)
    live: dict[int, tuple[str, str]] = {}
    index = LuceneIndex(tmp_path / "changing")
    for step in range(30):
        new = {
            rng.randrange(60): (rng.choice(["de", "ru"]), " ".join(rng.choices(VOCABULARY, k=rng.randrange(9))))
            for _ in range(rng.randrange(12))
        }
        write(index, new)
        gone = rng.sample(range(60), rng.randrange(12))
        index.delete(gone)
        live = {key: text for key, text in (live | new).items() if key not in gone}
        if step % 7 == 6:
            index.commit(step)
            index.close()
            index = LuceneIndex(tmp_path / "changing")
        index.refresh()
        with LuceneIndex(tmp_path / f"fresh {step}") as fresh:
            write(fresh, live)
            fresh.refresh()
            for language in ("de", "ru", "sw"):
                assert ranked(index, language) == ranked(fresh, language)
                assert index.document_count(language) == fresh.document_count(language)
                frequencies = fresh.document_frequencies(language, VOCABULARY)
                assert index.document_frequencies(language, VOCABULARY) == frequencies
                assert index.sounding(language, "w7") == fresh.sounding(language, "w7")
    index.close()


def test_a_snapshot_does_not_change() -> None:
    collected = MemoryIndex()
    collected.add([Row(1, "de", "", "a b", ""), Row(2, "de", "", "a", "")])
    before = collected.snapshot()
    collected.add([Row(1, "de", "", "c", ""), Row(3, "de", "", "a", "")])
    collected.remove([2, 99])
    after = collected.snapshot()
    assert before is not None and after is not None
    assert before.postings("de").document_frequencies(["a", "b", "c"]) == {"a": 2, "b": 1, "c": 0}
    assert after.postings("de").document_frequencies(["a", "b", "c"]) == {"a": 1, "b": 0, "c": 1}
    assert after.postings("sw").document_count() == 0


def test_too_many_tokens_are_left_to_lucene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.indexes.memory.snapshot._MAX_INDEX_TOKENS", 6)
    with LuceneIndex(tmp_path) as index:
        write(index, dict.fromkeys(range(3), ("de", "w1 w2")))
        index.refresh()
        small = ranked(index, "de")
        assert [hit.key for hit in small[1].hits] == [0, 1, 2]
        write(index, {3: ("de", "w1 w8")})
        index.refresh()
        assert [hit.key for hit in ranked(index, "de")[1].hits] == [3, 0, 1, 2]
        index.commit(1)
    with LuceneIndex(tmp_path) as index:
        assert [hit.key for hit in ranked(index, "de")[1].hits] == [3, 0, 1, 2]


def test_all_indexes_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.indexes.memory.snapshot._BUDGET", Budget())
    monkeypatch.setattr("dragoman.indexes.memory.snapshot._MAX_TOTAL_TOKENS", 3)
    first, second = MemoryIndex(), MemoryIndex()
    first.add([Row(1, "de", "", "a b", "")])
    second.add([Row(1, "de", "", "a b", "")])
    assert (first.complete, second.complete) == (True, False)
    assert second.snapshot() is None
    first.abandon()
    third = MemoryIndex()
    third.add([Row(1, "de", "", "a b c", "")])
    assert third.complete
