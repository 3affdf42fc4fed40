from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pydantic import ValidationError

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.settings import Settings
from dragoman.engine.settings.settings import all_fields

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "settings.md"


def test_the_documentation_lists_every_setting_in_its_group_with_its_default() -> None:
    written = runpy.run_path(str(ROOT / "scripts" / "settings_page.py"))
    sections = PAGE.read_text(encoding="utf-8").split(written["MARK"])[1]
    assert sections == written["sections"](), "run scripts/settings_page.py"
    group, listed = "", []
    for line in sections.splitlines():
        if line.startswith("## "):
            group = line.removeprefix("## ")
        elif line.startswith("| `DRAGOMAN_"):
            variable, key, default, _ = [cell.strip("` ") for cell in line.strip("|").split(" | ", 3)]
            listed.append((group, key, variable, default))
    assert listed == [
        (group, name, f"DRAGOMAN_{name.upper()}", "none" if field.default is None else str(field.default))
        for group, name, field in all_fields()
    ]


def test_a_setting_has_one_name_in_all_groups() -> None:
    names = [name for _, name, _ in all_fields()]
    assert len(names) == len(set(names)) > 100


def test_what_is_chosen_outranks_the_environment_and_that_what_is_a_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings.load(fallbacks={"port": 1}).server.port == 1
    monkeypatch.setenv("DRAGOMAN_PORT", "2")
    assert Settings.load(fallbacks={"port": 1}).server.port == 2
    assert Settings.load(fallbacks={"port": 1}, port=3).server.port == 3


def test_isolated_settings_are_the_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dragoman.toml").write_text("[store]\ndatabase_url = 'sqlite:////of/another.db'\n", encoding="utf-8")
    monkeypatch.setenv("DRAGOMAN_PORT", "2")
    monkeypatch.delenv("DRAGOMAN_CONFIG")
    assert Settings.load().store.database_url == "sqlite:////of/another.db"
    settings = Settings.from_defaults(beam=2)
    assert (settings.store.database_url, settings.server.port, settings.translation.beam) == (None, 8080, 2)


def test_replaced_settings_are_validated_and_leave_the_others_and_the_original() -> None:
    settings = Settings.from_defaults(port=1, host="localhost", worker_token="sixteen-letters!")
    changed = settings.replace(port=2, worker_url=None)
    assert (changed.server.port, changed.server.host, changed.worker) == (2, "localhost", settings.worker)
    assert settings.server.port == 1
    with pytest.raises(ValidationError):
        settings.replace(port=-1)


def test_the_address_of_a_worker_names_no_user() -> None:
    assert Settings.from_defaults(worker_url="https://host:1/a@b,unix:///a@b").worker.worker_urls[1] == "unix:///a@b"
    with pytest.raises(ValidationError, match="worker_token"):
        Settings.from_defaults(worker_url="http://host:1,http://user:password@host:1")


def test_settings_that_are_none_cannot_be_chosen() -> None:
    with pytest.raises(KeyError, match="colour"):
        Settings.load(colour="red")


def test_the_environment_sets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_BODY_BYTES", "123")
    monkeypatch.setenv("DRAGOMAN_DATA_DIR", "/somewhere")
    settings = Settings.load()
    assert (settings.requests.body_bytes, settings.store.data_dir) == (123, Path("/somewhere"))
    assert settings.store.url == "sqlite:////somewhere/dragoman.db"


@pytest.mark.parametrize(
    ("given", "readers"), [("", []), ("en", ["en"]), (" en, no ,en,", ["en", "nb"]), (",".join(["de"] * 10), ["de"])]
)
def test_readers_languages_are_codes(given: str, readers: list[str]) -> None:
    assert Settings.load(reader_languages=given).search.readers == readers


@pytest.mark.parametrize("given", ["EN", "english", "en;de", ",".join(["de"] * 11)])
def test_other_readers_languages_are_refused(given: str) -> None:
    with pytest.raises(InvalidRequest, match="reader_languages: "):
        Settings.load(reader_languages=given)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("postgresql://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgres://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgresql+psycopg://u@h/d", "postgresql+psycopg://u@h/d"),
        ("sqlite:////x/y.db", "sqlite:////x/y.db"),
    ],
)
def test_database_urls_get_their_driver(given: str, used: str) -> None:
    assert Settings.load(database_url=given).store.url == used


@pytest.mark.parametrize("url", ["mysql://h/d", "sqlite://", "postgresql+asyncpg://h/d", "", "x"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="database_url: use postgresql://"):
        Settings.load(database_url=url)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.org", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_only_loopback_addresses_are_this_machine_alone(host: str, loopback: bool) -> None:
    assert Settings.load(host=host).server.loopback is loopback
