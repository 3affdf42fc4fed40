"""Near copies of a text share a mark, by which hits are collapsed."""

from __future__ import annotations

import random

from dragoman.engine.search.request import SearchQuery
from dragoman.engine.settings import Settings
from dragoman.store.collections.importing import ImportForm
from dragoman.store.documents.fingerprint import fingerprint
from tests.support.searching import ndjson, running

WORDS = [f"neno{number}" for number in range(500)]


def story(seed: int, words: int = 60) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def test_copies_with_another_beginning_or_ending_mostly_share_a_mark() -> None:
    stories = [story(seed) for seed in range(200)]
    marks = [fingerprint(text) for text in stories]
    assert len(set(marks)) == len(marks)
    copies = [fingerprint(f"Shirika la habari. {text} Mwisho.") for text in stories]
    assert sum(mark == copy for mark, copy in zip(marks, copies, strict=True)) > 170
    assert fingerprint("NENO1, neno2; neno3!") == fingerprint("neno1 neno2 neno3")
    assert fingerprint("港で働く人") != fingerprint("港で働く猫") != ""
    assert fingerprint("...") == ""


def test_hits_are_collapsed_by_the_mark_of_an_import(settings: Settings) -> None:
    with running(settings) as runtime:
        runtime.collections.create("c", "sw")
        wired, other = story(1), story(2) + " neno0"
        documents = [
            {"id": "a", "text": f"{wired} neno0", "metadata": {"source": "x"}},
            {"id": "b", "text": f"{wired} neno0", "metadata": {"source": "y"}},
            {"id": "c", "text": other},
        ]
        runtime.collections.import_documents("c", iter([ndjson(documents)]), ImportForm(fingerprint_field="story"))
        metadata = runtime.collections.document("c", "a").metadata
        assert metadata == {"source": "x", "story": fingerprint(f"{wired} neno0")}
        query = SearchQuery(query="neno0", method="none", query_language="sw", rerank=False, collapse="story")
        assert {hit.id: hit.collapsed for hit in runtime.search.search(query, "r").hits} == {"a": 1, "c": 0}
        runtime.collections.import_documents(
            "c", iter([ndjson([{"id": "a", "text": other}])]), ImportForm(fingerprint_field="story")
        )
        assert runtime.collections.document("c", "a").metadata == {"source": "x", "story": fingerprint(other)}
