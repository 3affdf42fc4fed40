"""The README, the pages of docs/ and its folders and the lab's README, and the blocks of code in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "dragoman_lab" / "README.md"]

LANGUAGES = {"sh", "python", "ts", "json", "text", "mermaid"}
REASONS = {
    "installs packages",
    "serves until stopped",
    "needs Docker",
    "needs a GPU",
    "needs a PostgreSQL server",
    "needs the benchmark data",
    "needs parallel text",
    "needs Chromium",
    "needs a bridge",
    "needs an environment of its own",
    "needs a translator",
    "takes minutes",
}
"""Why a block may be left out; written right before it: ``<!-- not run: needs Docker, takes minutes -->``."""


def page_name(page: Path) -> str:
    """A page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)$")
_NOT_RUN = re.compile(r"^<!-- not run: (?P<reasons>[^>]+) -->$")
_INLINE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text and first line's number, and why it is not run where it is not."""

    language: str
    text: str
    line: int
    not_run: tuple[str, ...] = ()


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    return list(_blocks(page.read_text(encoding="utf-8").splitlines()))


def _blocks(lines: list[str]) -> Iterator[Block]:
    reasons: tuple[str, ...] = ()
    number = 0
    while number < len(lines):
        line = lines[number]
        if found := _NOT_RUN.match(line):
            reasons = tuple(found["reasons"].split(", "))
        elif fence := _FENCE.match(line):
            end = lines.index(fence["indent"] + "```", number + 1)
            text = "\n".join(one.removeprefix(fence["indent"]) for one in lines[number + 1 : end])
            yield Block(fence["language"], text + "\n", number + 2, reasons)
            reasons, number = (), end
        elif line.strip():
            reasons = ()
        number += 1


def prose(page: Path) -> str:
    """The text of a page without its fenced blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def inline(page: Path) -> list[str]:
    """What stands between backquotes in a page's text."""
    return _INLINE.findall(prose(page))
