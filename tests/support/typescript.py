"""The TypeScript client and its tests, which deno runs; it comes with the packages of developing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
DENO = Path(sys.executable).with_name("deno")
_SPECIFIER = re.compile(r'(from "\.[^"]*)\.ts"')


def deno(*arguments: object, folder: Path = CLIENT, **environment: str) -> str:
    """What deno wrote; it has to succeed."""
    done = subprocess.run(
        [DENO, *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_tests(name: str, url: str) -> None:
    """Run a file of the client's tests against a service; its types are checked by ``make lint``."""
    address = url.removeprefix("http://").rstrip("/")
    allowed = [f"--allow-net={address}", "--allow-env=DRAGOMAN_URL"]
    deno("test", "--no-check", "--no-remote", *allowed, f"tests/{name}.test.ts", DRAGOMAN_URL=url)


def build(folder: Path) -> None:
    """Write the client and its tests as modules of JavaScript, as the package has them, for browsers and Node."""
    sources = [*CLIENT.glob("src/*.ts"), *CLIENT.glob("tests/*.ts")]
    deno("transpile", "--no-check", "--outdir", folder, *(path.relative_to(CLIENT) for path in sources))
    for path in folder.rglob("*.js"):  # as the compiler of the package does
        path.write_text(_SPECIFIER.sub(r'\1.js"', path.read_text(encoding="utf-8")), encoding="utf-8")
