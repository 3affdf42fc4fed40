"""Every command that the README and docs/ show works as it stands there.

A page's shell blocks run in order, in one shell (``bash -euo pipefail``), so that a variable set in one is there in the
next. The shell starts in a fresh folder that looks like a checkout whose environment is activated: ``dragoman`` and
``python`` are found, and so are the repository's folders. Three things are put in:

- 127.0.0.1:8080 becomes the address of the test's server, which has the demo's data (:func:`as_run`);
- curl fails on an error status;
- commands that search by themselves do not load the reranker (``DRAGOMAN_RERANK=never``), which takes them seconds.

A ``json`` block right after a shell block shows its last answer: what it shows has to be there. "..." stands for any
value or any end of a text, and lists and objects may go on. Python blocks run as well.

A block after ``<!-- not run: REASON -->`` is not run, for the reasons of :mod:`tests.docs.pages`; its programs,
subcommands, options and files have to exist, as those of commands amid the text.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from tests.docs import parsing
from tests.docs.pages import LANGUAGES, PAGES, REASONS, ROOT, Block, blocks, inline, page_name, prose

pytestmark = pytest.mark.slow

SHOWN_ADDRESS = "127.0.0.1:8080"
OWN_SERVER = {"access.md": "on_demand", "README.md": "always"}
"""Pages with a server of their own over the folder ``demo-data`` beside it, and which collections it embeds.

One changes the keys of its server, the other shows what is found when all embeddings are complete.
"""
_LINKED = ("docker", "dragoman", "dragoman_lab")
_LOAD = (
    "import sys; from pathlib import Path; from dragoman.cli.demo import load;"
    " from dragoman.engine.settings import Settings; from dragoman.service.runtime import Runtime;"
    " runtime = Runtime(Settings.load(data_dir=Path(sys.argv[1]))); runtime.start(serving=False); load(runtime);"
    " runtime.close()"
)


def _environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")}
    by_words = {"DRAGOMAN_EMBED": "on_demand"}  # the encoder takes seconds to load in each of many servers
    return kept | {"PYTHONPATH": str(ROOT)} | by_words | more


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH with what an activated environment has, and a curl that fails where the answer is an error."""
    folder = tmp_path_factory.mktemp("bin")
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    made = {
        "dragoman": f'exec {sys.executable} -m dragoman.cli.main "$@"',
        "python": f'exec {sys.executable} "$@"',
        "curl": f'exec {curl} --fail-with-body "$@"',
    }
    for name, line in made.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        path.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the demo that no server uses."""
    folder = tmp_path_factory.mktemp("demo") / "demo-data"
    subprocess.run([sys.executable, "-c", _LOAD, str(folder)], env=_environment(), check=True, timeout=180)
    return folder


class Served(NamedTuple):
    """A server: its address, without the scheme, and the file of its log."""

    address: str
    log: Path


@contextmanager
def serving(data_dir: Path, **settings: str) -> Iterator[Served]:
    """A server over a data directory."""
    command = [sys.executable, "-m", "dragoman.cli.main", "serve", "--data-dir", str(data_dir), "--port", "0"]
    environment = _environment(**settings)
    path = data_dir.with_name(f"{data_dir.name}.log")
    with path.open("w", encoding="utf-8") as log:  # a pipe that nobody reads would be full one day
        process = subprocess.Popen(command, env=environment, stderr=log, cwd=data_dir.parent)
    try:
        until = time.monotonic() + 180
        while not (address := re.search(r"listens on http://(\S+)", path.read_text(encoding="utf-8"))):
            ended = process.poll() is not None or time.monotonic() > until
            assert not ended, f"the server does not serve: {path.read_text(encoding='utf-8')}"
            time.sleep(0.05)
        yield Served(address[1].rstrip("/"), path)
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def server(demo_data: Path) -> Iterator[Served]:
    """The server of all pages but those of ``OWN_SERVER``."""
    folder = demo_data.parent / "served"
    shutil.copytree(demo_data, folder)
    with serving(folder, DRAGOMAN_RERANK_SECONDS="120") as served:  # the first search waits for the model
        yield served


def _unrun(page: Path) -> list[list[str]]:
    """The commands of a page that are not run: those of its blocks that say so, and those amid its text."""
    texts = [block.text for block in blocks(page) if block.language == "sh" and block.not_run]
    texts += [one for one in inline(page) if one.startswith(("dragoman ", "python -m ", "make ", "torchrun "))]
    return [words for text in texts for words in parsing.commands(text)]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_all_code_is_in_blocks_that_say_what_they_are(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= LANGUAGES
    assert re.findall(r"\n\n {4,}\S.*", prose(page)) == []
    for block in blocks(page):
        assert set(block.not_run) <= REASONS
        elsewhere = block.language == "python" and block.not_run == ("needs an environment of its own",)
        assert not block.not_run or block.language == "sh" or elsewhere


@pytest.mark.parametrize("page", [page for page in PAGES if _unrun(page)], ids=page_name)
def test_commands_that_are_not_run_exist(page: Path) -> None:
    for words in _unrun(page):
        parsing.check(words)


def _runs(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.language in ("sh", "python") and not block.not_run]


@pytest.mark.parametrize("page", [page for page in PAGES if _runs(page)], ids=page_name)
def test_commands_work_as_they_stand(
    page: Path, tmp_path: Path, programs: Path, demo_data: Path, request: pytest.FixtureRequest
) -> None:
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in _LINKED:
        (folder / name).symlink_to(ROOT / name)
    if page.name in OWN_SERVER or "demo-data" in page.read_text(encoding="utf-8"):
        shutil.copytree(demo_data, folder / "demo-data")
    environment = _environment(PATH=f"{programs}:{os.environ['PATH']}", COLUMNS="200", DRAGOMAN_RERANK="never")
    if page.name in OWN_SERVER:
        embed = OWN_SERVER[page.name]
        with serving(folder / "demo-data", DRAGOMAN_RERANK="never", DRAGOMAN_EMBED=embed) as served:
            if embed == "always":
                _wait_for_embeddings(served.address)
            _run(page, folder, environment, served)
    else:
        needed = any(SHOWN_ADDRESS in block.text for block in _runs(page))
        _run(page, folder, environment, request.getfixturevalue("server") if needed else None)


def _wait_for_embeddings(address: str) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        collections = httpx.get(f"http://{address}/v1/collections", timeout=60).json()["collections"]
        if all(one["embeddings"]["state"] == "complete" for one in collections):
            return
        time.sleep(0.2)
    raise AssertionError("the embeddings were not made in five minutes")


def as_run(text: str, address: str) -> str:
    """A block with the test's server in place of the one that the page has the reader start: all that is changed."""
    return text.replace(SHOWN_ADDRESS, address)


