"""pyproject.toml, LICENSE and NOTICE: what the package says it needs, holds and owes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from dragoman.cli import lab

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dragoman"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
LAB = tomllib.loads((ROOT / "dragoman_lab" / "pyproject.toml").read_text(encoding="utf-8"))


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~ ]", one)[0].lower() for one in requirements}


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
    assert "pyserini" in names(PROJECT["optional-dependencies"]["lucene"])


def test_the_lab_has_the_commands_that_the_product_hands_on() -> None:
    assert set(LAB["project"]["entry-points"][lab.GROUP]) == set(lab.COMMANDS)


def test_all_that_is_required_is_pinned() -> None:
    pinned = names((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
    wanted = names(PROJECT["dependencies"]).union(*map(names, PROJECT["optional-dependencies"].values()))
    wanted |= names(LAB["project"]["dependencies"]) - {"dragoman"}
    wanted |= names(PYPROJECT["build-system"]["requires"]) | {"uv"}
    assert {one.replace("_", "-") for one in wanted} - {one.replace("_", "-") for one in pinned} == set()


def test_the_notice_has_every_licence_that_a_model_card_names() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert (PROJECT["license"], PROJECT["license-files"]) == ("Apache-2.0", ["LICENSE", "NOTICE"])
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    notice = notice.replace("General Public License, version 2 or later", "GPL-2+")
    cards = " ".join(card.read_text(encoding="utf-8") for card in PACKAGE.glob("*/weights/*/README.md"))
    for licence in set(re.findall(r"CC BY(?:-SA)? [\d.]+\d|GPL-2\+|PSF|CC0", cards)):
        assert licence in notice
