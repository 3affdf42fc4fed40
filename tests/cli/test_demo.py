"""The demo's data, what loading it does the first time and later, and whether searching it finds what it should."""

from __future__ import annotations

import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.cli import demo, demo_parts
from dragoman.engine.core.errors import Conflict, NotFound, ServiceError
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from tests.support.serving import server

pytestmark = pytest.mark.slow

FOLDER = files("dragoman") / "demo"
SCRIPTS: dict[str, tuple[str, ...]] = {
    "ar": ("ARABIC",),
    "el": ("GREEK",),
    "hi": ("DEVANAGARI",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"),
    "ko": ("HANGUL",),
    "ru": ("CYRILLIC",),
    "th": ("THAI",),
    "zh": ("CJK",),
}
"""Beginnings of the names of a language's letters; Latin of the others."""
JUDGED = ("ar", "de", "el", "es", "fr", "ru", "sw", "zh")
"""Languages whose documents are judged for the queries, and whose tables have probabilities."""
ADDED = ("hi", "ja", "ko", "th")
LONG_CHARACTERS = {"ja": 900, "ko": 900, "th": 900, "zh": 900}
"""Characters that are as long as 400 words, where words are not written apart, or have their particles on them."""


def _lines(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()


def _documents(language: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _lines(f"documents.{language}.jsonl")]


def _queries() -> dict[str, str]:
    return {query["id"]: query["text"] for query in map(json.loads, _lines("queries.en.jsonl"))}


def _judgements() -> dict[str, set[str]]:
    relevant: dict[str, set[str]] = defaultdict(set)
    for line in _lines("qrels.trec"):
        query, _, document, relevance = line.split()
        assert relevance == "1"
        relevant[query].add(document)
    return relevant


@pytest.mark.parametrize("language", demo_parts.LANGUAGES)
def test_documents_are_in_their_language_and_script(language: str) -> None:
    documents = _documents(language)
    assert len(documents) >= (12 if language in ADDED else 30)
    assert [document["id"] for document in documents] == [f"{language}-{n:03d}" for n in range(1, len(documents) + 1)]
    for document in documents:
        text = f"{document['title']} {document['text']}"
        assert unicodedata.normalize("NFC", text) == text
        letters = [unicodedata.name(character) for character in text if character.isalpha()]
        own = sum(name.startswith(SCRIPTS.get(language, ("LATIN",))) for name in letters)
        assert own / len(letters) > 0.8


def _is_long(language: str, text: str) -> bool:
    least = LONG_CHARACTERS.get(language)
    return len(text) >= least if least is not None else len(text.split()) >= 400


def test_a_third_of_the_documents_are_long() -> None:
    lengths = {
        language: [_is_long(language, document["text"]) for document in _documents(language)]
        for language in demo_parts.LANGUAGES
    }
    assert 3 * sum(map(sum, lengths.values())) >= sum(map(len, lengths.values()))
    assert all(sum(long) >= 4 for long in lengths.values())
    assert sum(file.stat().st_size for file in Path(str(FOLDER)).iterdir()) < 2_000_000


def test_all_documents_have_the_same_metadata() -> None:
    for language in demo_parts.LANGUAGES:
        for document in _documents(language):
            metadata = document["metadata"]
            assert metadata.keys() == {"date", "place", "category", "tags", "author", "url", "characters"}
            assert date(2023, 1, 1) <= date.fromisoformat(metadata["date"]) <= date(2026, 12, 31)
            assert metadata["characters"] == len(document["text"])
            assert metadata["url"] == f"https://example.org/{language}/{document['id'][3:]}"
            assert metadata["tags"] and all(isinstance(tag, str) for tag in metadata["tags"])


def test_answers_stand_in_their_documents() -> None:
    texts = {document["id"]: document["text"] for language in demo_parts.LANGUAGES for document in _documents(language)}
    asked = [json.loads(line) for line in _lines("questions.jsonl")]
    assert len({question["id"] for question in asked}) == len(asked) >= 20
    assert len({question["language"] for question in asked}) >= 10
    for question in asked:
        assert question["answer"] in texts[question["document"]]
        assert question["collection"] == f"demo_{question['document'][:2]}"


@pytest.mark.parametrize("language", demo_parts.LESSONS)
def test_a_lesson_has_words_that_no_table_has(language: str) -> None:
    names = (f"table.en-{language}.tsv", "glossary.en-de.tsv")
    sources = {line.split("\t")[0].casefold() for name in names for line in _lines(name)}
    texts = " ".join(document["text"] for document in _documents(language))
    lesson = [line.split("\t") for line in _lines(f"lesson.en-{language}.tsv")]
    assert not {source.casefold() for source, _ in lesson} & sources
    assert sum(target in texts for _, target in lesson) >= 6


@pytest.mark.parametrize("language", ADDED)
def test_tables_of_the_added_languages_are_glossaries_of_their_texts(language: str) -> None:
    pairs = [tuple(line.split("\t")) for line in _lines(f"table.en-{language}.tsv")]
    texts = " ".join(f"{document['title']} {document['text']}" for document in _documents(language))
    assert len(set(pairs)) == len(pairs) >= 300
    assert 2 * sum(target in texts for _, target in pairs) > len(pairs)


@pytest.mark.parametrize("language", JUDGED)
def test_tables_hold_probabilities_in_both_directions(language: str) -> None:
    sums: dict[tuple[str, str], float] = defaultdict(float)
    pairs = [line.split("\t") for line in _lines(f"table.en-{language}.tsv")]
    assert len(pairs) >= 400
    assert len({(source, target) for source, target, _, _ in pairs}) == len(pairs)
    for source, target, forward, backward in pairs:
        sums["source", source] += float(forward)
        sums["target", target] += float(backward)
    assert max(sums.values()) <= 1.001


def test_judgements_are_about_the_queries_and_the_documents() -> None:
    queries, relevant = _queries(), _judgements()
    ids = {document["id"] for language in JUDGED for document in _documents(language)}
    assert len(queries) == 40
    assert relevant.keys() == queries.keys()
    assert set().union(*relevant.values()) <= ids
    assert all({document[:2] for document in found} == set(JUDGED) for found in relevant.values())


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A service with the demo loaded."""
    folder = tmp_path_factory.mktemp("demo")
    runtime = Runtime(Settings.load(data_dir=folder))
    runtime.start()
    demo.load(runtime)
    runtime.close()
    with server(folder) as running:
        yield running.client


def _found_early(client: httpx.Client, language: str, method: str) -> float:
    """The share of the queries that have a relevant document of this language among their first three hits."""
    relevant, found = _judgements(), 0
    for id, text in _queries().items():
        request = {"query": text, "query_language": "en", "collections": [f"demo_{language}"], "method": method}
        answer = client.post("/v1/search", json=request | {"top_k": 3})
        assert answer.status_code == 200, answer.text
        found += any(hit["id"] in relevant[id] for hit in answer.json()["hits"])
    return found / len(relevant)


@pytest.mark.parametrize("language", JUDGED)
def test_english_queries_find_documents_in_every_language(client: httpx.Client, language: str) -> None:
    assert _found_early(client, language, "psq") >= 0.9


@pytest.mark.parametrize("language", ["ar", "de"])
def test_it_is_the_translation_that_finds_them(client: httpx.Client, language: str) -> None:
    assert _found_early(client, language, "smt") >= 0.9
    assert _found_early(client, language, "none") <= 0.2


def test_one_query_finds_its_subject_in_many_languages(client: httpx.Client) -> None:
    request = {"query": "bees and honey", "query_language": "en", "top_k": 10}
    hits = client.post("/v1/search", json=request).json()["hits"]
    assert {hit["id"] for hit in hits[:6]} <= _judgements()["q32"]
    assert len({hit["language"] for hit in hits}) >= 6


def test_the_glossary_answers_for_phrases(client: httpx.Client) -> None:
    request = {"query": "groundwater level", "query_language": "en", "collections": ["demo_de"]}
    best = client.post("/v1/search", json=request).json()["hits"][0]
    assert any(highlight["table"] == "demo_glossary_en_de" for highlight in best["highlights"])


@pytest.mark.parametrize(("language", "best"), [("ja", "ja-001"), ("ko", "ko-005"), ("hi", "hi-001"), ("th", "th-001")])
def test_an_english_query_finds_a_flood_in_the_added_languages(client: httpx.Client, language: str, best: str) -> None:
    request = {"query": "flood of the river", "query_language": "en", "collections": [f"demo_{language}"]}
    hits = client.post("/v1/search", json=request | {"method": "psq"}).json()["hits"]
    assert hits[0]["id"] == best
    assert any(highlight["table"] == f"demo_en_{language}" for highlight in hits[0]["highlights"])


@pytest.mark.parametrize(("language", "word", "best"), [("de", "Flutschild", "de-032"), ("ja", "水守板", "ja-001")])
def test_a_lesson_changes_an_answer_when_it_is_activated(
    client: httpx.Client, language: str, word: str, best: str
) -> None:
    table = f"demo_lesson_en_{language}"
    request = {"query": "Brimshield", "query_language": "en", "collections": [f"demo_{language}"], "method": "psq"}
    before = client.post("/v1/search", json=request).json()
    assert not before["hits"] and before["translation"]["oov"] == {language: ["Brimshield"]}
    client.post(f"/v1/tables/{table}/versions/1/activate").raise_for_status()
    hits = client.post("/v1/search", json=request).json()["hits"]
    assert hits[0]["id"] == best
    assert {highlight["table"] for highlight in hits[0]["highlights"]} == {table}
    assert word in {highlight["document_term"] for highlight in hits[0]["highlights"]}


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    opened = Runtime(Settings.load(data_dir=tmp_path / "data"))
    opened.start()
    yield opened
    opened.close()


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[demo_parts.DemoPart]:
    """The German documents and their tables alone, in files that the test may change."""
    chosen = [part for part in demo_parts.demo_parts() if part.name in ("demo_de", "demo_en_de", "demo_glossary_en_de")]
    copies = []
    for part in chosen:
        copy = tmp_path / part.file.name
        copy.write_bytes(part.file.read_bytes())
        copies.append(replace(part, file=copy))
    monkeypatch.setattr(demo, "demo_parts", lambda: copies)
    return copies


def _change(part: demo_parts.DemoPart, content: str) -> None:
    assert isinstance(part.file, Path)
    part.file.write_text(content, encoding="utf-8")


def test_loading_twice_loads_once(runtime: Runtime, parts: list[demo_parts.DemoPart]) -> None:
    assert demo.load(runtime) == ["demo_de", "demo_en_de", "demo_glossary_en_de"]
    generation = runtime.collections.get("demo_de").generation
    assert demo.load(runtime) == []
    assert runtime.collections.get("demo_de").generation == generation
    assert len(runtime.tables.get("demo_en_de").versions) == 1


def test_changed_documents_replace_the_old_ones_and_leave_those_of_others(
    runtime: Runtime, parts: list[demo_parts.DemoPart]
) -> None:
    demo.load(runtime)
    own = json.dumps({"id": "mine", "text": "Mein eigenes Dokument"}).encode()
    runtime.collections.import_documents("demo_de", iter([own]))
    _change(parts[0], json.dumps({"id": "de-001", "text": "Ein neuer Text"}))
    assert demo.load(runtime) == ["demo_de"]
    assert runtime.collections.get("demo_de").documents == 2
    assert runtime.collections.document("demo_de", "de-001").text == "Ein neuer Text"
    assert runtime.collections.document("demo_de", "mine").text == "Mein eigenes Dokument"
    with pytest.raises(NotFound):
        runtime.collections.document("demo_de", "de-002")


def test_a_document_that_its_user_changed_stays_as_it_is(runtime: Runtime, parts: list[demo_parts.DemoPart]) -> None:
    """Also in a data directory of an earlier version, which noted no generation."""
    demo.load(runtime)
    state = runtime.settings.store.data_dir / "demo.json"
    remembered = json.loads(state.read_text(encoding="utf-8"))
    del remembered["demo_de"]["generation"]
    state.write_text(json.dumps(remembered), encoding="utf-8")
    for id, text in (("de-001", "Mein Text"), ("de-002", "Auch meiner")):
        runtime.collections.import_documents("demo_de", iter([json.dumps({"id": id, "text": text}).encode()]))
    lines = [{"id": "de-001", "text": "Ein neuer Text"}, {"id": "de-003", "text": "Noch einer"}]
    _change(parts[0], "\n".join(map(json.dumps, lines)))
    for content in ("\n".join(map(json.dumps, lines)), json.dumps(lines[1])):
        _change(parts[0], content)
        assert demo.load(runtime) == ["demo_de"]
        texts = [runtime.collections.document("demo_de", id).text for id in ("de-001", "de-002", "de-003")]
        assert texts == ["Mein Text", "Auch meiner", "Noch einer"]
        assert runtime.collections.get("demo_de").documents == 3


def test_a_folder_becomes_collections_beside_the_demo(runtime: Runtime, parts: list[demo_parts.DemoPart]) -> None:
    folder = runtime.settings.store.data_dir.parent / "articles"
    folder.mkdir()
    (folder / "ja.ndjson").write_text('{"id": "1", "text": "港の朝"}\n\n{"id": "2", "text": "夜"}\n', encoding="utf-8")
    (folder / "no.ndjson").write_text('{"id": "1", "text": "Havnen"}', encoding="utf-8")
    (folder / "notes.txt").write_text("mine")
    added, left_out = demo_parts.folder_parts(folder)
    assert left_out == ["notes.txt"]
    assert demo.load(runtime, added)[-2:] == ["data_ja", "data_nb"]
    assert demo.load(runtime, added) == []
    assert runtime.collections.get("data_ja").documents == 2
    assert runtime.collections.get("data_nb").language == "nb"
    (folder / "ja.ndjson").write_text('{"id": "2", "text": "昼"}', encoding="utf-8")
    assert demo.load(runtime, added) == ["data_ja"]
    assert runtime.collections.get("data_ja").documents == 1
    assert demo.load(runtime) == []
    assert runtime.collections.document("data_ja", "2").text == "昼"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ja.ndjson", b'{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}', r"ja\.ndjson, line 2: id: line 1 has '1'"),
        ("ja.ndjson", b'{"id": "1", "text": "a"}\n\n{"id": "2"}', r"ja\.ndjson, line 3: text"),
        ("ja.ndjson", b'{"id": "1", "text": "\xff"}', r"ja\.ndjson, line 1: .*UTF-8"),
        ("ja.ndjson", b'[{"id": "1", "text": "a"}]', r"ja\.ndjson, line 1: is a JSON array"),
        ("ja.ndjson", b"\n", r"ja\.ndjson: holds no documents"),
        ("xx.ndjson", b"", r"xx\.ndjson: a file is named by its documents' language.*unknown language code 'xx'"),
        ("ja.json", b"", r"no file of documents"),
    ],
)
def test_a_bad_file_is_named_with_its_line_and_nothing_is_loaded(
    runtime: Runtime, parts: list[demo_parts.DemoPart], name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    folder = tmp_path / "articles"
    folder.mkdir()
    (folder / name).write_bytes(content)
    with pytest.raises(ServiceError, match=message):
        demo.load(runtime, demo_parts.folder_parts(folder)[0])
    assert runtime.collections.all() == []


def test_a_collection_that_no_folder_made_is_not_written_to(
    runtime: Runtime, parts: list[demo_parts.DemoPart], tmp_path: Path
) -> None:
    runtime.collections.create("data_ja", "ja", None)
    runtime.collections.import_documents("data_ja", iter(['{"id": "1", "text": "私の"}'.encode()]))
    (tmp_path / "ja.ndjson").write_text('{"id": "1", "text": "港"}', encoding="utf-8")
    with pytest.raises(Conflict, match="data_ja already"):
        demo.load(runtime, [part for part in demo_parts.folder_parts(tmp_path)[0] if part.name == "data_ja"])
    assert runtime.collections.document("data_ja", "1").text == "私の"


def test_a_changed_table_becomes_a_new_version(runtime: Runtime, parts: list[demo_parts.DemoPart]) -> None:
    demo.load(runtime)
    _change(parts[1], "bank\tUfer\t0.5\t1\n")
    assert demo.load(runtime) == ["demo_en_de"]
    versions = runtime.tables.get("demo_en_de").versions
    assert [(version.version, version.active) for version in versions] == [(1, False), (2, True)]


def test_what_was_deleted_is_loaded_again(runtime: Runtime, parts: list[demo_parts.DemoPart]) -> None:
    demo.load(runtime)
    runtime.collections.delete("demo_de")
    assert demo.load(runtime) == ["demo_de"]
    assert runtime.collections.get("demo_de").documents == len(_documents("de"))


def test_a_load_that_was_cut_off_goes_on(
    runtime: Runtime, parts: list[demo_parts.DemoPart], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(runtime: Runtime, file: Traversable, before: demo_parts.Loaded) -> demo_parts.Loaded:
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(demo, "demo_parts", lambda: [parts[0], replace(parts[1], load=fail)])
        with pytest.raises(OSError, match="no space left"):
            demo.load(runtime)
    assert demo.load(runtime) == ["demo_en_de", "demo_glossary_en_de"]


def test_a_damaged_memory_of_earlier_loads_means_loading_again(
    runtime: Runtime, parts: list[demo_parts.DemoPart]
) -> None:
    demo.load(runtime)
    for damaged in ("", "[]", '{"demo_de": 3}', '{"demo_de": {"sum": "x"}}'):
        (runtime.settings.store.data_dir / "demo.json").write_text(damaged, encoding="utf-8")
        assert len(demo.load(runtime)) == len(parts)
    assert runtime.collections.get("demo_de").documents == len(_documents("de"))


def test_the_welcome_names_the_address_and_three_commands() -> None:
    text = demo.welcome("http://127.0.0.1:9123/")
    commands = [line for line in text.splitlines() if "curl -s" in line]
    assert len(commands) == 3
    assert all("http://127.0.0.1:9123/v1/" in command for command in commands)
