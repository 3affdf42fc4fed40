from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from typer.main import get_command

from dragoman.cli.main import app
from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.settings import Settings
from dragoman.engine.settings import names as declared
from dragoman.engine.settings.names import ELSEWHERE, GONE, variable_of
from dragoman.engine.settings.settings import all_fields

ROOT = Path(__file__).parents[3]
SETTINGS = {variable_of(name) for _, name, _ in all_fields()}
_TEXT = {".py", ".md", ".yml", ".sh", ".service", ".example", ".toml", ".ipynb"}
_NAMED = {"Makefile", "Dockerfile", "run"}


def refusal(monkeypatch: pytest.MonkeyPatch, *variables: str) -> str:
    for variable in [variable for variable in os.environ if variable.startswith("DRAGOMAN_")]:
        monkeypatch.delenv(variable)
    for variable in variables:
        monkeypatch.setenv(variable, "1")
    with pytest.raises(InvalidRequest) as refused:
        Settings.load()
    return str(refused.value)


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("DRAGOMAN_RERANK_SECOND", "is unknown; is DRAGOMAN_RERANK_SECONDS meant?"),
        ("DRAGOMAN_TOPK", "is unknown; is DRAGOMAN_TOP_K meant?"),
        ("DRAGOMAN_", "is unknown; docs/settings.md lists all settings"),
        ("dragoman_port", "is unknown; is DRAGOMAN_PORT meant?"),
        ("DRAGOMAN_OF_ANOTHER_PRODUCT", "is unknown; docs/settings.md lists all settings"),
        ("DRAGOMAN_IMPORT_BATCH", "is gone: documents and lines are stored 500 at a time"),
        ("DRAGOMAN_JAVA_HEAP_MIB", "is gone: DRAGOMAN_JVM_HEAP takes its place, with a unit, such as 512m"),
    ],
)
def test_a_variable_that_nobody_reads_is_refused(variable: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(monkeypatch, variable) == f"{variable} {said}"


def test_all_of_them_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    said = refusal(monkeypatch, "DRAGOMAN_PROT", "DRAGOMAN_BEEM", "DRAGOMAN_JOB_CHUNK_LINES")
    assert all(variable in said for variable in ("DRAGOMAN_PROT", "DRAGOMAN_BEEM", "DRAGOMAN_JOB_CHUNK_LINES is gone"))


def test_variables_that_others_read_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ELSEWHERE - {declared.FILE_VARIABLE}:
        monkeypatch.setenv(variable, "1")
    Settings.load()


def _variables(command: click.Command) -> Iterator[str]:
    """The environment variables of the options of a command and its subcommands."""
    for parameter in command.params:
        if isinstance(parameter.envvar, str):
            yield parameter.envvar
    for subcommand in getattr(command, "commands", {}).values():
        yield from _variables(subcommand)


def test_every_option_has_a_variable_that_is_not_refused() -> None:
    assert set(_variables(get_command(app))) - SETTINGS - ELSEWHERE == set()


def _texts() -> Iterator[str]:
    """The texts of the repository that may name variables, without the list of them and without tests."""
    for folder in [path for path in ROOT.iterdir() if path.name == ".ci" or not path.name.startswith((".", "tests"))]:
        for path in [folder] if folder.is_file() else folder.rglob("*"):
            readable = path.suffix in _TEXT or path.name in _NAMED
            if readable and path.is_file() and path != Path(declared.__file__):
                yield path.read_text(encoding="utf-8")


def test_the_repository_names_no_other_variables_and_the_list_no_other_than_these() -> None:
    named = {name for text in _texts() for name in re.findall(r"\bDRAGOMAN_[A-Z0-9_]*[A-Z0-9]\b(?![_.]{2})", text)}
    assert ELSEWHERE - named == set()
    gone = {variable_of(name) for name in GONE}
    assert named - SETTINGS - ELSEWHERE - gone == set()


def test_what_is_gone_is_gone() -> None:
    assert SETTINGS.isdisjoint(variable_of(name) for name in GONE)
    named = re.findall(r"{(\w+)}", " ".join(GONE.values()))
    assert named and {variable_of(name) for name in named} <= SETTINGS
