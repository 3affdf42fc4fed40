"""Shared fixture: a benchmark's command line in this process."""

from __future__ import annotations

from tests.lab.benchmarks.search.conftest import run

__all__ = ["run"]
