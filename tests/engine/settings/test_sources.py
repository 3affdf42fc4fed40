from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.settings import Settings
from dragoman.engine.settings.settings import all_fields


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where ``dragoman.toml`` is read from, in an environment without settings."""
    monkeypatch.chdir(tmp_path)
    for variable in [variable for variable in os.environ if variable.startswith("DRAGOMAN_")]:
        monkeypatch.delenv(variable)
    return Path("dragoman.toml")


def refusal(content: str | bytes, file: Path) -> str:
    """What is said of a file."""
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidRequest) as refused:
        Settings.load()
    return str(refused.value)


def test_the_file_sets_them_in_their_groups(file: Path) -> None:
    file.write_text(
        '[search]\nrerank_seconds = 5\n[store]\ndata_dir = "/srv"\n[access]\nmetrics_open = true\n'
        '[worker]\nworker_token = "0123456789abcdef"\n[log]\nlog_format = "json"\n[models]\ntorch_threads = 3\n',
        encoding="utf-8",
    )
    settings = Settings.load()
    assert (settings.search.rerank_seconds, settings.store.data_dir) == (5.0, Path("/srv"))
    assert (settings.access.metrics_open, settings.log.log_format, settings.models.torch_threads) == (True, "json", 3)
    assert settings.worker.worker_token is not None
    assert settings.worker.worker_token.get_secret_value() == "0123456789abcdef"


def test_every_setting_may_stand_in_the_file(file: Path) -> None:
    lines: dict[str, list[str]] = {}
    for group, name, field in all_fields():
        if field.default is not None:
            default = str(field.default).lower() if isinstance(field.default, bool) else field.default
            written = (
                f'"{default}"' if isinstance(default, str | Path) and default not in ("true", "false") else default
            )
            lines.setdefault(group, []).append(f"{name} = {written}")
    text = "\n".join(f"[{group}]\n" + "\n".join(keys) for group, keys in lines.items())
    file.write_text(text, encoding="utf-8")
    assert Settings.load() == Settings.from_defaults()


def test_the_environment_outranks_the_file_and_what_is_chosen_both(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("[server]\nport = 1\n", encoding="utf-8")
    assert Settings.load(fallbacks={"port": 4}).server.port == 1
    monkeypatch.setenv("DRAGOMAN_PORT", "2")
    assert Settings.load().server.port == 2
    assert Settings.load(port=3).server.port == 3


def test_another_file_is_named_by_an_argument_or_the_environment(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, port in (("dragoman.toml", 1), ("named.toml", 2), ("argument.toml", 3)):
        Path(place).write_text(f"[server]\nport = {port}\n", encoding="utf-8")
    monkeypatch.setenv("DRAGOMAN_CONFIG", "named.toml")
    assert Settings.load().server.port == 2
    assert Settings.load(file=Path("argument.toml")).server.port == 3
    monkeypatch.setenv("DRAGOMAN_CONFIG", os.devnull)
    assert Settings.load().server.port == 8080


def test_a_file_that_is_named_has_to_be_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings.load().server.port == 8080
    with pytest.raises(InvalidRequest, match=r"^gone\.toml: No such file or directory$"):
        Settings.load(file=Path("gone.toml"))
    monkeypatch.setenv("DRAGOMAN_CONFIG", "dragoman.toml")
    with pytest.raises(InvalidRequest, match=r"^dragoman\.toml: No such file or directory$"):
        Settings.load()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[server]\nport = \n", "dragoman.toml: Invalid value (at line 2, column 8)"),
        (b"[server]\nhost = '\xff'\n", "dragoman.toml: 'utf-8' codec can't decode byte 0xff"),
        ("[server]\nprot = 1\n", "dragoman.toml: [server] prot is unknown; is port meant?"),
        ("[servers]\nport = 1\n", "dragoman.toml: [servers]: servers is unknown; is server meant?"),
        (
            "[quite_other]\n",
            "dragoman.toml: [quite_other]: quite_other is unknown; docs/settings.md lists all settings",
        ),
        ("[search]\nport = 1\n", "dragoman.toml: [search] port belongs in [server]"),
        ("port = 1\n", "dragoman.toml: port belongs in [server]"),
        ("search = 1\n", "dragoman.toml: search is a table: write [search] and its settings below"),
        ("[[search]]\nport = 1\n", "dragoman.toml: search is a table: write [search] and its settings below"),
        ('[server]\nport = "80"\n', "dragoman.toml: [server] port: Input should be a valid integer"),
        ("[access]\nmetrics_open = 1\n", "dragoman.toml: [access] metrics_open: Input should be a valid boolean"),
        ("[server]\nhost = 1979-05-27\n", "dragoman.toml: [server] host: Input should be a valid string"),
        ("[server]\nport = 65536\n", "dragoman.toml: [server] port: Input should be less than or equal to 65535"),
        ("[search]\nreader_languages = 'xx'\n", "dragoman.toml: [search] reader_languages: unknown language code"),
        ("[uploads]\nimport_batch = 9\n", "dragoman.toml: [uploads] import_batch is gone: "),
        ("java_heap_mib = 9\n", "dragoman.toml: java_heap_mib is gone: jvm_heap takes its place"),
    ],
)
def test_what_is_wrong_with_the_file_is_named_with_its_place(content: str | bytes, said: str, file: Path) -> None:
    assert refusal(content, file).startswith(said)


def test_a_wrong_value_in_the_file_is_refused_even_if_it_is_outranked(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_PORT", "2")
    assert "[server] port: " in refusal("[server]\nport = 'x'\n", file)


def test_all_mistakes_are_named_at_once_and_no_secret(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_RERANK_SECOND", "1")
    monkeypatch.setenv("DRAGOMAN_JAVA_HEAP_MIB", "1")
    assert refusal('[worker]\nworker_token = "hush"\n[server]\nprot = 1\n', file).split("; dragoman.toml: ")[0] == (
        "dragoman.toml: [worker] worker_token: Value should have at least 16 items after validation, not 4"
    )
    said = refusal('[worker]\nworker_token = "hush"\n[server]\nprot = 1\n', file)
    for fault in (
        "[server] prot is unknown; is port meant?",
        "DRAGOMAN_RERANK_SECOND is unknown; is DRAGOMAN_RERANK_SECONDS meant?",
        "DRAGOMAN_JAVA_HEAP_MIB is gone: DRAGOMAN_JVM_HEAP takes its place, with a unit, such as 512m",
    ):
        assert fault in said
    assert "hush" not in said


def test_a_wrong_value_in_the_environment_is_named_by_its_variable(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_WORKER_TOKEN", "hush")
    monkeypatch.setenv("DRAGOMAN_PORT", "http")
    with pytest.raises(InvalidRequest) as refused:
        Settings.load()
    assert "DRAGOMAN_PORT: Input should be a valid integer" in str(refused.value)
    assert "DRAGOMAN_WORKER_TOKEN: " in str(refused.value)
    assert "hush" not in str(refused.value)
