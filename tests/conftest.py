"""Settings of all tests."""

import os

import hypothesis
import pytest

from tests import java_archive

os.environ["OMP_NUM_THREADS"] = "1"  # several processes test at a time, and threads of small models wait for each other
hypothesis.settings.register_profile("dragoman", deadline=None)  # a busy machine is no fault of what is tested
hypothesis.settings.load_profile("dragoman")


def pytest_configure(config: pytest.Config) -> None:
    """Before any test, and before any process that runs tests: these have the same environment."""
    if not hasattr(config, "workerinput"):
        os.environ[java_archive.OPTIONS] = java_archive.options(config.cache.mkdir("java"))
