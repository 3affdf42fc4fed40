"""Run docs/integrations.md with the real clients and the tests of clients/, and compare with sentence-transformers.

`make integrations` runs it. Frameworks have environments of their own, so that their pins do not bind ours. The one of
sentence-transformers takes torch and transformers from ours. Nothing beyond packages is fetched.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dragoman

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "integrations.md"
FOLDER = ROOT / ".integrations"
REASON = "<!-- not run: needs an environment of its own -->"
SHOWN_ADDRESS = "127.0.0.1:8080"
ENVIRONMENTS = {
    "clients": ["openai", "cohere", "voyageai", "litellm", "rerankers", "langchain-openai", "langchain-cohere"],
    "mcp": ["mcp"],
    "langchain": ["./clients/langchain[test]"],
    "llama-index": [
        "llama-index-embeddings-text-embeddings-inference",
        "llama-index-postprocessor-cohere-rerank",
        "llama-index-postprocessor-tei-rerank",
        "./clients/llama-index[test]",
    ],
    "haystack": ["./clients/haystack[test]"],
}
"""What is installed for a snippet whose title begins so; for any other, the clients."""
DOCUMENTS = [
    {
        "id": "vulkan",
        "title": "Asche",
        "text": "Der Vulkan spuckte Asche über die ganze Insel.",
        "metadata": {"year": 2020, "topic": "nature", "score": "1:0"},
    },
    {"id": "schlaf", "text": "Der Vulkan schläft seit hundert Jahren.", "metadata": {"year": 2010}},
    {"id": "berg", "text": "Auf dem Gipfel liegt Asche."},
]
WORDS = {"volcano": "Vulkan", "ash": "Asche"}
_INSTALL_SECONDS, _START_SECONDS, _RUN_SECONDS = 900, 120, 180
_SNIPPET = re.compile(rf"^{re.escape(REASON)}\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run only snippets and tests whose name has this text")
    only: str = parser.parse_args().only or ""
    snippets = {name: snippet for name, snippet in read_snippets().items() if only in name}
    failed = []
    with serve() as address:
        for environment, packages in ENVIRONMENTS.items():
            begun = time.monotonic()
            chosen = {name: code for name, code in snippets.items() if environment_of(name) == environment}
            tests = ROOT / "clients" / environment / "tests"
            tested = tests.exists() and only in f"tests of {environment}"
            if not chosen and not tested:
                continue
            python = str(make_environment(FOLDER / environment, packages, []))
            commands = {name: [python, "-c", code.replace(SHOWN_ADDRESS, address)] for name, code in chosen.items()}
            if tested:
                commands[f"tests of {environment}"] = [
                    python,
                    "-m",
                    "pytest",
                    "-q",
                    "-p",
                    "no:cacheprovider",
                    str(tests),
                ]
            failed += _run_all(commands, _clean() | {"DRAGOMAN_URL": f"http://{address}"})
            print(f"{environment}: {time.monotonic() - begun:.0f} s", flush=True)  # noqa: T201
    if only in "sentence-transformers":
        ours = [sysconfig.get_path("purelib"), str(ROOT)]
        python = str(make_environment(FOLDER / "sentence-transformers", ["sentence-transformers"], ours))
        check = [python, str(ROOT / "scripts" / "sentence_transformers_check.py")]
        failed += _run_all({"sentence-transformers": check}, _clean())
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def environment_of(name: str) -> str:
    """The environment of a snippet, by the first word of its title."""
    first = name.partition(",")[0]
    return first if first in ENVIRONMENTS else "clients"


def read_snippets() -> dict[str, str]:
    """The Python blocks of the page that need an environment of their own, by their titles."""
    blocks = _SNIPPET.findall(PAGE.read_text(encoding="utf-8"))
    snippets = {block.splitlines()[0].removeprefix("# "): block for block in blocks}
    assert len(snippets) == len(blocks), "two snippets have the same title"
    return snippets


def make_environment(folder: Path, packages: list[str], others: list[str]) -> Path:
    """The Python of an environment with packages, which also finds those of `others`."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        found = subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True, capture_output=True, text=True, env=_clean(),
        )  # fmt: skip
        Path(found.stdout.strip(), "others.pth").write_text("".join(f"{path}\n" for path in others), encoding="utf-8")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    if _run(install, _INSTALL_SECONDS, _clean()):
        sys.exit(f"cannot install {', '.join(packages)}")
    return python


@contextmanager
def serve() -> Iterator[str]:
    """The address of a service with a small collection and a table."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "dragoman.cli.main", "serve", "--port", str(port), "--data-dir", folder]
        command += ["--log-level", "warning"]
        running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        try:
            _wait_until_ready(running, address)
            _fill(f"http://{address}")
            yield address
        finally:
            running.terminate()
            running.wait(60)


def _wait_until_ready(running: subprocess.Popen[bytes], address: str) -> None:
    until = time.monotonic() + _START_SECONDS
    while running.poll() is None and time.monotonic() < until:
        try:
            urllib.request.urlopen(f"http://{address}/readyz", timeout=5).close()
            return
        except OSError:
            time.sleep(0.5)
    sys.exit("the service did not start")


def _fill(url: str) -> None:
    with dragoman.connect(url) as db:
        db.collection("news_de", language="de").add(DOCUMENTS)
        db.tables.add("words", WORDS, source="en", target="de")


def _run_all(commands: dict[str, list[str]], environment: dict[str, str]) -> list[str]:
    """The names of commands that failed."""
    failed = []
    for name, command in commands.items():
        outcome = _run(command, _RUN_SECONDS, environment)
        print(f"{'failed' if outcome else 'passed'}: {name}", flush=True)  # noqa: T201
        failed += [name] if outcome else []
    return failed


def _run(command: list[str], seconds: float, environment: dict[str, str]) -> bool:
    """Whether a command failed, or took too long."""
    try:
        return subprocess.run(command, timeout=seconds, env=environment, cwd=ROOT).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def _clean() -> dict[str, str]:
    """An environment without our paths, in which no client asks its maker for anything."""
    left_out = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_OFFLINE": "1", "HAYSTACK_TELEMETRY_ENABLED": "False"}
    return {name: setting for name, setting in os.environ.items() if name not in left_out} | quiet


if __name__ == "__main__":
    main()
