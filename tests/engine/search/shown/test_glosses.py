"""Glosses: the words of hits with their translations from the active tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.engine.core.answer import fields_of
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.response import Hit
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from tests.support.modelling import WordEncoder, ask
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

TABLE = """volcano\tVulkan\t0.9\t0.8
eruption\tVulkan\t0.3\t0.1
mountain\tVulkan\t0.2\t0.07
crater\tVulkan\t0.2\t0.02
generally\tallgemein\t1.0\t0.9
generation\tGeneration\t1.0\t0.9
forest fire\tWaldbrand\t1.0\t0.9
the\tder\t1.0\t1.0
who\twer\t1.0\t1.0
improbable\tSchiff\t1.0\t0.001
"""


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    with running(settings) as opened:
        opened.collections.create("de", "de")
        put(opened, TABLE)
        yield opened


def put(runtime: Runtime, content: str, name: str = "words", **options: Any) -> None:
    runtime.tables.upload(Upload(name, "en", "de", activate=True, **options), iter([content.encode()]))


def glossed(runtime: Runtime, text: str, title: str | None = None, query: str = "7", **options: Any) -> Hit:
    add(runtime, "de", {"id": "1", "text": text, "title": title})
    answer = ask(runtime, query, **({"method": "psq", "gloss": True} | options))
    (hit,) = answer.hits
    return hit


def words(hit: Hit, text: str) -> list[tuple[str, list[str]]]:
    assert hit.gloss is not None
    fields = {"text": text, "title": hit.title or ""}
    return [(fields[one.field][one.start : one.end], one.translations) for one in hit.gloss]


def test_each_content_word_has_its_three_best_translations(runtime: Runtime) -> None:
    text = "7 mal: wer der Vulkan war, Unbekanntes und das Schiff."
    hit = glossed(runtime, text)
    assert words(hit, text) == [("Vulkan", ["volcano", "eruption", "mountain"])]


def test_inflected_forms_are_found_and_translations_are_written_as_words(runtime: Runtime) -> None:
    text = "Der Vulkane 7 in Generationen, des Waldbrandes"
    hit = glossed(runtime, text, title="Vulkans")
    found = words(hit, text)
    assert [word for word, _ in found] == ["Vulkans", "Vulkane", "Generationen", "Waldbrandes"]
    by_word = dict(found)
    assert by_word["Vulkans"][0] == by_word["Vulkane"][0] == "volcano"
    assert by_word["Generationen"] == ["generation"]  # "generally" has the same stem
    assert by_word["Waldbrandes"] == ["forest fire"]  # its words have no more than their shares of it


def test_the_share_of_a_phrase_is_not_counted_twice(runtime: Runtime) -> None:
    put(
        runtime,
        "rain\tRegen\t1\t1\nrain\tStarkregen\t1\t0.5\nheavy rain\tStarkregen\t1\t0.5\nheavy\tschwer\t1\t1\n",
        "rain",
    )
    glosses = runtime.search.glosses("en", runtime.search.snapshot)
    tokens = runtime.search.analysis("de").tokens("Starkregen")
    ((_, translations),) = glosses.of_tokens(tokens, "de")
    probabilities = {translation.term: translation.probability for translation in translations}
    assert next(iter(probabilities)) == "heavy rain" and probabilities["heavy rain"] == pytest.approx(0.5)
    assert 0.4 < probabilities["rain"] <= 0.5 and sum(probabilities.values()) <= 1 + 1e-6


def test_offsets_are_code_points_of_the_whole_text(runtime: Runtime) -> None:
    text = "🌋 Noch ein Satz ohne Belang. " * 60 + "🌋 Der Vulkan 7 raucht. " + "Noch ein Satz. " * 60
    hit = glossed(runtime, text)
    assert hit.snippet_start > 1000
    assert words(hit, text) == [("Vulkan", ["volcano", "eruption", "mountain"])]


def test_glosses_come_from_the_tables_of_the_search(runtime: Runtime) -> None:
    put(runtime, "tephra\tVulkan\t1.0\t1.0\n", "terms", kind="glossary")
    text = "Der Vulkan 7"
    assert words(glossed(runtime, text), text) == [("Vulkan", ["tephra"])]
    assert words(glossed(runtime, text, tables=["words"]), text)[0][1][0] == "volcano"
    before = runtime.tables.registry.snapshot
    runtime.tables.deactivate("terms")
    assert words(glossed(runtime, text), text)[0][1][0] == "volcano"
    answer = runtime.search.search(
        SearchQuery(query="7", query_language="en", method="psq", gloss=True), "id", None, before
    )
    assert words(answer.hits[0], text) == [("Vulkan", ["tephra"])]


def test_what_is_in_the_language_of_the_query_needs_no_gloss(runtime: Runtime) -> None:
    assert glossed(runtime, "Vulkan 7", query_language="de").gloss == []
    assert glossed(runtime, "Vulkan 7", query_language="fr").gloss == []  # no table


def test_there_are_glosses_only_on_request(runtime: Runtime) -> None:
    hit = glossed(runtime, "Vulkan 7", gloss=False)
    assert "gloss" not in fields_of(hit)
    answer = ask(runtime, "7", "psq", gloss=True, explain=True)
    assert answer.hits[0].gloss
    assert answer.timings_ms.gloss is not None


def test_hits_of_dense_search_have_them_too(runtime: Runtime, encoder: WordEncoder) -> None:
    text = "Der Vulkan spuckt."
    assert words(glossed(runtime, text, query="volcano", method="dense"), text)[0][0] == "Vulkan"
