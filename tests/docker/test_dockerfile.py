"""docker/Dockerfile: hadolint's rules, and that what it names exists."""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docker.wiring import DOCKERFILE, ROOT, command, environment, instructions, last, stages

pytestmark = pytest.mark.slow

IMAGES = ["api", "worker"]


def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, "--no-color", DOCKERFILE], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def copied() -> list[str]:
    """The sources of all COPY instructions that copy from the repository."""
    wanted = [rest.split() for name, rest in instructions() if name == "COPY" and not rest.startswith("--from")]
    return [source for words in wanted for source in words[:-1]]


def test_what_is_copied_exists_and_reaches_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = [line.removeprefix("!") for line in lines if line.startswith("!")]
    assert "*" in lines
    assert sorted(copied()) == sorted(allowed)
    for source in copied():
        assert (ROOT / source).exists()


def test_what_must_stay_outside_is_not_allowed_in() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for secret in (".env", ".git", "data", "docker/env.example", "tests", ".venv"):
        assert not any(fnmatch.fnmatch(secret, line.removeprefix("!")) for line in lines)


def test_what_a_lock_is_made_from_are_the_requirements_of_the_package() -> None:
    script = [sys.executable, ROOT / "docker" / "requirements.py", ROOT / "pyproject.toml", "server", "postgresql"]
    printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout.splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["search"], *extras["server"], *extras["postgresql"]]
    assert sorted([*printed, "dragoman[search]"]) == sorted(wanted)


def test_all_packages_of_an_image_are_checked_by_hashes() -> None:
    installations = [part for name, rest in stages()["build"] if name == "RUN" for part in rest.split("&&")]
    installations = [part for part in installations if "pip install" in part]
    assert len(installations) == 3
    *locked, package = installations
    assert all("--require-hashes --no-deps" in part for part in locked)
    assert package.split() == ["pip", "install", "--no-deps", "--no-build-isolation", "."]


def test_an_image_has_lucene_in_the_package_and_no_pyserini(tmp_path: Path) -> None:
    (steps,) = [rest for name, rest in stages()["build"] if name == "RUN" and "lucene_classes.py" in rest]
    take, remove, install = (part.split() for part in steps.split("&&"))
    assert take == ["PYTHONPATH=.", "python", "scripts/lucene_classes.py", "."]
    assert remove == ["pip", "uninstall", "--yes", "pyserini"]
    assert install[:2] == ["pip", "install"]
    for source in copied():
        if not source.startswith("docker/"):
            into = tmp_path / source
            into.parent.mkdir(exist_ok=True)
            (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, into)
    subprocess.run([sys.executable, *take[2:]], cwd=tmp_path, env=os.environ | {"PYTHONPATH": "."}, check=True)
    assert (tmp_path / "dragoman" / "indexes" / "java" / "lucene.jar").stat().st_size > 20_000_000


@pytest.mark.parametrize("stage", IMAGES)
def test_an_image_is_not_run_by_root_and_says_whether_it_is_well(stage: str) -> None:
    assert int(last(stage, "USER").split(":")[0]) > 0
    assert last(stage, "STOPSIGNAL") == "SIGTERM"
    check = last(stage, "HEALTHCHECK").partition("CMD ")[2]
    assert json.loads(check) == ["python", "/opt/dragoman/healthcheck.py"]
    assert ("COPY", "docker/healthcheck.py /opt/dragoman/healthcheck.py") in stages()[stage]
    assert last(stage, "EXPOSE") == environment(stage)["DRAGOMAN_PORT"]


@pytest.mark.parametrize("stage", IMAGES)
def test_the_command_of_an_image_exists(stage: str) -> None:
    program, *arguments = command(stage)
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert program in scripts
    helped = subprocess.run(
        [sys.executable, "-m", scripts[program].partition(":")[0], *arguments, "--help"], capture_output=True
    )
    assert helped.returncode == 0
