"""Dense and hybrid search in process, with an encoder of which the tests know what it finds alike."""

from __future__ import annotations

import contextlib
import random
import time
from threading import Thread

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from dragoman.engine.core.answer import LEFT_OUT
from dragoman.engine.core.errors import NotFound, Unavailable
from dragoman.engine.indexing.dense import collection as collection_module
from dragoman.engine.indexing.dense.collection import Coverage
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.settings import Settings
from dragoman.indexes.dense.sharded_index import ShardedDenseIndex
from dragoman.service.runtime import Runtime
from tests.support.modelling import GERMAN, WordEncoder, ask, ids, reasons, settled
from tests.support.searching import add, crash, running
from tests.support.serving import wait_for

pytestmark = pytest.mark.slow


def test_dense_finds_across_languages_without_any_table(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        runtime.collections.create("sw", "sw")
        add(runtime, "de", *GERMAN)
        add(runtime, "sw", {"id": "n", "text": "Nyuki"})
        assert encoder.batches == []
        answer = ask(runtime, "volcano ash", top_k=2)
        assert ids(answer)[0] == "v"
        assert len(answer.hits) == 2
        assert (answer.degraded, answer.translation.tables, answer.translation.oov) == ([], [], {})
        hit = answer.hits[0]
        assert hit.score == hit.scores.first_stage > 0.5
        assert (hit.snippet, hit.snippet_start) == ("Der Vulkan spuckt Asche.", 0)
        (meant,) = hit.highlights
        assert (meant.field, meant.match, meant.document_term) == ("text", "meaning", hit.snippet)
        assert (meant.query_term, meant.probability, meant.table) == ("volcano ash", None, None)
        assert answer.timings_ms.dense is not None
        both = ask(runtime, "bee")
        assert ids(both)[:2] == ["n", "b"]
        assert ids(ask(runtime, "bee", collections=["de"]))[0] == "b"
        titled = ask(runtime, "island", collections=["de"]).hits[0]  # the title is a passage as well
        (meant,) = titled.highlights
        assert (titled.id, meant.field, meant.start, meant.end, meant.document_term) == ("v", "title", 0, 6, "Island")
        assert titled.snippet == "Der Vulkan spuckt Asche."
        lines, degraded, _ = runtime.search.run(SearchQuery(query="bee", query_language="en", method="dense"))
        assert [line.id for line in lines] == ids(both)
        assert degraded == []
        explained = ask(runtime, "bee", explain=True).hits[0]
        assert (explained.contributions, explained.fusion) == ([], LEFT_OUT)


def test_the_snippet_is_the_best_passage(settings: Settings, encoder: WordEncoder) -> None:
    text = "Schiffe liegen da. " * 40 + "Die Biene fliegt über die Wiese. " * 5 + "Schiffe liegen da. " * 40
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", {"id": "1", "text": text})
        hit = ask(runtime, "bee").hits[0]
        assert "Biene" in hit.snippet
        assert text[hit.snippet_start : hit.snippet_start + len(hit.snippet)] == hit.snippet
        assert len(hit.snippet) <= 400


def test_nothing_deleted_or_replaced_is_found_by_what_it_was(slow: Settings, encoder: WordEncoder) -> None:
    with running(slow) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        assert ids(ask(runtime, "bee"))[0] == "b"
        runtime.collections.delete_document("de", "b")
        assert set(ids(ask(runtime, "bee"))) == {"v", "h"}
        add(runtime, "de", {"id": "h", "text": "Biene"})
        answer = ask(runtime, "bee")
        assert ids(answer)[0] == "h"
        assert answer.hits[0].score > 0.99
        runtime.collections.delete_document("de", "v")
        runtime.collections.index_of("de").commit()  # the tombstone is gone before the embeddings saw it
        assert ids(ask(runtime, "volcano ash")) == ["h"]


def test_a_vector_is_served_only_while_its_document_is_unchanged(slow: Settings, encoder: WordEncoder) -> None:
    with running(slow.replace(embed_seconds=0.0)) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        with pytest.raises(Unavailable, match="none of the 3 documents has an embedding yet"):
            ask(runtime, "bee")
        settled(runtime)
        assert ids(ask(runtime, "bee"))[0] == "b"
        encoder.barrier.clear()
        vector = WordEncoder.vector("bee")
        add(runtime, "de", {"id": "b", "text": "Hafen"})
        key = runtime.collections.get("de").key
        assert runtime.dense.of(key).search(vector, 9).best.generations.tolist() == [1, 1]
        encoder.barrier.set()
        settled(runtime)
        assert len(runtime.dense.of(key).search(vector, 9).best.keys) == 3


def test_while_documents_change_no_search_finds_what_they_were(settings: Settings, encoder: WordEncoder) -> None:
    """Four threads replace and delete documents of their own, and search for what those were before."""
    faults: list[str] = []

    def change(runtime: Runtime, id: str) -> None:
        noise = random.Random(id)
        text = ""
        for version in range(25):
            before, text = text, f"{id}x toleo{version} neno{noise.randrange(9)}"
            if before and noise.random() < 0.3:
                runtime.collections.delete_document("c", id)
            else:
                add(runtime, "c", {"id": id, "text": text})
            method = noise.choice(["dense", "hybrid"])
            for hit in ask(runtime, before or text, method, query_language="sw").hits if before else ():
                if hit.id == id and hit.snippet != text:
                    faults.append(f"{id}: {hit.snippet!r} after {text!r}")
            if not present(runtime, id):
                text = ""

    def present(runtime: Runtime, id: str) -> bool:
        try:
            return bool(runtime.collections.document("c", id))
        except NotFound:
            return False

    with running(settings) as runtime:
        runtime.collections.create("c", "sw")
        threads = [Thread(target=change, args=(runtime, id)) for id in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        for document in ask(runtime, "neno1", query_language="sw").hits:
            assert document.snippet == runtime.collections.document("c", document.id).text


def test_what_is_missing_when_time_is_up_is_reported(settings: Settings, encoder: WordEncoder) -> None:
    chosen = settings.replace(embed_seconds=0.3, worker_batch=4)
    with running(chosen) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        with contextlib.suppress(Unavailable):  # within that time, on a busy machine
            ask(runtime, "bee")
        settled(runtime)
        encoder.seconds = 0.2
        add(runtime, "de", *({"id": f"{n}", "text": f"Biene{n}"} for n in range(70)))
        answer = ask(runtime, "volcano")
        assert ids(answer)[0] == "v"
        assert reasons(answer) == ["collection 'de': 70 of 73 documents have no embedding yet"]
        lines, degraded, _ = runtime.search.run(SearchQuery(query="bee", query_language="en", method="dense"))
        assert len(lines) >= 3
        assert [one.stage for one in degraded] == ["dense"]
        encoder.seconds = 0.0
        settled(runtime)
        assert ask(runtime, "bee").degraded == []


def test_the_background_follows_imports_and_deletions(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        runtime.collections.create("never", "de")
        add(runtime, "de", {"id": "1", "text": "eins"})
        add(runtime, "never", {"id": "1", "text": "niemals"})
        ask(runtime, "bee", collections=["de"])
        add(runtime, "de", *GERMAN)
        settled(runtime)
        assert "Eine Biene fliegt." in encoder.texts
        assert "niemals" not in encoder.texts
        before = len(encoder.texts)
        ask(runtime, "ash", collections=["de"])
        assert encoder.texts[before:] == ["ash"]


def test_always_embeds_what_nobody_has_searched(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings.replace(embed="always")) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        settled(runtime)
        assert "Eine Biene fliegt." in encoder.texts


def test_while_vectors_are_spread_anew_changes_go_on(
    settings: Settings, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring_up = collection_module._bring_up
    steps: list[int] = []

    def change_between(copy: ShardedDenseIndex, index: ShardedDenseIndex) -> None:
        bring_up(copy, index)
        if not steps:
            runtime.collections.delete_document("de", "v")
            add(runtime, "de", {"id": "h", "text": "noch eine Biene"}, {"id": "n", "text": "Asche"})
            collection.reconcile()
            runtime.dense._embed(collection, collection.take())
        steps.append(len(copy.generations))

    with running(settings) as runtime:
        key = runtime.collections.create("de", "de").key
        add(runtime, "de", *GERMAN)
        ask(runtime, "bee")
        collection = runtime.dense.of(key)
        wait_for(lambda: not runtime.dense.follower._queue)  # a search on a busy machine does not wait for all of it
        monkeypatch.setattr(runtime.dense.follower, "following", False)
        monkeypatch.setattr(collection_module, "_bring_up", change_between)
        runtime.collections.change("de", {"shards": 3})
        words = runtime.indexes.of(key)
        wait_for(lambda: words.shards == 3 and not words.rebuilding)  # meanwhile documents cannot be changed
        collection.reshape()
        assert steps == [3, 3]
        assert collection._index is not None and collection._index.shards == 3
        assert sorted(ids(ask(runtime, "bee"))) == ["b", "h", "n"]
        assert set(ids(ask(runtime, "bee"))[:2]) == {"b", "h"}


def test_a_document_that_cannot_be_embedded_is_counted_and_the_others_are_served(
    settings: Settings, encoder: WordEncoder
) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN, {"id": "p", "text": "poison"}, {"id": "n", "text": "nan"})
        answer = ask(runtime, "bee")
        assert set(ids(answer)) == {"v", "h", "b"}
        assert reasons(answer) == ["collection 'de': 2 of 5 documents could not be embedded"]
        add(runtime, "de", {"id": "p", "text": "gut"}, {"id": "n", "text": "gut"})
        assert ask(runtime, "bee").degraded == []


def test_an_encoder_that_cannot_be_loaded(settings: Settings) -> None:
    broken = settings.replace(encoder="/nowhere/to/be/found")
    with running(broken) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", {"id": "1", "text": "Hafen 7"})
        with pytest.raises(Unavailable, match="the encoder cannot be loaded"):
            ask(runtime, "7")
        answer = ask(runtime, "7", method="hybrid")
        assert ids(answer) == ["1"]
        assert len(reasons(answer)) == 1
        assert "ranked by BM25 alone: the encoder cannot be loaded" in reasons(answer)[0]
        assert list(broken.store.data_dir.glob("dense/*")) == []


def test_an_empty_collection_has_no_hits(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings) as runtime:
        assert ask(runtime, "bee").hits == []
        runtime.collections.create("de", "de")
        answer = ask(runtime, "bee")
        assert (answer.hits, answer.degraded) == ([], [])


def test_a_rebuild_computes_everything_again(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        key = runtime.collections.get("de").key
        runtime.dense.rebuild(key)
        assert encoder.batches == []  # it has no embeddings, and gets none
        ask(runtime, "bee")
        encoder.batches.clear()
        seen: list[int] = []
        runtime.dense.rebuild(key, seen.append)
        assert seen == [3]
        assert "Eine Biene fliegt." in encoder.texts
        assert ids(ask(runtime, "bee"))[0] == "b"


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4)),
        st.tuples(st.just("delete"), st.sampled_from("abcdef")),
        st.tuples(st.sampled_from(["search", "commit", "crash", "restart", "rebuild"]), st.none()),
    ),
    max_size=12,
)


