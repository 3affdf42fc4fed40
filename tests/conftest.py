"""Settings of all tests, and the database server that some share."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from types import SimpleNamespace

import hypothesis
import pytest

from tests import java_archive
from tests.support.disk_in_memory import MEMORY, room_in_memory

os.environ["OMP_NUM_THREADS"] = "1"  # several processes test at a time, and threads of small models wait for each other
os.environ["DRAGOMAN_ALLOWED_HOSTS"] = "testserver"  # the Host of Starlette's test client
os.environ["DRAGOMAN_CONFIG"] = os.devnull  # whatever file a developer has in the working directory
os.environ["JAVA_TOOL_OPTIONS"] = java_archive.options()
ROOM = 8 << 30
"""Bytes that a disk in memory needs to have free, and the machine with it; all tests together fill a small part."""

if "PYTEST_DEBUG_TEMPROOT" not in os.environ and room_in_memory() >= ROOM:
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)  # each commit to a disk waits for it, and no test cuts the power
hypothesis.settings.register_profile("dragoman", deadline=None)  # a busy machine is no fault of what is tested
hypothesis.settings.load_profile("dragoman")


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a server that is started once for all tests of this process."""
    from tests.support import postgresql  # here, as most tests need no driver of databases

    with postgresql.server() as url:
        yield url


_NO_PARAMETERS = SimpleNamespace(params={})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What runs on PostgreSQL says so, and is slow."""
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and "postgresql" in getattr(item, "callspec", _NO_PARAMETERS).params.values()
        ):
            item.add_marker(pytest.mark.postgresql)
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without collecting garbage: a fifth of the time is looking again and again at what stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
