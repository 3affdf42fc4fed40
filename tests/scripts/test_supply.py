"""The locks, the digests of images and the bill of materials."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"(?m)^([A-Za-z0-9._-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")
LOCKS = ("requirements.lock", "torch.cpu.lock", "torch.cuda.lock")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))

    def load(name: str) -> ModuleType:
        return import_module(name)

    return load


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _locked(name: str) -> dict[str, str]:
    text = (ROOT / "docker" / name).read_text()
    assert PIN.sub("", text) == "", "a line that is no pin with hashes"
    return {_normalised(pin[0]): pin[1].partition("+")[0] for pin in PIN.findall(text)}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_host_and_agrees_with_the_pinned_versions(name: str) -> None:
    text = (ROOT / "docker" / name).read_text()
    assert "://" not in text and "--index" not in text and "--find-links" not in text
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    pinned = {_normalised(package): version for package, version in pinned.items()}
    locked = _locked(name)
    assert {package: version for package, version in locked.items() if package in pinned} == {
        package: pinned[package] for package in locked if package in pinned
    }
    assert all(package in pinned or re.match("nvidia|cuda|triton", package) for package in locked)


def test_the_locks_hold_all_that_an_image_needs(script: Any) -> None:
    sbom = script("sbom")
    locked = _locked("requirements.lock")
    assert "torch" not in locked
    needed, waiting = set(), [(sbom.PRODUCT, frozenset({"server", "postgresql", "telemetry"}))]
    waiting += [(name, frozenset()) for name in ("setuptools", "pyserini")]
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in needed:
            continue
        needed.add((name, extras))
        if name not in ("setuptools", "pyserini"):
            waiting += sbom.required(sbom.distribution(name), extras)
    names = {name for name, _ in needed} - {sbom.PRODUCT, "torch"}
    assert {name for name in names if name not in locked and not re.match("nvidia|cuda|triton", name)} == set()
    assert {"torch"} == set(_locked("torch.cpu.lock")) and "torch" in _locked("torch.cuda.lock")


def test_an_image_is_pinned_behind_its_tag_and_again(script: Any) -> None:
    digests = script("image_digests")
    for number, (path, image, place) in enumerate(digests.PLACES):
        text = path.read_text()
        asked: list[str] = []

        def digest_of(name: str, asked: list[str] = asked, number: int = number) -> str:
            asked.append(name)
            return f"sha256:{number:064x}"

        once = digests.pinned(text, image, place, digest_of)
        assert f"@sha256:{number:064x}" in once
        assert digests.pinned(once, image, place, digest_of) == once
        assert len(set(asked)) == 1 and re.fullmatch(rf"{image}:[\w.-]+", asked[0])
        assert once.replace(f"@sha256:{number:064x}", "") == re.sub(r"@sha256:[0-9a-f]{64}", "", text)


def test_what_is_pinned_is_pinned_by_a_digest(script: Any) -> None:
    for path, _, place in script("image_digests").PLACES:
        (found,) = place.finditer(path.read_text())
        assert found[3] is None or re.fullmatch(r"@sha256:[0-9a-f]{64}", found[3])


def test_the_bill_of_materials_lists_packages_licences_and_what_is_loaded() -> None:
    written = subprocess.run([sys.executable, ROOT / "scripts" / "sbom.py"], capture_output=True, text=True, check=True)
    bill = json.loads(written.stdout)
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bill["serialNumber"])
    product = bill["metadata"]["component"]
    assert (product["type"], product["name"]) == ("application", "dragoman")
    packages = {one["name"]: one for one in bill["components"]}
    assert {"torch", "fastapi", "sqlalchemy", "psycopg", "pyserini"} <= set(packages)
    assert "pytest" not in packages
    for one in [product, *packages.values()]:
        assert one["purl"].startswith(f"pkg:pypi/{one['name']}@")
        assert one["version"] and one["licenses"]
        for file in one.get("components", []):
            (digest,) = file["hashes"]
            assert digest["alg"] == "SHA-256" and re.fullmatch("[0-9a-f]{64}", digest["content"])
    loaded = {file["name"] for one in [product, *packages.values()] for file in one.get("components", [])}
    assert "dragoman/indexes/java/dragoman.jar" in loaded
    assert any(name.endswith("fatjar.jar") for name in loaded)
    references = [one["bom-ref"] for one in [product, *packages.values()]]
    assert len(set(references)) == len(references)
    assert {one["ref"] for one in bill["dependencies"]} == set(references)
    assert all(set(one["dependsOn"]) <= set(references) for one in bill["dependencies"])
    of_product = next(one["dependsOn"] for one in bill["dependencies"] if one["ref"] == product["bom-ref"])
    assert all(any(f"/{name}@" in reference for reference in of_product) for name in ("numpy", "fastapi"))
