"""What the documentation says of the tree agrees with it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, blocks, inline, page_name, prose

_FOLDERS = (ROOT, ROOT / "dragoman", ROOT / "dragoman_lab")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+\.(?:py|toml|yml|html|json)")
_MADE = ("runs/", "demo-data/", "tokens/")
"""Where commands write."""


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_files_that_are_named_exist(page: Path) -> None:
    named = [one for one in inline(page) if _PATH.fullmatch(one) and not one.startswith(_MADE)]
    assert [one for one in named if not any((folder / one).exists() for folder in _FOLDERS)] == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        if anchor:
            assert anchor in _anchors(found), target


def test_every_page_is_in_the_list_of_the_readme() -> None:
    readme = ROOT / "README.md"
    linked = {(ROOT / target.partition("#")[0]).resolve() for target in re.findall(r"\]\(([^)\s]+)\)", prose(readme))}
    assert [page_name(page) for page in PAGES if page != readme and page not in linked] == []


def _anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_rooms_are_those_of_the_contracts() -> None:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = configuration["tool"]["importlinter"]["contracts"]
    floors = {tuple(one.get("containers", ())): one.get("layers") for one in contracts}
    shown = [block.text for block in blocks(ROOT / "docs" / "architecture.md") if block.language == "text"]
    rooms = ("engine", "store", "service")
    assert [text.splitlines() for text in shown] == [floors[(f"dragoman.{room}",)] for room in rooms]
