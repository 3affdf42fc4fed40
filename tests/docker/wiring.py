"""What docker-compose.yml and docker/Dockerfile say, read as their tools read them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import podman_compose
import yaml

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "docker" / "Dockerfile"
FILLED_IN = {"POSTGRES_PASSWORD": "pw", "DRAGOMAN_WORKER_TOKEN": "token-of-the-worker-0123456789abcdef"}


def compose(**environment: str) -> dict[str, Any]:
    """The compose file with its variables filled in from this environment."""
    found = podman_compose.rec_subs(yaml.load(COMPOSE.read_text(encoding="utf-8"), yaml.CSafeLoader), environment)
    assert isinstance(found, dict)
    return found


@cache
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose(**FILLED_IN)["services"]
    return found


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions with their arguments, line continuations joined."""
    lines = [line for line in DOCKERFILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(name.upper(), rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def stages() -> dict[str, list[tuple[str, str]]]:
    """The instructions of each stage, those of the stages that it is built from included."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, rest in instructions():
        if name == "FROM":
            parent, _, own = rest.partition(" AS ")
            current = found[own] = list(found.get(parent, []))
        elif found:
            current.append((name, rest))
    return found


def environment(stage: str) -> dict[str, str]:
    """What the image's ENV instructions set."""
    pairs = " ".join(rest for name, rest in stages()[stage] if name == "ENV")
    return dict(pair.split("=", 1) for pair in pairs.split())


def last(stage: str, instruction: str) -> str:
    return [rest for name, rest in stages()[stage] if name == instruction][-1]


def command(stage: str) -> list[str]:
    found: list[str] = json.loads(last(stage, "CMD"))
    return found
