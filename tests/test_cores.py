"""The processor's cores: what each library holds in a process that serves, as the libraries themselves say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman import cores

ASK = """
import ctypes, json, sys
import dragoman.cli.main
early = [library for library in ("numpy", "faiss", "torch") if library in sys.modules]
from dragoman.engine.models.models import Models
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
models = Models(Settings.load(), Metrics())
states = models.begin_encoding("where do the herons breed").result().states  # loads and uses all of them
import faiss, torch
from threading import Thread
codec = models.encoder().codec
searching = []
def search():
    codec.encode(states)
    searching.append(faiss.omp_get_max_threads())
thread = Thread(target=search); thread.start(); thread.join()
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "scipy_openblas" in line}
print(json.dumps({
    "early": early, "torch": torch.get_num_threads(), "faiss": searching[0],
    "numpy": [ctypes.CDLL(path).scipy_openblas_get_num_threads64_() for path in loaded],
}))
models.close()
"""


@pytest.fixture(scope="module")
def answers() -> tuple[dict[str, object], str]:
    """What a process of the command line says after a query was encoded: thread counts, and OpenMP's own report."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "OPENBLAS_"))}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        env=inherited | {"OMP_DISPLAY_ENV": "VERBOSE"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), done.stderr


@pytest.mark.slow
def test_each_library_holds_its_share_of_the_cores(answers: tuple[dict[str, object], str]) -> None:
    held, _ = answers
    assert held["early"] == []  # one that was loaded before could not be told
    assert held["torch"] == (cores.available() + 1) // 2
    assert held["faiss"] == 1  # its OpenBLAS takes as many as OpenMP has on the thread that calls it
    assert held["numpy"] == [1]


@pytest.mark.slow
def test_no_openmp_spins(answers: tuple[dict[str, object], str]) -> None:
    _, report = answers
    spinning = re.findall(r"GOMP_SPINCOUNT = '(\d+)'", report)
    waiting = re.findall(r"OMP_WAIT_POLICY = '(\w+)'", report)
    assert spinning and set(spinning) == {"0"}
    assert waiting and set(waiting) == {"PASSIVE"}


def test_what_the_environment_says_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in cores.QUIET:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    cores.quiet_libraries()
    assert {variable: os.environ[variable] for variable in cores.QUIET} == cores.QUIET | {"OPENBLAS_NUM_THREADS": "3"}
    for variable in cores.QUIET:
        monkeypatch.delenv(variable, raising=False)


def test_a_library_that_is_loaded_is_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", sys)
    assert not cores.quiet_libraries()


@pytest.mark.parametrize(("quota", "cpus"), [("max 100000", 8), ("150000 100000", 2), ("50000 100000", 1)])
def test_a_container_has_the_cores_of_its_quota(
    quota: str, cpus: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(cores, "_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert cores.available() == cpus
    assert cores.for_models() == (cpus + 1) // 2 and cores.for_models(alone=True) == cpus
    assert cores.for_requests() == min(4, max(2, cpus))


def test_openmp_may_be_given_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert cores.for_models() == cores.for_models(alone=True) == 1
