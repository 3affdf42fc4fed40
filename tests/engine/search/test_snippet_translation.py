"""Snippets of hits in the query's language, from a translator that says what it knows."""

from __future__ import annotations

import pytest

from dragoman.engine.core.answer import fields_of
from dragoman.engine.core.errors import NotInstalled
from dragoman.engine.search.response import Hit
from dragoman.engine.settings import Settings
from tests.support.modelling import UpperTranslator, WordEncoder, ask, reasons, standing_in
from tests.support.searching import add, running

pytestmark = pytest.mark.slow


def shown(hit: Hit) -> str | None:
    """The text of a snippet's translation."""
    return None if hit.snippet_translation is None else hit.snippet_translation.text


@pytest.fixture
def translating(settings: Settings) -> Settings:
    return settings.replace(translator="upper")


def test_snippets_are_translated_on_request(translating: Settings, encoder: WordEncoder) -> None:
    with running(translating) as runtime:
        for language in ("de", "en", "fr"):
            runtime.collections.create(language, language)
            add(runtime, language, {"id": language, "text": "7 ja. Nein 8."})
        answer = ask(runtime, "7", method="none", translate_snippets=True)
        found = {hit.language: shown(hit) for hit in answer.hits}
        assert found == {"de": "7 JA. NEIN 8.", "en": None, "fr": None}
        assert reasons(answer, "translate_snippets") == [
            "snippets in fr were not translated into en: source: upper does not know 'fr'; it knows de, en, sw, zh; "
            "DRAGOMAN_TRANSLATOR can name another"
        ]
        assert answer.timings_ms.translate_snippets is not None
        plain = fields_of(ask(runtime, "7", method="none").hits[0])
        assert "snippet_translation" not in plain


def test_snippets_without_a_translator_are_refused(settings: Settings) -> None:
    without = settings.replace(translator="off")
    with running(without) as runtime, pytest.raises(NotInstalled, match="set DRAGOMAN_TRANSLATOR"):
        ask(runtime, "7", method="none", translate_snippets=True)


def test_snippets_say_that_the_translator_is_broken(translating: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with standing_in(monkeypatch, WordEncoder()), running(translating) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", {"id": "1", "text": "7 ja"})
        answer = ask(runtime, "7", method="none", translate_snippets=True)
        assert answer.hits[0].snippet_translation is None
        assert reasons(answer, "translate_snippets") == [
            "no snippet was translated: the translator cannot be loaded: no translator here"
        ]


def test_snippets_that_fail_or_take_too_long_are_null(translating: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = UpperTranslator()
    chosen = translating.replace(translate_snippets_seconds=1.5)  # what a busy machine may need
    with standing_in(monkeypatch, WordEncoder(), translator), running(chosen) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", {"id": "1", "text": "7 ja"}, {"id": "2", "text": "7 poison"})
        answer = ask(runtime, "7", method="none", translate_snippets=True)
        assert {hit.id: shown(hit) for hit in answer.hits} == {"1": "7 JA", "2": None}
        assert reasons(answer, "translate_snippets") == ["1 of 2 snippets were not translated: the translator failed"]
        add(runtime, "de", {"id": "2", "text": "7 endless"})
        answer = ask(runtime, "7", method="none", translate_snippets=True)
        assert {hit.id: shown(hit) for hit in answer.hits} == {"1": "7 JA", "2": "7 ENDLESS"}
        cut = "1 of 2 snippets were cut off, because the translation did not end"
        assert reasons(answer, "translate_snippets") == [cut]
        translator.barrier.clear()
        answer = ask(runtime, "7", method="none", translate_snippets=True)
        assert [hit.snippet_translation for hit in answer.hits] == [None, None]
        assert reasons(answer, "translate_snippets") == ["2 of 2 snippets were not translated: not within 1.5 seconds"]
        translator.barrier.set()
