"""Shared fixture of benchmark tests: a small vocabulary."""

from __future__ import annotations

from tests.backbone.conftest import subwords, text

__all__ = ["subwords", "text"]
