from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from dragoman.service.core.settings import Settings

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def test_the_documentation_lists_every_setting_with_its_default() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `DRAGOMAN_")]
    assert rows == [
        f"| `DRAGOMAN_{name.upper()}` | {'none' if field.default is None else field.default} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]


def test_the_environment_sets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_BODY_BYTES", "123")
    monkeypatch.setenv("DRAGOMAN_DATA_DIR", "/somewhere")
    settings = Settings()
    assert (settings.body_bytes, settings.data_dir) == (123, Path("/somewhere"))
    assert settings.url == "sqlite:////somewhere/dragoman.db"


@pytest.mark.parametrize(
    ("given", "readers"), [("", []), ("en", ["en"]), (" en, no ,en,", ["en", "nb"]), (",".join(["de"] * 10), ["de"])]
)
def test_readers_languages_are_codes(given: str, readers: list[str]) -> None:
    assert Settings(reader_languages=given).readers == readers


@pytest.mark.parametrize("given", ["EN", "english", "en;de", ",".join(["de"] * 11)])
def test_other_readers_languages_are_refused(given: str) -> None:
    with pytest.raises(ValidationError, match="reader_languages"):
        Settings(reader_languages=given)


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
    assert Settings(database_url=given).url == used


@pytest.mark.parametrize("url", ["mysql://h/d", "sqlite://", "postgresql+asyncpg://h/d", "", "x"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="use postgresql://"):
        Settings(database_url=url)


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
    assert Settings(host=host).loopback is loopback
