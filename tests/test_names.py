"""Names say what a value is: those that say nothing are refused, and functions are named by verbs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VAGUE = frozenset(
    {"one", "found", "own", "known", "told", "number", "given", "wanted", "kept", "made", "every"}
    | {"item", "thing", "data", "value", "stuff", "obj"}
)
"""Names that could be given to anything; see docs/words.md for those that say something."""
ALLOWED = {
    "dragoman/cli": {"data"},
    "dragoman_lab": {"data"},
    "dragoman/door/answers/results.py": {"found"},
    "dragoman/engine/search/response.py": {"value", "found"},
    "dragoman/engine/qa/response.py": {"found"},
    "dragoman/backbone/deltas/low_rank.py": {"own"},
    "dragoman/reasoning/structured_encoder.py": {"own"},
    "dragoman/lexicon/alignment/corpus.py": {"kept"},
    "dragoman_lab/reasoning/examples.py": {"known"},
}
"""By the beginning of a path: names of options (``data``), of fields of answers, and of keys in weights and files."""
VERBS = frozenset({"embed", "feed"})
ATTENTION = "value"
"""The value of attention, beside query and key; and what a validator of pydantic is given."""
PARTICIPLES = frozenset(
    {"found", "known", "told", "kept", "made", "given", "taken", "shown", "written", "done", "seen", "built"}
    | {"held", "drawn", "sent", "begun"}
)
MODULES = sorted(path for room in ("dragoman", "dragoman_lab") for path in (ROOT / room).rglob("*.py"))


def named(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a module binds, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def participles(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every function that is named by a bare participle; a property may be, as it is read like an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name.strip("_")
            decorators = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
            bare = name not in VERBS and "_" not in name and (name.endswith("ed") or name in PARTICIPLES)
            if bare and not decorators & {"property", "cached_property", "setter"}:
                yield node.lineno, node.name


@pytest.mark.parametrize("room", ["dragoman", "dragoman_lab"])
def test_no_name_says_nothing(room: str) -> None:
    refused = []
    for path in MODULES:
        place = str(path.relative_to(ROOT))
        if not place.startswith(f"{room}/"):
            continue
        text = path.read_text(encoding="utf-8")
        allowed = {name for beginning, names in ALLOWED.items() if place.startswith(beginning) for name in names}
        if "attention" in text.lower() or "validator" in text:
            allowed.add(ATTENTION)
        refused += [
            f"{place}:{line}: {name}" for line, name in named(ast.parse(text)) if name.strip("_") in VAGUE - allowed
        ]
    assert not refused, "\n".join(refused)


@pytest.mark.parametrize("room", ["dragoman", "dragoman_lab"])
def test_functions_are_named_by_verbs(room: str) -> None:
    refused = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in MODULES
        if path.is_relative_to(ROOT / room)
        for line, name in participles(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not refused, "\n".join(refused)
