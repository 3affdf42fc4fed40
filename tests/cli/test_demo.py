"""The demo's data, what loading it does the first time and later, and whether searching it finds what it should."""

from __future__ import annotations

import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import httpx
import pytest

from dragoman.cli import demo
from dragoman.engine.core.errors import NotFound
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from tests.support.serving import server

pytestmark = pytest.mark.slow

FOLDER = files("dragoman") / "demo"
SCRIPTS = {"ar": "ARABIC", "de": "LATIN", "el": "GREEK", "es": "LATIN", "fr": "LATIN", "ru": "CYRILLIC"} | {
    "sw": "LATIN",
    "zh": "CJK",
}


def _lines(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()


def _documents(language: str) -> list[dict[str, str]]:
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


@pytest.mark.parametrize("language", demo.LANGUAGES)
def test_documents_are_in_their_language_and_script(language: str) -> None:
    documents = _documents(language)
    assert len(documents) >= 30
    assert [document["id"] for document in documents] == [f"{language}-{n:03d}" for n in range(1, len(documents) + 1)]
    for document in documents:
        text = f"{document['title']} {document['text']}"
        assert unicodedata.normalize("NFC", text) == text
        letters = [unicodedata.name(character) for character in text if character.isalpha()]
        own = sum(name.startswith(SCRIPTS[language]) for name in letters)
        assert own / len(letters) > 0.8


@pytest.mark.parametrize("language", demo.LANGUAGES)
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
    ids = {document["id"] for language in demo.LANGUAGES for document in _documents(language)}
    assert len(queries) == 40
    assert relevant.keys() == queries.keys()
    assert set().union(*relevant.values()) <= ids
    assert all({document[:2] for document in found} == demo.LANGUAGES.keys() for found in relevant.values())


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


@pytest.mark.parametrize("language", demo.LANGUAGES)
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


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    opened = Runtime(Settings.load(data_dir=tmp_path / "data"))
    opened.start()
    yield opened
    opened.close()


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[demo.Part]:
    """The German documents and their tables alone, in files that the test may change."""
    chosen = [part for part in demo.demo_parts() if part.name in ("demo_de", "demo_en_de", "demo_glossary_en_de")]
    copies = []
    for part in chosen:
        copy = tmp_path / part.file.name
        copy.write_bytes(part.file.read_bytes())
        copies.append(replace(part, file=copy))
    monkeypatch.setattr(demo, "demo_parts", lambda: copies)
    return copies


def _change(part: demo.Part, content: str) -> None:
    assert isinstance(part.file, Path)
    part.file.write_text(content, encoding="utf-8")


def test_loading_twice_loads_once(runtime: Runtime, parts: list[demo.Part]) -> None:
    assert demo.load(runtime) == ["demo_de", "demo_en_de", "demo_glossary_en_de"]
    generation = runtime.collections.get("demo_de").generation
    assert demo.load(runtime) == []
    assert runtime.collections.get("demo_de").generation == generation
    assert len(runtime.tables.get("demo_en_de").versions) == 1


def test_changed_documents_replace_the_old_ones_and_leave_those_of_others(
    runtime: Runtime, parts: list[demo.Part]
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


def test_a_changed_table_becomes_a_new_version(runtime: Runtime, parts: list[demo.Part]) -> None:
    demo.load(runtime)
    _change(parts[1], "bank\tUfer\t0.5\t1\n")
    assert demo.load(runtime) == ["demo_en_de"]
    versions = runtime.tables.get("demo_en_de").versions
    assert [(version.version, version.active) for version in versions] == [(1, False), (2, True)]


def test_what_was_deleted_is_loaded_again(runtime: Runtime, parts: list[demo.Part]) -> None:
    demo.load(runtime)
    runtime.collections.delete("demo_de")
    assert demo.load(runtime) == ["demo_de"]
    assert runtime.collections.get("demo_de").documents == len(_documents("de"))


def test_a_load_that_was_cut_off_goes_on(
    runtime: Runtime, parts: list[demo.Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(runtime: Runtime, content: bytes, before: set[str]) -> set[str]:
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(demo, "demo_parts", lambda: [parts[0], replace(parts[1], load=fail)])
        with pytest.raises(OSError, match="no space left"):
            demo.load(runtime)
    assert demo.load(runtime) == ["demo_en_de", "demo_glossary_en_de"]


def test_a_damaged_memory_of_earlier_loads_means_loading_again(runtime: Runtime, parts: list[demo.Part]) -> None:
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
