"""The packages for LangChain, LlamaIndex and Haystack: what they say they need, and that the copies in them agree.

`make integrations` runs their own tests, each in an environment of its own.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import blocks

ROOT = Path(__file__).parents[2]
FRAMEWORKS = {"langchain": "langchain-core", "llama-index": "llama-index-core", "haystack": "haystack-ai"}
PRODUCT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def project(framework: str) -> dict[str, Any]:
    text = (ROOT / "clients" / framework / "pyproject.toml").read_text(encoding="utf-8")
    assert "://" not in text, "no registry and no other address"
    described: dict[str, Any] = tomllib.loads(text)["project"]
    return described


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_package_has_the_products_version_and_licence_and_needs_little(framework: str) -> None:
    described = project(framework)
    for field in ("version", "license", "requires-python"):
        assert described[field] == PRODUCT[field]
    assert (ROOT / "clients" / framework / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    needed = {re.split(r"[<>=!~\[; ]", requirement)[0] for requirement in described["dependencies"]}
    assert needed == {FRAMEWORKS[framework], "httpx"}
    assert all("==" not in requirement for requirement in described["dependencies"])


def test_the_packages_have_the_same_requests() -> None:
    copies = {path: path.read_bytes() for path in (ROOT / "clients").rglob("service.py") if "build" not in path.parts}
    assert len(copies) == len(FRAMEWORKS) and len(set(copies.values())) == 1


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_readme_names_what_there_is(framework: str) -> None:
    folder = ROOT / "clients" / framework
    (block,) = blocks(folder / "README.md")
    compile(block.text, "README.md", "exec")
    tests = (folder / "tests" / "test_components.py").read_text(encoding="utf-8")
    for line in re.findall(r"^from .* import .*$", block.text, re.MULTILINE):
        imported, _, names = line.removeprefix("from ").partition(" import ")
        assert re.search(rf"^from {re.escape(imported)} import ", tests, re.MULTILINE), f"no test imports {imported}"
        assert all(name in tests for name in names.split(", "))


def test_each_snippet_has_a_title_of_its_own_by_which_its_environment_is_chosen() -> None:
    snippets = [
        block.text
        for block in blocks(ROOT / "docs" / "integrations.md")
        if "needs an environment of its own" in block.not_run
    ]
    titles = [snippet.partition("\n")[0] for snippet in snippets]
    assert len(set(titles)) == len(titles) and all(title.startswith("# ") for title in titles)
    for framework in FRAMEWORKS:
        assert any(title.startswith(f"# {framework}, ") for title in titles)
    for snippet in snippets:
        compile(snippet, "integrations.md", "exec")