def _run(page: Path, folder: Path, environment: dict[str, str], served: Served | None) -> None:
    out = folder.parent
    lines = ["set -euo pipefail"]
    for number, block in enumerate(blocks(page)):
        if block.not_run or block.language not in ("sh", "python"):
            continue
        text = as_run(block.text, served.address) if served else block.text
        if block.language == "python":
            (out / f"{number}.py").write_text(text, encoding="utf-8")
            text = f"python {out / f'{number}.py'}\n"
        lines.append(
            f"echo {number} >{out / 'reached'}\n{{\n{text}}} >{out / f'{number}.out'} 2>{out / f'{number}.err'}"
        )
    script = out / "page.sh"
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = subprocess.run(
        ["bash", str(script)], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        number = int((out / "reached").read_text())
        said = [(out / f"{number}.{one}").read_text() for one in ("out", "err")]
        block = blocks(page)[number]
        log = served.log.read_text(encoding="utf-8")[-20_000:] if served else ""
        raise AssertionError(
            f"{page.name}, line {block.line}: exit {done.returncode}\n{block.text}\n{said}{done.stderr}\n{log}"
        )
    _check_answers(page, out)


def _check_answers(page: Path, out: Path) -> None:
    found = blocks(page)
    for number in range(1, len(found)):
        before, shown = found[number - 1], found[number]
        if shown.language == "json" and before.language == "sh" and not before.not_run:
            answer = _last_json((out / f"{number - 1}.out").read_text(encoding="utf-8"))
            difference = _missing(json.loads(shown.text), answer)
            assert difference is None, (
                f"{page.name}, line {shown.line}: {difference}; the answer is {str(answer)[:2000]}"
            )


def _last_json(text: str) -> Any:
    decoder, rest, value = json.JSONDecoder(), text.strip(), None
    while rest:
        value, end = decoder.raw_decode(rest)
        rest = rest[end:].strip()
    return value


def _missing(shown: Any, real: Any, place: str = "") -> str | None:
    """Where an answer lacks what is shown of it, or None."""
    if isinstance(shown, dict) and isinstance(real, dict):
        parts: Sequence[tuple[Any, Any]] = [(name, real.get(name, KeyError)) for name in shown]
        return _first([_missing(shown[name], value, f"{place}.{name}") for name, value in parts])
    if isinstance(shown, list) and isinstance(real, list):
        if len(shown) > len(real):
            return f"{place} has {len(real)} members"
        return _first(
            [_missing(one, other, f"{place}[{i}]") for i, (one, other) in enumerate(zip(shown, real, strict=False))]
        )
    if isinstance(shown, str) and shown.endswith("..."):
        same = shown == "..." or (isinstance(real, str) and real.startswith(shown.removesuffix("...")))
    elif isinstance(shown, float) and isinstance(real, float):
        same = math.isclose(shown, real, rel_tol=0.01)
    else:
        same = shown == real and type(shown) is type(real)
    return None if same else f"{place} is {real!r}, and not {shown!r}"


def _first(found: Sequence[str | None]) -> str | None:
    return next((one for one in found if one is not None), None)
