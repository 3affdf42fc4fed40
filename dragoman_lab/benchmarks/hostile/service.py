"""A service of any checkout, with the collections and keys that hostile inputs are tried on."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import httpx

from dragoman_lab.benchmarks.memory import mebibytes

_ADDRESS = re.compile(r'listens on (http://[^\s"]+)')
_LOAD_DEMO = (
    "import sys; from pathlib import Path;"
    " from dragoman.service.runtime import Runtime;"
    " settings = getattr(Settings, 'load', Settings);"  # which a checkout from before settings had groups lacks
    " runtime = Runtime(settings(data_dir=Path(sys.argv[1]), rerank='never'));"
    " runtime.start(serving=False); demo.load(runtime); runtime.close()"
)
ROLES = {"plain": ["search"], "search": ["search"], "jobs": ["jobs"], "admin": ["admin"]}
"""The keys: ``plain`` belongs to somebody who does no harm, the others to whoever sends the inputs."""
SOUNDS, LONG, SCRATCH = "sounds", "long", "scratch"
"""Collections of words that sound alike, of long documents, and for what is uploaded."""
LONG_CHARS = 5_000_000
SOUNDING = 20_000


@dataclass(frozen=True, slots=True)
class Target:
    """Where to send an input: the address and the keys by role; ``none`` has no key."""

    host: str
    port: int
    keys: dict[str, str]

    def head(self, role: str) -> dict[str, str]:
        """The header that carries a role's key."""
        return {"Authorization": f"Bearer {self.keys[role]}"} if role in self.keys else {}


