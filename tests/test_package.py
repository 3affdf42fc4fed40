"""pyproject.toml, LICENSE and NOTICE: what the package says it needs, holds and owes."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from dragoman.cli import lab
from dragoman.installation import PARTS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dragoman"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
LAB = tomllib.loads((ROOT / "dragoman_lab" / "pyproject.toml").read_text(encoding="utf-8"))


SEARCHING = {"indexes", "lexicon"}
"""Rooms of the part `search`; of `lexicon` what reads spreadsheets."""


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    return {normalised(re.split(r"[\[<>=!~; ]", requirement)[0]) for requirement in requirements}


def test_every_file_of_the_package_is_in_the_wheel() -> None:
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]["dragoman"]
    check_files(PACKAGE, patterns, set())
    lab_files = LAB["tool"]["setuptools"]["package-data"]["dragoman_lab"]
    check_files(
        ROOT / "dragoman_lab", lab_files, {ROOT / "dragoman_lab" / name for name in ("README.md", "pyproject.toml")}
    )


def check_files(package: Path, patterns: list[str], outside: set[Path]) -> None:
    taken = {path for pattern in patterns for path in package.glob(pattern)} | outside
    files = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path for path in files - taken if path.suffix != ".py"} == set()


def test_what_only_the_lab_needs_is_in_its_own_distribution() -> None:
    needed = names(LAB["project"]["dependencies"]) - {"dragoman"}
    assert needed >= {"ir-measures", "matplotlib", "sacrebleu", "scipy"}
    assert needed & names(PROJECT["dependencies"]) == set()


def test_the_lab_has_the_commands_that_the_product_hands_on() -> None:
    assert set(LAB["project"]["entry-points"][lab.GROUP]) == set(lab.COMMANDS)


def test_each_module_of_a_part_is_in_a_package_that_its_extra_brings_and_the_package_alone_does_not() -> None:
    extras = PROJECT["optional-dependencies"]
    packages = packages_distributions()
    for part, modules in PARTS.items():
        for module in modules:
            held_by = {normalised(package) for package in packages[module]}
            assert held_by & names(extras[part]), module
            assert not held_by & names(PROJECT["dependencies"]), module
    assert f"{PROJECT['name']}[search]" in extras["server"]


def test_all_that_the_package_imports_is_in_the_package_alone_or_in_a_part() -> None:
    packages = packages_distributions()
    base, extras = names(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
    in_parts = {module for modules in PARTS.values() for module in modules}
    of_parts = {"anyio", "h11", "starlette", "pydantic_core"}  # fastapi, uvicorn and pydantic bring them
    of_users = {"pandas"}  # whoever asks for its frames has it
    for room, modules in imported().items():
        for module in modules - set(sys.stdlib_module_names) - {"dragoman", "_future__"}:
            held_by = {normalised(package) for package in packages[module]}
            allowed = base | (names(extras["search"]) if room in SEARCHING else set())
            if room in ("cli", "door", "engine", "service", "store"):
                assert held_by & base or module in in_parts | of_parts | of_users, module
            else:
                assert held_by & allowed, f"{room} imports {module}"


def imported() -> dict[str, set[str]]:
    """The top-level modules that each room imports, at once or later."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules = [node.module]
            room = path.relative_to(PACKAGE).parts[0]
            found.setdefault(room, set()).update(module.partition(".")[0].removeprefix("_") for module in modules)
    return found


def test_all_that_is_required_is_pinned() -> None:
    pinned = names((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
    wanted = names(PROJECT["dependencies"]).union(*map(names, PROJECT["optional-dependencies"].values()))
    wanted |= names(LAB["project"]["dependencies"])
    wanted |= names(PYPROJECT["build-system"]["requires"]) | {"uv", "pyserini"}
    assert wanted - pinned - {PROJECT["name"]} == set()


def test_the_notice_has_every_licence_that_a_model_card_names() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert (PROJECT["license"], PROJECT["license-files"]) == ("Apache-2.0", ["LICENSE", "NOTICE"])
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    notice = notice.replace("General Public License, version 2 or later", "GPL-2+")
    cards = " ".join(card.read_text(encoding="utf-8") for card in PACKAGE.glob("*/weights/*/README.md"))
    for licence in set(re.findall(r"CC BY(?:-SA)? [\d.]+\d|GPL-2\+|PSF|CC0", cards)):
        assert licence in notice
