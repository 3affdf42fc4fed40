"""The shape of the package: rooms that say what they hold, none too full, and no floor skipped by a contract."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "dragoman"
FOLDERS = sorted({path.parent for path in PACKAGE.rglob("*.py")})
MOST_MODULES = 14
MOST_ROOMS = 23
ALLOWED = {
    "Only service and store know HTTP, databases and processes": {"engine", "service", "store"},
    "Only indexes knows Java and faiss": {"indexes"},
    "The models run on a machine with nothing but torch, transformers, tokenizers, safetensors, numpy and regex": {
        "engine",
        "indexes",
        "lexicon",
        "service",
        "store",
    },
}
"""The rooms that may import what a contract forbids all others."""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_no_folder_has_more_modules_than_one_sees_at_a_glance(folder: Path) -> None:
    if folder == PACKAGE / "store" / "migrations" / "versions":
        return  # its files are numbered, and there is one more with each change
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= MOST_MODULES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_every_room_says_what_lives_there(folder: Path) -> None:
    if folder == PACKAGE / "store" / "migrations" / "versions":
        return  # its files are numbered
    described = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert described


def test_the_service_has_few_rooms() -> None:
    rooms = [path for path in (PACKAGE / "service").iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert len(rooms) <= MOST_ROOMS


@pytest.mark.parametrize("name", ALLOWED)
def test_a_contract_binds_every_room_but_those_that_it_is_not_for(name: str) -> None:
    """`files` and `engine` have contracts of their own, which forbid more; `cli` and `door` stand above the service."""
    with (PACKAGE.parent / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (bound,) = (contract["source_modules"] for contract in contracts if contract["name"] == name)
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {"cli", "door", "files"}
    assert {module.removeprefix("dragoman.") for module in bound} == rooms - ALLOWED[name]