class Service:
    """``dragoman serve`` of a checkout; ``log`` holds the last of what it wrote."""

    def __init__(self, checkout: Path, data_dir: Path, memory: int | None = None, **settings: str) -> None:
        """``memory`` bytes are granted beyond what it holds when it is ready."""
        self.checkout = checkout
        self.data_dir = data_dir
        self._memory = memory
        self.settings = {f"DRAGOMAN_{name.upper()}": setting for name, setting in settings.items()}
        self._keys: dict[str, str] = {}
        self.starts = 0
        self.log: deque[str] = deque(maxlen=1000)
        self.logged = 0
        """Characters that it wrote to its log since it was ready."""

    @property
    def _commands(self) -> str:
        """The package of the command line, which was a room of the service once."""
        return "dragoman.cli" if (self.checkout / "dragoman" / "cli").is_dir() else "dragoman.service.cli"

    def load_demo(self) -> None:
        """Load the demo into the data directory."""
        engine = (self.checkout / "dragoman" / "engine").is_dir()  # settings were a room of the service once
        settings = "dragoman.engine.settings" if engine else "dragoman.service.core.settings"
        imports = f"from {self._commands} import demo; from {settings} import Settings;"
        self._python("-c", imports + _LOAD_DEMO, str(self.data_dir))

    def prepare(self) -> None:
        """Load the demo, make the keys, and fill the collections. Only the demo has embeddings, all of them."""
        self.load_demo()
        self.start()
        with self.client("none") as anonymous:
            self.wait_for_embeddings(anonymous)
        self.stop()
        self.settings["DRAGOMAN_EMBED"] = "on_demand"  # those of the long documents would take an hour
        for role, scopes in ROLES.items():
            options = [part for scope in scopes for part in ("--scope", scope)]
            output = self._python(
                "-m", f"{self._commands}.main", "keys", "create", *options, "--data-dir", str(self.data_dir)
            )
            self._keys[role] = output.split()[-1]
        self.start()
        with self.client("admin") as admin:
            for name, language in ((SOUNDS, "de"), (LONG, "de"), (SCRATCH, "de")):
                admin.post("/v1/collections", json={"name": name, "language": language}).raise_for_status()
            for name, lines in ((SOUNDS, _sounding()), (LONG, _long())):
                body = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
                kind = {"Content-Type": "application/x-ndjson"}
                admin.post(f"/v1/collections/{name}/documents", content=body, headers=kind).raise_for_status()

    @staticmethod
    def wait_for_embeddings(client: httpx.Client) -> None:
        """Wait until every collection has all of its embeddings."""
        while True:
            collections = client.get("/v1/collections").raise_for_status().json()["collections"]
            if all((row["embeddings"] or {}).get("state") != "building" for row in collections):
                return
            time.sleep(1.0)

    @property
    def command(self) -> list[str]:
        """Python's arguments, for a server on a free port."""
        return ["-m", f"{self._commands}.main", "serve", "--port", "0", "--data-dir", str(self.data_dir)]

    def start(self, warm: bool = True) -> None:
        """Start it and wait until it listens, and, unless it is not to be ``warm``, has searched and reranked."""
        self.process = subprocess.Popen(
            [sys.executable, *self.command],
            env=self._environment(),
            cwd=self.checkout,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.starts += 1
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if address := _ADDRESS.search(line):
                url = httpx.URL(address[1])
                break
        else:
            raise SystemExit("the service ended: " + "".join(self.log))
        Thread(target=self._follow, daemon=True).start()
        self.target = Target(url.host, url.port or 80, self._keys)
        if warm:
            with self.client("plain") as client:
                client.post("/v1/search", json={"query": "volcano", "collections": ["demo_de"]})
                client.post("/v1/rerank", json={"query": "volcano", "documents": ["Vulkan", "Asche"]})
        if self._memory is not None:
            most = int(mebibytes(self.process.pid, "VmData") * 1024**2) + self._memory
            resource.prlimit(self.process.pid, resource.RLIMIT_DATA, (most, most))

    def of(self, data_dir: Path, memory: int) -> Service:
        """The same service over a copy of the data directory."""
        other = Service(self.checkout, data_dir, memory)
        other._keys, other.settings = self._keys, self.settings
        return other

    def _follow(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            self.logged += len(line)

    def client(self, role: str) -> httpx.Client:
        """A client with a role's key."""
        base = f"http://{self.target.host}:{self.target.port}"
        return httpx.Client(base_url=base, headers=self.target.head(role), timeout=120, trust_env=False)

    def load_models(self) -> list[str]:
        """Use each model once: it is loaded by its first use. Returns the uses that failed, as of what is missing."""
        context = "Der Vulkan speit Asche. Das Schiff liegt im Hafen."
        uses: list[tuple[str, dict[str, object]]] = [
            ("/v1/tag", {"task": "ner", "texts": [context]}),
            ("/v1/tag", {"task": "pos", "texts": [context]}),
            ("/v1/translate", {"source": "de", "target": "en", "texts": [context]}),
            ("/v1/qa", {"question": "Where is the ship?", "context": context}),
            ("/v1/qa", {"statement": "The ship is at sea.", "context": context}),
            ("/v1/reason", {"question": "Where is the ship?", "max_tokens": 4}),
        ]
        with self.client("search") as client:
            statuses = [(path, client.post(path, json=body).status_code) for path, body in uses]
        return [f"{path}: {status}" for path, status in statuses if status != 200]

    def revive(self) -> bool:
        """Start it again if it has ended; whether it had."""
        if self.process.poll() is None:
            return False
        self.start()
        return True

    def stop(self, seconds: float = 60.0) -> float:
        """Tell it to stop; the seconds it took, or those that were granted where it had to be killed."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
        return time.monotonic() - begun

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()

    def _environment(self) -> dict[str, str]:
        inherited = {name: setting for name, setting in os.environ.items() if not name.startswith("DRAGOMAN_")}
        return inherited | {"PYTHONPATH": str(self.checkout)} | self.settings

    def _python(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], env=self._environment(), cwd=self.checkout, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        return done.stdout


def sounding_words(count: int = SOUNDING) -> Iterator[str]:
    """Distinct words with one sequence of consonants, so that all of them sound alike."""
    vowels = "aeiouyäöü"
    for index in range(count):
        inner = ""
        while index:
            index, digit = divmod(index, len(vowels))
            inner += vowels[digit]
        yield f"m{inner}r{inner[::-1]}t{inner[:2]}n"


def _sounding() -> list[dict[str, str]]:
    words = list(dict.fromkeys(sounding_words()))
    return [{"id": str(start), "text": " ".join(words[start : start + 100])} for start in range(0, len(words), 100)]


def _long() -> Sequence[dict[str, str]]:
    sentence = "Der Vulkan stieß Asche aus, und die Flüge nach Norden wurden gestrichen. "
    filler = "Am Hafen lagen viele Schiffe, deren Ladung noch niemand gezählt hatte. "
    text = filler * (LONG_CHARS // len(filler))
    return [{"id": str(index), "text": text + sentence + f"Bericht {index}."} for index in range(5)]
