"""The notebook in examples/ runs from its first cell to its last, and is kept without outputs."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_cells_run_in_their_order(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("DRAGOMAN_")]:
        monkeypatch.delenv(name)
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    namespace: dict[str, Any] = {}
    for cell in cells:
        assert cell["outputs"] == [] and cell["execution_count"] is None
        shown = executed("".join(cell["source"]), namespace)
        if hasattr(shown, "_repr_html_"):
            assert shown._repr_html_().startswith("<div>")


def executed(source: str, namespace: dict[str, Any]) -> Any:
    """What a cell shows: the value of its last line, as in a notebook."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), namespace)
    if last is None:
        return None
    tree.body = [ast.Assign([ast.Name("_", ast.Store())], last.value)]
    exec(compile(ast.fix_missing_locations(tree), "cell", "exec"), namespace)
    return namespace["_"]
