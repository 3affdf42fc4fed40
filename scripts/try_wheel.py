"""Install the wheel into an empty environment, part by part, and use each part there.

    .venv/bin/python scripts/try_wheel.py [WHEEL]

WHEEL is the one in dist/ by default. Versions are those of constraints.txt. Printed are the sizes of the wheel and of
what is installed with it, the time that takes, and the time of `import dragoman`. It ends with 1 where something fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 300
"""A command that takes longer has failed."""
TIMES = 3

IMPORT = "import time; begun = time.perf_counter(); import dragoman; print(time.perf_counter() - begun)"
MODELS = """
import dragoman
query, near, far = dragoman.encode(["volcano", "Vulkan", "Fahrrad"], kind="query")
assert query @ near > query @ far, (query @ near, query @ far)
assert dragoman.rank("volcano", ["Die Fahrräder.", "Der Vulkan."])[0].index == 1
assert [tag.label for tag in dragoman.tag(["Angela Merkel besuchte Paris."])[0]] == ["PER", "LOC"]
"""
DOOR = """
import dragoman
with dragoman.open("data") as db:
    news = db.collection("news", language="de")
    news.add([{"id": "1", "text": "Der Vulkan spuckt Asche über die Insel."}])
    news.add([{"id": "2", "text": "Die Fahrräder stehen im Keller."}])
    db.tables.add("words", {"volcano": "Vulkan"}, source="en", target="de", kind="glossary")
    for hit in db.search("volcano", query_language="en", top_k=5):
        print(hit.score, hit.id, hit.snippet, hit.highlights)
    news.wait()
"""


class Environment:
    """An empty virtual environment in a folder, and a folder to work in, from which no checkout is seen."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self._home = folder / "environment"
        venv.create(self._home, with_pip=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRAGOMAN_", "PYTHON"))}
        self._variables = kept | {"COLUMNS": "200"}
        self.programs = self._home / "bin"

    def start(self, *command: str) -> subprocess.Popen[str]:
        program = [str(self.programs / command[0]), *command[1:]]
        return subprocess.Popen(
            program, cwd=self.work, env=self._variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self, *command: str, status: int = 0) -> str:
        """What a command prints on standard output, or, where it has to fail, on standard error.

        Raises:
            AssertionError: it ends with another status.
        """
        with self.start(*command) as process:
            output, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == status, f"{command} ended with {process.returncode}: {output}{errors}"
        return errors if status else output

    def megabytes(self) -> float:
        return sum(path.lstat().st_size for path in self._home.rglob("*")) / 1e6


def install(environment: Environment, wheel: Path, part: str | None = None) -> None:
    """Install the wheel with a part of it, and print what that takes."""
    before, begun = environment.megabytes(), time.perf_counter()
    pinned = ["--quiet", "--constraint", str(ROOT / "constraints.txt")]
    wanted = f"{wheel}[{part}]" if part else str(wheel)
    environment.run("python", "-m", "pip", "install", *pinned, wanted)
    seconds, size = time.perf_counter() - begun, environment.megabytes() - before
    say(f"{part or 'without extras'}: {size:.0f} MB in {seconds:.0f} s")


def try_base(environment: Environment, wheel: Path) -> None:
    """Import, encode, and see that commands name the part that they need."""
    seconds = min(float(environment.run("python", "-c", IMPORT)) for _ in range(TIMES))
    say(f"import dragoman: {seconds:.3f} s")
    environment.run("python", "-c", MODELS)
    for command, part in ((("serve",), "server"), (("search", "volcano", "--collection", "news"), "search")):
        said = environment.run("dragoman", *command, status=1)
        assert f"pip install '{wheel}[{part}]'" in said, said


def try_search(environment: Environment) -> None:
    """Open a folder, fill a collection and a table in it, and search with them."""
    begun = time.perf_counter()
    said = environment.run("python", "-c", DOOR)
    assert " 1 Der Vulkan" in said and "table='words'" in said, said
    say(f"the first ten lines of the door: {time.perf_counter() - begun:.1f} s")
    begun = time.perf_counter()
    search = ["search", "volcano", "--collection", "news", "--query-language", "en", "--json"]
    answer = json.loads(environment.run("dragoman", *search))
    best = answer["hits"][0]
    assert best["id"] == "1" and any(mark.get("table") == "words" for mark in best["highlights"]), answer
    say(f"a search by {answer['method']} in a process of its own: {time.perf_counter() - begun:.1f} s")


def try_server(environment: Environment) -> None:
    """Serve what was filled, and search by HTTP."""
    begun = time.perf_counter()
    server = environment.start("dragoman", "serve", "--port", "0")
    try:
        assert server.stderr is not None
        address = next(line.split()[-1].rstrip("/") for line in server.stderr if "listens on" in line)
        body = json.dumps({"query": "volcano", "query_language": "en"}).encode()
        request = urllib.request.Request(f"{address}/v1/search", body, {"content-type": "application/json"})
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=SECONDS) as answered:
            answer = json.load(answered)
    finally:
        server.terminate()
        server.communicate(timeout=SECONDS)
    assert answer["hits"][0]["id"] == "1", answer
    say(f"the start of a server and a search: {time.perf_counter() - begun:.1f} s")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="Install the wheel into an empty environment and use it there.")
    parser.add_argument("wheel", nargs="?", type=Path, help="default: the one in dist")
    wheel = parser.parse_args().wheel or max((ROOT / "dist").glob("dragoman-*.whl"), default=None)
    if wheel is None:
        parser.error("there is no wheel in dist: make wheel")
    wheel = wheel.resolve()
    say(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder))
        install(environment, wheel)
        try_base(environment, wheel)
        install(environment, wheel, "search")
        try_search(environment)
        install(environment, wheel, "server")
        try_server(environment)


if __name__ == "__main__":
    main()
