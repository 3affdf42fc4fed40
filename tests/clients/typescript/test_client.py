"""The TypeScript client: its types are those of the service, and its tests pass against it."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks
from tests.support.serving import Server, server
from tests.support.standing_in import STANDING_IN
from tests.support.typescript import CLIENT, build, deno, run_tests

pytestmark = pytest.mark.slow

SCRIPT = runpy.run_path(str(ROOT / "scripts" / "typescript_types.py"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("typescript"), STANDING_IN, translator="upper", reader="off") as running:
        yield running


def test_the_client_does_what_it_says(served: Server) -> None:
    run_tests("client", served.url)


def test_requests_are_repeated_and_ended() -> None:
    run_tests("transport", "dragoman.test")


@pytest.mark.parametrize("page", ["docs/typescript.md", "clients/typescript/README.md"])
def test_what_is_shown_works(served: Server, tmp_path: Path, page: str) -> None:
    (snippet,) = (block.text for block in blocks(ROOT / page) if block.language == "ts")
    shown = snippet.replace("http://127.0.0.1:8080", served.url).replace('"dragoman"', f'"{CLIENT}/src/index.ts"')
    (tmp_path / "shown.ts").write_text(shown, encoding="utf-8")
    written = deno("run", "--config", CLIENT / "deno.json", "--no-check", "--allow-net", tmp_path / "shown.ts")
    assert "Asche über Island 🌋 Der [Vulkan] spuckt Asche." in written or "volcano eruption" in snippet


def test_the_types_are_those_of_the_service(served: Server) -> None:
    made = SCRIPT["formatted"](SCRIPT["types_of"](served.client.get("/openapi.json").json()))
    assert made == SCRIPT["TYPES"].read_text(encoding="utf-8"), "run 'make types'"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_node_runs_what_is_built(served: Server, tmp_path: Path) -> None:
    build(tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    tests = ["tests/client.test.js", "tests/transport.test.js"]
    done = subprocess.run(
        ["node", "--test", "--test-name-pattern=highlights|again|events", *tests],
        cwd=tmp_path,
        env={"PATH": str(Path(shutil.which("node") or "").parent), "DRAGOMAN_URL": served.url},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
