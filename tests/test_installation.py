"""Which command brings a missing part, as it was installed from a wheel, a checkout or elsewhere."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from dragoman import installation
from dragoman.installation import TORCH, MissingPart, advice, command, needed_for, require

ROOT = Path(__file__).parents[1]


class Installed:
    """A distribution of which an installer wrote down where it comes from."""

    version = "0.1.0"

    def __init__(self, origin: dict[str, Any] | None) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._origin is None else json.dumps(self._origin)


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (
            {"url": "file:///x/dragoman-0.1.0-py3-none-any.whl", "archive_info": {}},
            "/x/dragoman-0.1.0-py3-none-any.whl",
        ),
        ({"url": "file:///my%20wheels/dragoman.whl", "archive_info": {}}, "/my wheels/dragoman.whl"),
        ({"url": "file:///checkout", "dir_info": {}}, "/checkout"),
        (None, "dragoman-0.1.0-py3-none-any.whl"),
    ],
)
def test_a_part_comes_from_where_the_package_came_from(
    origin: dict[str, Any] | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "distribution", lambda name: Installed(origin))
    assert command("search") == f"pip install '{expected}[search]'"


def test_of_a_checkout_the_command_is_for_editing(monkeypatch: pytest.MonkeyPatch) -> None:
    origin = {"url": "file:///checkout", "dir_info": {"editable": True}}
    monkeypatch.setattr(installation, "distribution", lambda name: Installed(origin))
    assert command("server") == "pip install -e '/checkout[server]'"


def test_of_a_wheel_on_a_server_the_command_has_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    origin = {"url": "https://wheels.test/dragoman-0.1.0-py3-none-any.whl", "archive_info": {}}
    monkeypatch.setattr(installation, "distribution", lambda name: Installed(origin))
    assert command("server") == f"pip install 'dragoman[server] @ {origin['url']}'"


def test_of_a_folder_that_was_never_installed_the_command_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Installed:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(installation, "distribution", missing)
    assert command("search") == f"pip install -e '{ROOT}[search]'"


def hide(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Let nothing find these modules."""
    real_spec, real_import = installation.find_spec, builtins.__import__

    def import_others(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] in modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real_import(name, *rest, **named)

    monkeypatch.setattr(installation, "find_spec", lambda name: None if name in modules else real_spec(name))
    monkeypatch.setattr(builtins, "__import__", import_others)


def test_what_an_import_lacks_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "faiss", "torch", "anything")
    with pytest.raises(MissingPart) as missing, needed_for("search by meaning"):
        import faiss  # noqa: F401
    assert str(missing.value) == f"search by meaning needs faiss, which is not installed: {command('search')}"
    assert missing.value.name == "faiss"
    assert advice(missing.value) == str(missing.value)
    with pytest.raises(MissingPart) as missing, needed_for("ranking"):
        import torch  # noqa: F401
    assert str(missing.value) == f"ranking needs torch, which is not installed: {TORCH}"
    with pytest.raises(ModuleNotFoundError) as other, needed_for("search by meaning"):
        __import__("anything")
    assert advice(other.value) is None


def test_a_module_that_is_there_but_lacks_something_is_not_called_missing() -> None:
    with pytest.raises(ImportError) as lacking, needed_for("search"):
        from sqlalchemy import nothing_of_this_name  # noqa: F401
    assert not isinstance(lacking.value, MissingPart)
    assert advice(lacking.value) is None
    assert advice(ModuleNotFoundError("No module named 'sqlalchemy.none'", name="sqlalchemy.none")) is None


def test_a_part_is_required_without_importing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    require("server", "dragoman serve")
    hide(monkeypatch, "uvicorn")
    with pytest.raises(MissingPart) as missing:
        require("server", "dragoman serve")
    assert str(missing.value) == f"dragoman serve needs uvicorn, which is not installed: {command('server')}"


def test_the_indexes_say_which_part_they_are() -> None:
    program = """
import sys
sys.modules["anyascii"] = None
try:
    import dragoman.indexes
except ImportError as fault:
    print(type(fault).__name__, fault)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    expected = f"MissingPart dragoman.indexes needs anyascii, which is not installed: {command('search')}\n"
    assert done.stdout == expected
