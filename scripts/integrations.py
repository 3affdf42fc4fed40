"""Run the snippets of docs/integrations.md with the real clients, and compare models with sentence-transformers.

`make integrations` runs it. The clients have an environment of their own, so that their pins do not bind ours. The one
of sentence-transformers takes torch and transformers from ours. Nothing beyond packages is fetched.
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

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "integrations.md"
FOLDER = ROOT / ".integrations"
REASON = "<!-- not run: needs an environment of its own -->"
SHOWN_ADDRESS = "127.0.0.1:8080"
CLIENTS = ["openai", "cohere", "voyageai", "litellm", "rerankers", "langchain-openai", "langchain-cohere"]
_INSTALL_SECONDS, _START_SECONDS, _RUN_SECONDS = 900, 120, 180
_SNIPPET = re.compile(rf"^{re.escape(REASON)}\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, help="an environment that has the clients already; none is made then")
    parser.add_argument("--only", help="run only snippets that have this text")
    options = parser.parse_args()
    python = options.python or make_environment(FOLDER / "clients", CLIENTS, [])
    snippets = [snippet for snippet in read_snippets() if options.only is None or options.only in snippet]
    failed = []
    with serve() as address:
        for snippet in snippets:
            title = snippet.strip().splitlines()[0]
            done = _run([str(python), "-c", snippet.replace(SHOWN_ADDRESS, address)], _RUN_SECONDS, _clean())
            print(f"{'failed' if done else 'passed'}: {title}", flush=True)  # noqa: T201
            failed += [title] if done else []
    if options.python is None and options.only is None:
        ours = [sysconfig.get_path("purelib"), str(ROOT)]
        python = make_environment(FOLDER / "sentence-transformers", ["sentence-transformers"], ours)
        check = [str(python), str(ROOT / "scripts" / "sentence_transformers_check.py")]
        failed += ["sentence-transformers"] if _run(check, _RUN_SECONDS, _clean()) else []
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def read_snippets() -> list[str]:
    """The Python blocks of the page that need an environment of their own."""
    return _SNIPPET.findall(PAGE.read_text(encoding="utf-8"))


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
    """The address of a service over an empty data directory."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "dragoman.cli.main", "serve", "--port", str(port), "--data-dir", folder]
        running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        try:
            _wait_until_ready(running, address)
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


def _run(command: list[str], seconds: float, environment: dict[str, str]) -> bool:
    """Whether a command failed, or took too long."""
    try:
        return subprocess.run(command, timeout=seconds, env=environment, cwd=ROOT).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def _clean() -> dict[str, str]:
    """An environment without our paths, in which no client asks its maker for anything."""
    left_out = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_OFFLINE": "1"}
    return {name: setting for name, setting in os.environ.items() if name not in left_out} | quiet


if __name__ == "__main__":
    main()
