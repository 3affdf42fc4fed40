"""The index as a store: visibility, replacement, deletion, and who searches meanwhile."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman.indexes import (
    BM25,
    Hit,
    IndexClosed,
    IndexedDocument,
    LuceneIndex,
)
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.indexes.lucene import lucene_index
from dragoman.lexicon.query import Alternative, Method, TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import Analysis, PlainAnalysis
from tests.indexes.bm25_reference import Reference

pytestmark = [pytest.mark.slow, pytest.mark.kill]

PLAIN: dict[str, Analysis] = {"de": PlainAnalysis("de"), "ru": PlainAnalysis("ru")}


def query(*terms: str, method: Method = "none") -> TranslatedQuery:
    return TranslatedQuery(method, [TermGroup(t, t, 0, len(t), [Alternative(t, 1.0, 0)]) for t in terms])


def keys(index: LuceneIndex, term: str, language: str = "de") -> list[int]:
    return sorted(hit.key for hit in index.search(query(term), language, 1000))


def put(index: LuceneIndex, texts: dict[int, str], language: str = "de") -> None:
    index.add([IndexedDocument(key, language, text) for key, text in texts.items()], PLAIN)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LuceneIndex]:
    with LuceneIndex(tmp_path / "index") as opened:
        yield opened


def test_documents_are_found_after_a_refresh_before_any_commit(index: LuceneIndex) -> None:
    put(index, {1: "Haus und Hof", 2: "Garten"})
    assert keys(index, "haus") == []
    index.refresh()
    assert keys(index, "haus") == [1]
    put(index, {3: "Haus"})
    index.refresh()
    assert keys(index, "haus") == [1, 3]
    assert index.document_count() == 3
    assert index.generation == 0


def test_a_key_sent_again_replaces(index: LuceneIndex) -> None:
    put(index, {7: "alt"})
    put(index, {7: "neu", 8: "alt"})
    index.refresh()
    assert (keys(index, "alt"), keys(index, "neu"), index.document_count()) == ([8], [7], 2)
    put(index, {7: "neuer"})
    index.commit(1)
    index.refresh()
    assert (keys(index, "neu"), keys(index, "neuer"), index.document_count()) == ([], [7], 2)


def test_deleted_documents_are_gone(index: LuceneIndex) -> None:
    put(index, dict.fromkeys(range(2500), "Haus"))
    index.refresh()
    index.delete([*range(0, 2500, 2), 99999])
    index.delete([])
    index.refresh()
    assert index.document_count() == 1250
    assert {hit.key % 2 for hit in index.search(query("haus"), "de", 2500)} == {1}


def test_keys_are_64_bit_integers(index: LuceneIndex) -> None:
    put(index, {2**62 + 1: "Haus", -5: "Haus", 0: "Haus"})
    index.refresh()
    assert [hit.key for hit in index.search(query("haus"), "de", 5)] == [-5, 0, 2**62 + 1]


def test_languages_do_not_mix(index: LuceneIndex) -> None:
    put(index, {1: "taxi haus"})
    put(index, {2: "taxi дом"}, "ru")
    index.refresh()
    assert (keys(index, "taxi", "de"), keys(index, "taxi", "ru"), keys(index, "taxi", "sw")) == ([1], [2], [])
    assert (index.document_count("de"), index.document_count("ru"), index.document_count("sw")) == (1, 1, 0)
    with pytest.raises(KeyError, match="sw"):
        index.add([IndexedDocument(3, "sw", "nyumba")], PLAIN)


def test_every_word_is_indexed_and_empty_texts_have_none(index: LuceneIndex) -> None:
    analyses = {"de": analysis("de")}
    texts = ["die Häuser und die Höfe", "", "und die", "…"]
    index.add([IndexedDocument(i, "de", text) for i, text in enumerate(texts)], analyses)
    index.refresh()
    assert (index.document_count(), index.document_count("de")) == (4, 2)
    assert index.document_frequencies("de", ["haus", "hof", "und", "die"]) == {
        "haus": 1, "hof": 1, "und": 2, "die": 2,
    }  # fmt: skip
    words = index.search(query("hauser", method="smt"), "de", 5)
    assert [hit.key for hit in words] == [0]


def test_document_frequencies_are_those_of_the_last_refresh(
    index: LuceneIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lucene_index, "_CACHED_FREQUENCIES", 3)
    analyses = {"de": analysis("de")}
    for count in range(1, 4):
        index.add([IndexedDocument(count, "de", "das Haus")], analyses)
        assert index.document_frequencies("de", ["haus", "hof", "haus"]) == {"haus": count - 1, "hof": 0}
        index.refresh()
        for _ in range(2):
            assert index.document_frequencies("de", ["haus", "hof"]) == {"haus": count, "hof": 0}
        assert index.document_frequencies("de", ["tür", "tor", "haus", "hof"])["haus"] == count
    index.close()
    with pytest.raises(IndexClosed):
        index.document_frequencies("de", ["haus"])


def test_words_longer_than_lucene_takes_do_not_fail(index: LuceneIndex) -> None:
    index.add([IndexedDocument(1, "de", "x" * 100_000 + " Haus " + "字" * 40_000)], {"de": analysis("de")})
    index.refresh()
    (token,) = analysis("de").tokens("x" * 100_000)
    assert keys(index, "haus") == keys(index, token.term) == [1]


def test_lucene_syntax_in_a_term_is_text(index: LuceneIndex) -> None:
    put(index, {1: "Haus"})
    index.refresh()
    for term in ['haus AND "x', "*:*", "haus~2", "(", "key:1", "haus haus", "haus\thof", "\ue001haus", "\ud800"]:
        assert index.search(query(term, "haus"), "de", 5) == index.search(query("haus"), "de", 5)
        for method in ("psq", "smt"):
            assert index.search(query(term, method=method), "de", 5) == []


def test_half_a_character_in_a_query_leaves_its_other_terms_as_they_are(index: LuceneIndex) -> None:
    put(index, {1: "Haus"})
    index.refresh()
    assert index.search(query("haus", "\ud800"), "de", 5) == index.search(query("haus"), "de", 5) != []
    assert index.document_frequencies("de", ["haus", "\ud800"]) == {"haus": 1, "\ud800": 0}


def test_repeated_query_terms_count_repeatedly(index: LuceneIndex) -> None:
    put(index, {1: "Haus Hof", 2: "Hof"})
    index.refresh()
    for method in ("psq", "smt", "none"):
        once = TermGroup("haus", "haus", 0, 4, [Alternative("haus", 1.0, 0)])
        twice = TermGroup("haus", "haus", 0, 4, [Alternative("haus", 1.0, 0)], weight=2.0)
        (single,) = index.search(TranslatedQuery(method, [once]), "de", 5)
        doubled = Hit(single.key, pytest.approx(2 * single.score))
        assert index.search(TranslatedQuery(method, [twice]), "de", 5) == [doubled]
        assert index.search(TranslatedQuery(method, [once, once]), "de", 5) == [doubled]


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_weights_that_are_not_positive_are_refused(index: LuceneIndex, weight: float) -> None:
    put(index, {1: "Haus"})
    index.refresh()
    group = TermGroup("haus", "haus", 0, 4, [Alternative("haus", weight, 0)])
    with pytest.raises(ValueError, match="'haus'"):
        index.search(TranslatedQuery("psq", [group]), "de", 5)


def test_parameters_are_checked(index: LuceneIndex) -> None:
    with pytest.raises(ValueError, match="k is 0"):
        index.search(query("haus"), "de", 0)
    for wrong in ({"k1": -1.0}, {"k1": float("nan")}, {"b": 1.5}, {"b": -0.1}):
        with pytest.raises(ValueError, match="BM25"):
            BM25(**wrong)
    assert index.search(query("haus"), "de", 2**31) == []
    assert index.search(TranslatedQuery("psq", []), "de", 5) == []


def test_a_closed_index_says_so(index: LuceneIndex) -> None:
    index.close()
    index.close()
    with pytest.raises(IndexClosed, match="is closed"):
        index.search(query("haus"), "de", 5)
    with pytest.raises(IndexClosed):
        put(index, {1: "Haus"})


def test_eight_threads_get_the_results_of_one(tmp_path: Path) -> None:
    """While another index is written, and this one is refreshed."""
    rng = random.Random(11)
    vocabulary = [f"w{i}" for i in range(400)]
    queries = [some_query(rng, vocabulary) for _ in range(2400)]
    with LuceneIndex(tmp_path / "one") as index, LuceneIndex(tmp_path / "other") as other:
        put(index, {key: " ".join(rng.choices(vocabulary, k=30)) for key in range(600)})
        index.refresh()
        serial = [index.search(q, "de", 20, bm25) for q, bm25 in queries]
        put(index, {1000: "слово"}, "ru")
        index.refresh()

        def concurrent(position: int) -> list[Hit]:
            if position % 40 == 0:
                put(other, {position: "x" * (position % 7)})
                other.refresh()
                index.refresh()
            q, bm25 = queries[position]
            return index.search(q, "de", 20, bm25)

        with ThreadPoolExecutor(8) as pool:
            for _ in range(2):
                assert list(pool.map(concurrent, range(len(queries)))) == serial
    assert sum(map(bool, serial)) > 2000
    assert len({tuple(hits) for hits in serial}) > 2000


def some_query(rng: random.Random, vocabulary: list[str]) -> tuple[TranslatedQuery, BM25]:
    groups = [
        TermGroup(
            "q",
            "q",
            0,
            1,
            [Alternative(t, rng.uniform(0.01, 1), 0) for t in rng.sample(vocabulary, rng.randint(1, 12))],
        )
        for _ in range(rng.randint(1, 5))
    ]
    methods: list[Method] = ["psq", "smt", "none"]
    return TranslatedQuery(rng.choice(methods), groups), rng.choice([BM25(), BM25(1.2, 0.75)])


FORGETTING = """
import random, sys
from pathlib import Path
from tests.indexes.lucene.test_index import forgetful_answers
print(forgetful_answers(Path(sys.argv[1])))
"""


def forgetful_answers(directory: Path) -> str:
    """The hits of many queries, of two indexes by turns."""
    rng = random.Random(3)
    vocabulary = [f"w{i}" for i in range(60)]
    with LuceneIndex(directory / "one") as one, LuceneIndex(directory / "other") as other:
        for index in (one, other):
            put(index, {key: " ".join(rng.choices(vocabulary, k=10)) for key in range(100)})
            index.refresh()
        queries = [some_query(rng, [*vocabulary, "absent"]) for _ in range(100)] * 2
        return repr([index.rank(q, "de", 20, bm25) for q, bm25 in queries for index in (one, other)])


def test_postings_that_were_forgotten_are_read_again(tmp_path: Path) -> None:
    environment = os.environ | {"JAVA_TOOL_OPTIONS": "-Ddragoman.postings=500"}
    command = [sys.executable, "-c", FORGETTING, str(tmp_path / "few")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == forgetful_answers(tmp_path / "all")


@pytest.mark.parametrize("method", ["psq", "none"])
def test_frequent_terms_and_documents_of_several_windows(index: LuceneIndex, method: Method) -> None:
    """More documents than are scored at a time, and terms whose postings are read for each query."""
    texts = [["oft"] * (key % 5 + 1) + ["kaum"] * (key % 9_000 == 0) for key in range(40_000)]
    put(index, {key: " ".join(text) for key, text in enumerate(texts)})
    index.delete(range(0, 40_000, 3))
    index.refresh()
    live = {key: text for key, text in enumerate(texts) if key % 3}
    found = [TermGroup("q", "q", 0, 1, [Alternative("oft", 0.5, 0), Alternative("kaum", 1.0, 0)])]
    asked = TranslatedQuery(method, [*found, *query("kaum").groups])
    scores = Reference(list(live.values()), BM25()).scores(asked)
    expected = {key: scores[place] for place, key in enumerate(live)}
    hits = index.search(asked, "de", 50_000)
    assert {hit.key for hit in hits} == live.keys()
    assert [hit.score for hit in hits] == pytest.approx([expected[hit.key] for hit in hits], rel=1e-6)
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.key))
    assert index.search(asked, "de", 10) == hits[:10]
    chosen = [39_998, 9_001, 3, 1]
    totals = index.parts(asked, "de", chosen).scores.sum(axis=1)
    assert totals.tolist() == pytest.approx([expected.get(key, 0.0) for key in chosen], rel=1e-6)


def test_equal_groups_in_other_objects_and_other_weights_are_scored_alike(index: LuceneIndex) -> None:
    put(index, {1: "haus hof", 2: "haus haus", 3: "hof zaun"})
    index.refresh()
    for _ in range(3):
        alternatives = [Alternative("haus", 0.5, 0), Alternative("hof", 0.25, 0)]
        one = TermGroup("q", "q", 0, 1, alternatives)
        three = TermGroup("q", "q", 5, 6, alternatives, weight=3.0)
        single = index.rank(TranslatedQuery("psq", [one]), "de", 5)
        triple = index.rank(TranslatedQuery("psq", [three]), "de", 5)
        assert [hit.key for hit in triple.hits] == [hit.key for hit in single.hits] == [2, 1, 3]
        assert [hit.score for hit in triple.hits] == pytest.approx([3 * hit.score for hit in single.hits])
        assert triple.attainable == pytest.approx(3 * single.attainable)
        assert index.rank(TranslatedQuery("smt", [one]), "de", 5) != single
        assert index.rank(TranslatedQuery("psq", [one]), "de", 5, BM25(2.0, 0.9)) != single


def test_closing_waits_for_no_search_and_ends_those_that_come_later(index: LuceneIndex) -> None:
    put(index, dict.fromkeys(range(2_000), "haus hof"))
    index.refresh()
    outcomes: list[object] = []

    def search() -> None:
        try:
            while True:
                outcomes.append(len(index.search(query("haus", "hof"), "de", 5)))
        except IndexClosed as fault:
            outcomes.append(fault)

    with ThreadPoolExecutor(8) as pool:
        searches = [pool.submit(search) for _ in range(8)]
        time.sleep(0.2)
        index.close()
    for one in searches:
        one.result()
    assert sum(isinstance(one, IndexClosed) for one in outcomes) == 8
    assert {one for one in outcomes if not isinstance(one, IndexClosed)} == {5}


def test_terms_of_deleted_documents_sound_like_nothing(index: LuceneIndex) -> None:
    put(index, {1: "Petersburg", 2: "Pitersburg"})
    index.refresh()
    assert {term for term, _ in index.sounding("de", "petersburg")} == {"petersburg", "pitersburg"}
    index.delete([2])
    index.refresh()
    assert {term for term, _ in index.sounding("de", "petersburg")} == {"petersburg"}