@examples(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_database_and_embeddings_agree_after_any_history(tmp_path_factory, encoder, steps) -> None:
    settings = Settings.load(data_dir=tmp_path_factory.mktemp("data"), index_commit_seconds=3600)
    runtime = _started(settings)
    runtime.collections.create("c", "sw")
    model: dict[str, int] = {}
    for step, (operation, argument) in enumerate(steps):
        if operation == "add":
            add(runtime, "c", *({"id": id, "text": f"{id} toleo{step}"} for id in argument))
            model.update(dict.fromkeys(argument, step))
        elif operation == "delete" and model.pop(argument, None) is not None:
            runtime.collections.delete_document("c", argument)
        elif operation == "commit":
            runtime.collections.index_of("c").commit()
        elif operation == "rebuild":
            runtime.dense.rebuild(runtime.collections.get("c").key)
        elif operation == "crash":
            crash(runtime)
            runtime = _started(settings)
        elif operation == "restart":
            runtime.close()
            runtime = _started(settings)
        elif operation == "search":
            _check(runtime, model)
    _check(runtime, model)
    runtime.close()


def _check(runtime: Runtime, model: dict[str, int]) -> None:
    for id, version in model.items():
        answer = ask(runtime, f"{id} toleo{version}", query_language="sw")
        assert sorted(ids(answer)) == sorted(model)
        assert ids(answer)[0] == id
        assert answer.hits[0].score == pytest.approx(1.0, abs=1e-5)
        assert answer.degraded == []


def _started(settings: Settings) -> Runtime:
    runtime = Runtime(settings)
    runtime.start()
    return runtime


def test_a_collection_deleted_while_its_embeddings_are_awaited_is_left_out(
    settings: Settings, encoder: WordEncoder
) -> None:
    with running(settings) as runtime:
        keys = {}
        for name in ("de", "other"):
            runtime.collections.create(name, "de")
            add(runtime, name, *GERMAN)
            keys[name] = runtime.collections.get(name).key
        ask(runtime, "bee")
        encoder.barrier.clear()
        for name in keys:
            add(runtime, name, {"id": "new", "text": "neu"})
        reached: list[dict[int, Coverage]] = []
        generations = dict.fromkeys(keys.values())
        waiting = Thread(
            target=lambda: reached.append(runtime.dense.catch_up(generations, runtime.models.encoder(), 20.0))
        )
        waiting.start()
        time.sleep(0.3)
        runtime.collections.delete("other")
        encoder.barrier.set()
        waiting.join(30)
        assert reached == [{keys["de"]: Coverage(missing=0, failed=0, total=4)}]
