"""Documents that are sent again, changed, listed and exported, against what a plain dictionary says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as chances
from hypothesis import strategies as st

from dragoman.engine.core.chosen_fields import ChosenFields
from dragoman.engine.core.errors import InvalidRequest, NotFound, PreconditionFailed, TooLarge
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.documents import listing
from dragoman.store.documents.info import DocumentInfo
from dragoman.store.documents.patch import DocumentPatch, merge
from tests.support.searching import add, found, ndjson, running

pytestmark = pytest.mark.slow


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    with running(settings) as started:
        started.collections.create("c", "sw")
        yield started


IDS = st.sampled_from(["a", "b/c", "日"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["k", "m"]), inner, max_size=2),
    max_leaves=4,
)
METADATA = st.dictionaries(st.sampled_from(["k", "m", "n"]), VALUES, max_size=3)
FIELDS = {
    "title": st.none() | st.sampled_from(["Kichwa", "Jina"]),
    "language": st.sampled_from(["sw", "de"]),
    "metadata": METADATA,
}
LINES = st.fixed_dictionaries({"id": IDS, "text": st.sampled_from(["moja", "mbili", "tatu"])}, optional=FIELDS)
PATCHES = st.fixed_dictionaries(
    {}, optional={**FIELDS, "text": st.sampled_from(["nne", "tano"]), "metadata": st.none() | METADATA}
)
STEPS = st.one_of(
    st.tuples(st.just("send"), st.lists(LINES, min_size=1, max_size=4)),
    st.tuples(st.just("change"), IDS, PATCHES),
    st.tuples(st.just("delete"), IDS),
)
Model = dict[str, dict[str, Any]]


def step_on(model: Model, step: tuple[Any, ...]) -> None:
    """What a step makes of plain dictionaries."""
    kind, subject, *rest = step
    if kind == "send":
        for line in subject:
            kept = {name: model.get(line["id"], {}).get(name) for name in ("language", "metadata")}
            model[line["id"]] = {"title": None, **kept, **line}
            model[line["id"]]["language"] = model[line["id"]]["language"] or "sw"
    elif kind == "delete":
        model.pop(subject, None)
    elif subject in model:
        (patch,) = rest
        document = model[subject]
        if patch.get("metadata") is not None:
            patch = {**patch, "metadata": merge(document["metadata"] or {}, patch["metadata"])}
        document.update(patch)


def take_step(runtime: Runtime, step: tuple[Any, ...]) -> None:
    kind, subject, *rest = step
    try:
        if kind == "send":
            add(runtime, "c", *subject)
        elif kind == "delete":
            runtime.collections.delete_document("c", subject)
        else:
            runtime.collections.change_document("c", subject, DocumentPatch(**rest[0]))
    except NotFound:
        assert kind != "send"


def shown(info: DocumentInfo) -> dict[str, Any]:
    return {name: getattr(info, name) for name in ("id", "text", "title", "language", "metadata")}


@chances(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=1, max_size=6), limit=st.integers(1, 4))
def test_documents_are_what_was_sent_and_changed(runtime: Runtime, steps: list[tuple[Any, ...]], limit: int) -> None:
    runtime.collections.delete("c")
    runtime.collections.create("c", "sw")
    model: Model = {}
    for step in steps:
        before = runtime.collections.get("c").generation
        take_step(runtime, step)
        step_on(model, step)
        assert runtime.collections.get("c").generation in (before, before + 1)
    expected = {id: json.dumps({**document, "metadata": document["metadata"] or None}, sort_keys=True)
                for id, document in model.items()}  # fmt: skip
    listed: dict[str, str] = {}
    cursor = None
    while True:
        page = runtime.collections.list_documents("c", limit, cursor)
        assert page.total == len(model) and len(page.documents) <= limit
        listed |= {info.id: json.dumps(shown(info), sort_keys=True) for info in page.documents}
        if (cursor := page.next) is None:
            break
        assert len(page.documents) == limit
    assert listed == expected
    for id, document in model.items():
        info = runtime.collections.document("c", id)
        assert json.dumps(shown(info), sort_keys=True) == expected[id]
        assert id in found(runtime, "c", document["text"], document["language"])
    exported = b"".join(runtime.collections.export("c"))
    assert [json.loads(line)["id"] for line in exported.splitlines()] == list(listed)
    if model:
        for id in model:  # what an export says is so again after it is imported
            runtime.collections.change_document("c", id, DocumentPatch(metadata={"later": 1}, title="later"))
        runtime.collections.import_documents("c", iter([exported]))
        assert b"".join(runtime.collections.export("c")) == exported
    info = runtime.collections.get("c")
    assert (info.index_generation, info.documents) == (info.generation, len(model))


def test_an_export_of_what_is_deleted_meanwhile_is_no_whole_one(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_EXPORTED", 1)
    add(runtime, "c", {"id": "1", "text": "moja"}, {"id": "2", "text": "mbili"})
    lines = runtime.collections.export("c")
    next(lines)
    runtime.collections.delete("c")
    with pytest.raises(NotFound, match="deleted meanwhile"):
        list(lines)


@given(st.sampled_from(["id", "title", "text", "language", "generation"]), st.sampled_from(["en", "x.y"]))
def test_a_dotted_field_is_one_of_metadata(name: str, rest: str) -> None:
    content: Any = 1
    for part in reversed(rest.split(".")):
        content = {part: content}
    document = {"id": "1", "text": "t", "title": None, "language": "de", "generation": 1, "metadata": {name: content}}
    fields = ChosenFields([f"{name}.{rest}"])
    assert fields.of(document) == {"id": "1", "metadata": {name: content}} and not fields.texts


@given(METADATA, METADATA)
def test_a_merge_is_that_of_rfc_7396(present: dict[str, Any], change: dict[str, Any]) -> None:
    merged = merge(present, change)
    assert merge(merged, {}) == merged
    for name in present.keys() | change.keys():
        if name not in change:
            assert merged[name] == present[name]
        elif change[name] is None:
            assert name not in merged
        elif not isinstance(change[name], dict):
            assert merged[name] == change[name]


def test_a_change_of_metadata_alone_leaves_embeddings_alone(settings: Settings, encoder: Any) -> None:
    with running(settings.replace(embed="on_demand")) as runtime:
        runtime.collections.create("c", "de")
        add(runtime, "c", {"id": "1", "text": "Die Biene fliegt."}, {"id": "2", "text": "Der Vulkan."})
        key = runtime.collections.get("c").key
        runtime.dense.embed(key)
        made, before = list(encoder.batches), runtime.source.versions(key, -1).changes
        changed = runtime.collections.change_document("c", "1", DocumentPatch(metadata={"year": 2024}))
        assert (changed.metadata, changed.generation) == ({"year": 2024}, 2)
        assert runtime.source.versions(key, -1).changes == before
        assert [[document.id for document in batch] for batch in runtime.source.changes(key, 1)] == [["1"]]
        runtime.dense.embed(key)
        coverage = runtime.dense.coverage(key)
        assert coverage is not None and (coverage.missing, coverage.total) == (0, 2)
        assert encoder.batches == made
        info = runtime.collections.get("c")
        assert (info.generation, info.index_generation, info.index_state) == (2, 2, "ready")
        same = runtime.collections.change_document("c", "1", DocumentPatch(metadata={"year": 2024}, language="de"))
        assert same.generation == runtime.collections.get("c").generation == 2
        typed = runtime.collections.change_document("c", "1", DocumentPatch(metadata={"year": True}))
        assert typed.metadata == {"year": True} and typed.generation == 3
        add(runtime, "c", {"id": "1", "text": "Die Biene schläft."})
        assert runtime.collections.document("c", "1").metadata == {"year": True}
        assert found(runtime, "c", "schläft") == ["1"]
        runtime.dense.embed(key)
        again = encoder.batches[len(made) :]
        assert {text for batch in again for text in batch} == {"Die Biene schläft."}


@pytest.mark.parametrize("text", ["moja", "mbili"])
def test_what_is_equal_in_python_alone_is_stored(runtime: Runtime, text: str) -> None:
    for id, (before, after) in enumerate([(1, True), (False, 0), ([{"m": 1}], [{"m": True}]), (2, 2.0)]):
        add(runtime, "c", {"id": str(id), "text": "moja", "metadata": {"k": before}})
        patch = DocumentPatch(metadata={"k": after}, text=text)
        expected = json.dumps(runtime.collections.change_document("c", str(id), patch).metadata)
        assert expected == json.dumps({"k": after})
        assert json.dumps(runtime.collections.document("c", str(id)).metadata) == expected


def test_a_change_holds_only_for_the_generation_that_is_expected(runtime: Runtime) -> None:
    collections = runtime.collections
    assert add(runtime, "c", {"id": "1", "text": "moja"}, {"id": "2", "text": "mbili"}) == 1
    changed = collections.change_document("c", "1", DocumentPatch(text="tatu"), {1, 7})
    assert changed.generation == 2
    for attempt in (
        lambda: collections.change_document("c", "1", DocumentPatch(text="nne"), {1}),
        lambda: collections.delete_document("c", "1", {1}),
        lambda: collections.import_documents("c", iter([ndjson([{"id": "3", "text": "t"}])]), expected={1}),
        lambda: collections.delete("c", {1}),
        lambda: collections.change("c", {"shards": 2}, expected={1}),
    ):
        with pytest.raises(PreconditionFailed, match="has changed: its generation is 2"):
            attempt()
    assert collections.get("c").generation == 2 and shown(collections.document("c", "1"))["text"] == "tatu"
    collections.delete_document("c", "1", {2})
    done = collections.import_documents("c", iter([ndjson([{"id": "3", "text": "t"}])]), expected={3})
    assert done.generation == 4
    collections.delete("c", {4})


def test_changes_at_once_lose_nothing(runtime: Runtime) -> None:
    add(runtime, "c", {"id": "1", "text": "moja"})

    def change(name: str) -> None:
        for value in range(10):
            patch = DocumentPatch(metadata={name: value}, **({"text": f"neno{value}"} if name == "0" else {}))
            runtime.collections.change_document("c", "1", patch)

    def send() -> None:
        for number in range(10):
            add(runtime, "c", {"id": "1", "text": f"jipya{number}", "metadata": None})

    threads = [Thread(target=change, args=(str(number),)) for number in range(4)] + [Thread(target=send)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    document = runtime.collections.document("c", "1")
    assert document.metadata == {str(number): 9 for number in range(4)}
    assert document.generation == runtime.collections.get("c").generation == 51
    assert found(runtime, "c", document.text) == ["1"]


def test_a_language_that_changes_while_a_document_is_sent_again_is_kept(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(runtime, "c", {"id": "1", "text": "moja"})
    index = runtime.indexes.of(runtime.collections.get("c").key)
    analyse = index.analyse
    changed: list[int] = []

    def analyse_and_change(documents: Any) -> Any:
        analysed = analyse(documents)
        if not changed:
            changed.append(1)
            runtime.collections.change_document("c", "1", DocumentPatch(language="de"))
        return analysed

    monkeypatch.setattr(index, "analyse", analyse_and_change)
    add(runtime, "c", {"id": "1", "text": "Häuser"})
    assert runtime.collections.document("c", "1").language == "de"
    assert found(runtime, "c", "Haus", "de") == ["1"]


def test_what_a_change_may_not_make_of_a_document_is_refused(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    change = runtime.collections.change_document
    add(runtime, "c", {"id": "1", "text": "moja", "metadata": {str(n): n for n in range(4999)}})
    with pytest.raises(InvalidRequest, match="metadata: holds 10003 values"):
        change("c", "1", DocumentPatch(metadata={"more": 1, "most": 2}))
    with pytest.raises(NotFound, match="no document with id '2'"):
        change("c", "2", DocumentPatch(text="t"))
    with pytest.raises(NotFound, match="no document with id"):
        change("c", "\0", DocumentPatch(text="t"))
    limit = runtime.settings.uploads.ndjson_line_bytes
    with pytest.raises(TooLarge, match=f"may have {limit}"):
        change("c", "1", DocumentPatch(text="ä " * (limit // 3)))
    index = runtime.indexes.of(runtime.collections.get("c").key)
    monkeypatch.setattr(index, "analyse", lambda documents: ([], {documents[0].key: "why"}))
    with pytest.raises(InvalidRequest, match="text: why"):
        change("c", "1", DocumentPatch(text="t"))
    assert runtime.collections.get("c").generation == 1


def test_pages_end_where_texts_are_long_and_cursors_belong_to_a_collection(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE_CHARS", 1000)
    add(runtime, "c", *({"id": str(n), "text": "neno " * 100} for n in range(5)))
    page = runtime.collections.list_documents("c", 100)
    assert [info.id for info in page.documents] == ["0", "1"] and page.next is not None
    assert len(runtime.collections.list_documents("c", 100, texts=False).documents) == 5
    runtime.collections.delete_document("c", "0")
    runtime.collections.delete_document("c", "2")
    add(runtime, "c", {"id": "1", "text": "neno"})
    page = runtime.collections.list_documents("c", 100, page.next)
    assert ([info.id for info in page.documents], page.next) == (["3", "4"], None)
    runtime.collections.create("other", "sw")
    first = runtime.collections.list_documents("c", 1).next
    for name, cursor in (("other", first), ("c", "nonsense"), ("c", ""), ("c", "\u00e9"), ("c", f"{first}x")):
        with pytest.raises(InvalidRequest, match="cursor: is none"):
            runtime.collections.list_documents(name, 1, cursor)
