"""How the entries of tables are written is kept beside their keys, and made again where it is lost."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from dragoman.engine.query.translation import is_function_word
from dragoman.engine.settings import Settings
from dragoman.engine.tables.compiled import content_checksum
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import words
from dragoman.store.database import Store
from dragoman.store.models import TableEntry, TableVersion
from dragoman.store.tables.patching import Addition, Patch
from dragoman.store.tables.service import Tables
from tests.store.tables.opening import Opener, put

pytestmark = pytest.mark.slow


def test_a_function_word_is_no_entry_that_is_written_in_capitals(tables: Tables) -> None:
    put(tables, "WHO\tWGO\nwhat\tetwas\n", name="names", kind="glossary", activate=True)
    view = tables.registry.snapshot.views["en", "de"]
    known = folded_function_words("en")
    for text, aside in (("who builds it", True), ("The WHO builds it", False), ("what builds it", False)):
        (token,) = [one for one in words(text, "en") if one.word.lower() in ("who", "what")]
        assert is_function_word(text, known, view, token) is aside
    assert tables.look_up("names", "who").matched == ["WHO"]


def test_forms_that_are_lost_are_compiled_again(tables: Tables, settings: Settings, reopen: Opener) -> None:
    put(tables, "US\tUSA\n", kind="glossary", activate=True)
    for path in settings.store.tables_dir.glob("**/*.written"):
        path.write_bytes(b"damaged")
    again = reopen()
    assert again.look_up("words", "us").matched == ["US"]


def test_a_version_without_written_forms_keeps_the_folded_ones(tables: Tables, store: Store, reopen: Opener) -> None:
    put(tables, "US\tuns\n", activate=True)
    with store.write() as session:
        session.execute(update(TableEntry).values(source="us", source_written=None))
        session.execute(update(TableVersion).values(written_forms=False, checksum=plain_checksum()))
    again = reopen()
    assert [one.written_forms for one in again.get("words").versions] == [False]
    assert again.look_up("words", "US").matched == ["us"]
    patch = Patch([Addition("IT", "EDV")], [])
    assert again.patch("words", patch).version == 2
    assert [(one.written_forms, one.active) for one in again.get("words").versions] == [(False, False), (False, True)]
    export = b"".join(again.browse.export("words", 2, "tsv")[1]).decode()
    assert export.splitlines()[1:] == ["IT\tEDV", "us\tuns"]


def plain_checksum() -> str:
    return content_checksum(Table.from_entries("en", "de", [("us", "uns", 1.0, 1.0)]))
