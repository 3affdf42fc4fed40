"""Translation tables over a database and a folder of compiled files, with plain analysis."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from dragoman.engine.core.errors import Conflict, InvalidRequest, MalformedBody, NotFound, ServiceError, TooLarge
from dragoman.engine.settings import Settings
from dragoman.engine.tables.compiled import content_checksum
from dragoman.engine.tables.lookup import MOST_SHOWN
from dragoman.files.streams import NotGzip
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import PlainAnalysis
from dragoman.store.database import Store
from dragoman.store.models import TableEntry, TableVersion, TranslationTable
from dragoman.store.tables.service import Tables, Upload, Uploaded
from tests.store.tables.opening import Opener, put

pytestmark = pytest.mark.slow


def translations(tables: Tables, term: str, source: str = "en", target: str = "de") -> dict[str, float]:
    view = tables.registry.snapshot.views.get((source, target))
    return {} if view is None else {e.term: round(e.p_forward, 4) for e in view.surface.translations(term)}


def rows(store: Store) -> tuple[int, int, int]:
    with store.read() as session:
        counts = [
            session.scalar(select(func.count()).select_from(m)) for m in (TranslationTable, TableVersion, TableEntry)
        ]
    return counts[0] or 0, counts[1] or 0, counts[2] or 0


def contents(settings: Settings) -> dict[Path, str]:
    return {
        path.relative_to(settings.store.tables_dir): content_checksum(Table.open(path)) for path in compiled(settings)
    }


def compiled(settings: Settings) -> list[Path]:
    return sorted(settings.store.tables_dir.glob("**/*.safetensors"))


def test_versions_count_up_from_one_and_keep_who_when_and_how_much(tables: Tables) -> None:
    first = put(tables, "house\tHaus\nhouse\tGebäude\nbroken\n", created_by="ada")
    assert (first.version, first.source_terms, first.entries, first.active) == (1, 1, 2, False)
    assert [(one.line, one.reason != "") for one in first.rejected] == [(3, True)]
    second = put(tables, "tree\tBaum\n", kind="glossary", weight=2.0, format="tsv", activate=True)
    assert (second.version, second.active) == (2, True)
    info = tables.get("words")
    assert [one.version for one in info.versions] == [1, 2]
    assert info.active_version == info.versions[1].version
    one, two = info.versions
    assert (one.created_by, one.rejected, one.entries, one.checksum) == ("ada", 1, 2, first.checksum)
    assert (two.kind, two.weight, two.created_by) == ("glossary", 2.0, None)
    assert two.created_at >= one.created_at


def test_same_content_has_the_same_checksum_in_any_order_and_format(tables: Tables) -> None:
    plain = put(tables, "House\tHaus\nhouse\tGebäude\ntree\tBaum\n")
    shuffled = put(tables, "tree\tBaum\nhouse\tGebäude\nHouse\tHaus\n", name="other")
    as_csv = put(tables, "tree,Baum\nhouse,Gebäude\nHouse,Haus\n", name="csv", format="csv")
    packed = tables.upload(
        Upload("gz", "en", "de"), iter([gzip.compress(b"House\tHaus\nhouse\tGeb\xc3\xa4ude\ntree\tBaum\n")])
    )
    different = put(tables, "tree\tBaum\n", name="less")
    capitals = put(tables, "House\tHaus\nhouse\tGebäude\ntree\tBAUM\n", name="capitals")
    assert plain.checksum == shuffled.checksum == as_csv.checksum == packed.checksum
    assert len({plain.checksum, different.checksum, capitals.checksum}) == 3


entries = st.dictionaries(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwxyz")),
    st.tuples(st.floats(0.0, 1.0, width=32), st.floats(0.0, 1.0, width=32)),
    min_size=1,
)


@hypothesis_settings(max_examples=100, deadline=None)
@given(entries, st.randoms())
def test_the_checksum_depends_on_the_content_alone(found: dict[tuple[str, str], tuple[float, float]], noise) -> None:  # type: ignore[no-untyped-def]
    listed = [(s, t, p, q) for (s, t), (p, q) in found.items()]
    shuffled = noise.sample(listed, len(listed))
    table = Table.from_entries("en", "de", listed)
    assert content_checksum(table) == content_checksum(Table.from_entries("en", "de", shuffled))
    assert content_checksum(table) == content_checksum(table.inverse().inverse())
    s, t, p, q = listed[0]
    changed = Table.from_entries("en", "de", [(s, t, 1 - p if p != 0.5 else 0.25, q), *listed[1:]])
    assert content_checksum(table) != content_checksum(changed)


def test_a_dry_run_reports_and_writes_nothing(tables: Tables, store: Store, settings: Settings) -> None:
    done = put(tables, "house\tHaus\nbad\n", dry_run=True, activate=True)
    assert (done.version, done.entries, done.rejected_total, done.active) == (1, 1, 1, False)
    assert rows(store) == (0, 0, 0)
    assert compiled(settings) == []
    assert put(tables, "house\tHaus\nbad\n").checksum == done.checksum
    assert put(tables, "tree\tBaum\n", dry_run=True).version == 2


def test_activation_changes_what_searches_see_and_so_does_the_way_back(tables: Tables) -> None:
    put(tables, "house\tHaus\n", activate=True)
    assert translations(tables, "house") == {"haus": 1.0}
    before = tables.registry.snapshot
    put(tables, "house\tGebäude\n")
    assert translations(tables, "house") == {"haus": 1.0}
    info = tables.activate("words", 2)
    assert info.active_version == 2
    assert translations(tables, "house") == {"gebaude": 1.0}
    assert {e.term for e in before.views["en", "de"].surface.translations("house")} == {"haus"}
    tables.activate("words", 1)
    assert translations(tables, "house") == {"haus": 1.0}
    tables.activate("words", 1)
    assert [one.active for one in tables.get("words").versions] == [True, False]


def test_one_table_serves_both_directions(tables: Tables) -> None:
    put(tables, "house\tHaus\t0.5\t0.25\n", activate=True)
    there, back = tables.registry.snapshot.views["en", "de"], tables.registry.snapshot.views["de", "en"]
    (entry,) = back.surface.translations("haus")
    assert (entry.term, entry.p_forward, entry.p_backward) == ("house", 0.25, 0.5)
    assert there.members == back.members


def test_a_table_in_the_other_direction_joins_the_same_pair(tables: Tables) -> None:
    put(tables, "house\tHaus\n", name="there", activate=True)
    put(tables, "Baum\ttree\n", name="back", source="de", target="en", activate=True)
    assert translations(tables, "house") == {"haus": 1.0}
    assert translations(tables, "tree") == {"baum": 1.0}
    assert translations(tables, "baum", "de", "en") == {"tree": 1.0}
    names = [member.name for member in tables.registry.snapshot.views["en", "de"].members]
    (entry,) = tables.registry.snapshot.views["en", "de"].surface.translations("tree")
    assert names[entry.origin] == "back"


def test_a_glossary_outranks_statistical_tables(tables: Tables) -> None:
    put(tables, "bank\tBank\t0.7\nbank\tUfer\t0.3\ntree\tBaum\n", name="learnt", activate=True)
    put(tables, "bank\tKreditinstitut\n", name="terms", kind="glossary", activate=True)
    assert translations(tables, "bank") == {"kreditinstitut": 1.0}
    assert translations(tables, "tree") == {"baum": 1.0}
    tables.deactivate("terms")
    assert translations(tables, "bank") == {"bank": 0.7, "ufer": 0.3}


def test_weights_count_when_tables_are_merged(tables: Tables) -> None:
    put(tables, "house\tHaus\n", name="a", weight=3.0, activate=True)
    put(tables, "house\tHeim\n", name="b", weight=1.0, activate=True)
    assert translations(tables, "house") == {"haus": 0.75, "heim": 0.25}


def test_an_active_version_cannot_be_deleted_and_numbers_are_not_given_again(tables: Tables, store: Store) -> None:
    put(tables, "house\tHaus\n", activate=True)
    put(tables, "tree\tBaum\n")
    with pytest.raises(Conflict, match="version 1 of table 'words' is active"):
        tables.delete("words", 1)
    tables.delete("words", 2)
    assert [one.version for one in tables.get("words").versions] == [1]
    with pytest.raises(NotFound, match="no version 2"):
        tables.activate("words", 2)
    assert put(tables, "sun\tSonne\n").version == 3
    assert rows(store)[2] == 2


def test_a_table_whose_last_version_is_deleted_is_gone(tables: Tables, store: Store, settings: Settings) -> None:
    put(tables, "house\tHaus\n", activate=True)
    tables.deactivate("words")
    tables.delete("words", 1)
    assert tables.all() == []
    assert rows(store) == (0, 0, 0)
    assert put(tables, "maison\tHaus\n", source="fr").version == 1


def test_another_language_pair_under_the_same_name_is_a_conflict(tables: Tables, store: Store) -> None:
    put(tables)
    for source, target in [("fr", "de"), ("de", "en"), ("en", "fr")]:
        with pytest.raises(Conflict, match="'words' is from en to de"):
            put(tables, source=source, target=target)
    assert rows(store) == (1, 1, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "Not allowed"}, "characters"),
        ({"name": "../../etc"}, "characters"),
        ({"source": "xx"}, "xx"),
        ({"target": "en"}, "different"),
        ({"format": "docx"}, "format"),
    ],
)
def test_parameters_that_are_not_allowed(tables: Tables, store: Store, options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        put(tables, **options)  # type: ignore[arg-type]
    assert rows(store) == (0, 0, 0)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b"", InvalidRequest, "empty"),
        (b"no tabs here\n", InvalidRequest, "line 1"),
        (b"a\tb\tnan\n", InvalidRequest, "line 1"),
        (gzip.compress(b"house\tHaus\n" * 500, mtime=0)[:-12], InvalidRequest, "ends early"),
        (b"PK\x03\x04" + bytes(50), InvalidRequest, "spreadsheet"),
        (gzip.compress(b"house\tHaus\n" * 2_000_000, 9, mtime=0), TooLarge, "holds more than 1,000,000 entries"),
    ],
)
def test_a_file_that_is_no_table_leaves_nothing(
    tables: Tables, store: Store, settings: Settings, body: bytes, kind: type[ServiceError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        tables.upload(Upload("words", "en", "de", activate=True), iter([body]))
    assert rows(store) == (0, 0, 0)
    assert compiled(settings) == []
    assert tables.registry.snapshot.versions == ()


def test_what_is_declared_gzip_has_to_be(tables: Tables) -> None:
    with pytest.raises(NotGzip):
        tables.upload(Upload("words", "en", "de"), iter([b"house\tHaus\n"]), gzip=True)
    done = tables.upload(Upload("words", "en", "de"), iter([gzip.compress(b"house\tHaus\n")]), gzip=True)
    assert done.entries == 1


def test_an_upload_that_breaks_off_leaves_nothing(tables: Tables, store: Store) -> None:
    def parts() -> Iterator[bytes]:
        yield b"house\tHaus\n"
        raise MalformedBody("the connection was closed")

    with pytest.raises(MalformedBody):
        tables.upload(Upload("words", "en", "de"), parts())
    assert rows(store) == (0, 0, 0)


@pytest.mark.parametrize("stage", ["fill", "publish"])
def test_a_fault_while_storing_leaves_nothing(
    tables: Tables, store: Store, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tables, activate=True)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(tables._store, stage, fail)
        with pytest.raises(OSError, match="No space"):
            put(tables, "tree\tBaum\n", activate=True)
    assert rows(store) == (1, 1, 1)
    assert translations(tables, "house") == {"haus": 1.0}
    assert put(tables, "tree\tBaum\n", activate=True).version == 2


def test_a_restart_sees_what_was_active(tables: Tables, reopen: Opener) -> None:
    put(tables, "house\tHaus\n", activate=True)
    put(tables, "tree\tBaum\n", name="more", activate=True)
    put(tables, "sun\tSonne\n", name="inactive")
    again = reopen()
    assert again.registry.snapshot.versions == tables.registry.snapshot.versions
    assert translations(again, "house") == {"haus": 1.0}
    assert translations(again, "sun") == {}


def test_lost_and_damaged_compiled_files_are_made_again_from_the_database(
    tables: Tables, reopen: Opener, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    put(tables, "house\tHaus\t0.4\t0.3\nhouse\tHeim\t0.2\n", activate=True)
    put(tables, "house\tGebäude\n", name="more", activate=True)
    reopen()
    expected = contents(settings)
    snapshot = tables.registry.snapshot
    for number, path in enumerate(compiled(settings)):
        if number % 2:
            path.unlink()
        else:
            content = bytearray(path.read_bytes())
            content[-1] ^= 1
            path.write_bytes(content)
    with caplog.at_level(logging.INFO, "dragoman"):
        again = reopen()
        for name in ("words", "more"):
            again.look_up(name, "house", 1)
    assert again.registry.snapshot.versions == snapshot.versions
    assert contents(settings) == expected
    assert translations(again, "house") == translations(tables, "house")
    assert "is rebuilt" in caplog.text


def test_a_truncated_compiled_file_is_made_again(tables: Tables, reopen: Opener, settings: Settings) -> None:
    put(tables, activate=True)
    for path in compiled(settings):
        path.write_bytes(path.read_bytes()[:20])
    assert translations(reopen(), "house") == {"haus": 1.0}


def test_unfinished_versions_are_removed_when_the_service_starts(tables: Tables, store: Store, reopen: Opener) -> None:
    put(tables, "house\tHaus\n", activate=True)
    put(tables, "tree\tBaum\n")
    with store.write() as session:
        ids = {name: id for id, name in session.execute(select(TranslationTable.id, TranslationTable.name))}
        half = TableVersion(table_id=ids["words"], version=-1, state="building")
        lone = TranslationTable(name="lone", source="en", target="de")
        session.add_all([half, lone])
        session.flush()
        lonely = TableVersion(table_id=lone.id, version=-1, state="building")
        session.add(lonely)
        session.flush()
        for row in (half, lonely):
            session.add(TableEntry(version_id=row.id, position=0, source="a", target="b", p_ts=1.0, p_st=1.0))
        session.query(TableVersion).filter(TableVersion.version == 2).update({"state": "deleted"})
    again = reopen()
    assert [one.version for one in again.get("words").versions] == [1]
    assert [info.name for info in again.all()] == ["words"]
    assert rows(store) == (1, 2, 1)
    assert translations(again, "house") == {"haus": 1.0}


def test_compiled_files_of_what_is_gone_are_deleted(tables: Tables, settings: Settings) -> None:
    for number in range(6):
        put(tables, f"house\tHaus{number}\n", activate=True)
    merged = list((settings.store.tables_dir / "merged").iterdir())
    assert len(merged) == 4, "the active set and the one before it"
    for version in range(1, 6):
        tables.delete("words", version)
    assert len(compiled(settings)) == 1 + 2, "of the set before, a version was deleted"
    tables.deactivate("words")
    tables.delete("words", 6)
    assert not list(settings.store.tables_dir.glob("[0-9]*"))
    assert not list((settings.store.tables_dir / "merged").glob("*"))


def test_a_look_up_shows_the_most_probable_of_very_many_translations(tables: Tables) -> None:
    put(tables, "".join(f"house\tHaus{number}\t{1 / (number + 2):.6f}\n" for number in range(1_200)))
    found = tables.look_up("words", "house", 1)
    assert (len(found.entries), found.total) == (MOST_SHOWN, 1_200)
    assert {one.term for one in found.entries} == {f"Haus{number}" for number in range(MOST_SHOWN)}


def test_terms_are_looked_up_folded_on_either_side(tables: Tables) -> None:
    put(tables, "house\tHÄUSER\t0.4\nhouse\tHaus\t0.6\n", activate=True)
    put(tables, "house\tHeim\n")
    found = tables.look_up("words", "  HOUSE ")
    assert (found.folded, found.language, found.version) == ("house", "en", 1)
    assert [(e.term, round(e.p_forward, 3)) for e in found.entries] == [("Haus", 0.6), ("HÄUSER", 0.4)]
    assert [e.term for e in tables.look_up("words", "house", 2).entries] == ["Heim"]
    other = tables.look_up("words", "Häuser")
    assert (other.language, [e.term for e in other.entries]) == ("de", ["house"])
    assert tables.look_up("words", "house", inverse=True).entries == []
    assert tables.look_up("words", "nowhere").entries == []
    assert (found.matched, tables.look_up("words", "nowhere").matched) == (["house"], [])


def test_lookups_in_what_is_not_there(tables: Tables) -> None:
    with pytest.raises(NotFound, match="no translation table named 'words'"):
        tables.look_up("words", "house")
    put(tables)
    with pytest.raises(NotFound, match="no active version"):
        tables.look_up("words", "house")
    with pytest.raises(NotFound, match="no version 9"):
        tables.look_up("words", "house", 9)


def test_concurrent_uploads_of_one_name_get_different_numbers(tables: Tables, store: Store) -> None:
    put(tables)
    done: list[Uploaded] = []

    def upload(number: int) -> None:
        done.append(put(tables, f"house\tHaus{number}\n", activate=True))

    threads = [Thread(target=upload, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.version for one in done) == [2, 3, 4, 5, 6, 7]
    (active,) = tables.registry.snapshot.versions
    (info,) = [version for version in tables.get("words").versions if version.active]
    assert active.version == info.version
    assert [one.checksum for one in done if one.version == active.version] == [active.checksum]


def test_a_command_line_import_leaves_compiling_to_the_service(
    store: Store, settings: Settings, reopen: Opener
) -> None:
    offline = Tables(store, settings, PlainAnalysis)
    put(offline, activate=True)
    assert offline.registry.snapshot.versions == ()
    assert translations(reopen(), "house") == {"haus": 1.0}
