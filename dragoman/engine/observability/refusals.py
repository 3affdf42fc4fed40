"""Requests that were refused for their key, scope or site: a log line with address and path, and a metric."""

from __future__ import annotations

import logging
import re
from collections.abc import MutableMapping
from typing import Any

from dragoman.engine.observability.logs import known_method
from dragoman.engine.observability.metrics import Metrics

logger = logging.getLogger("dragoman.refused")

_PATH_CHARS = 200
_SECRET = re.compile(r"(dragoman_[0-9a-f]{1,12})_[A-Za-z0-9_-]+")


def report_refusal(scope: MutableMapping[str, Any], reason: str, key_id: str | None = None) -> None:
    """Log and count a refusal; ``key_id`` is public: the id of the key, or the id in what was sent as one.

    The address is that of the connection: a proxy's, where there is one, as its headers can be forged.
    """
    metrics: Metrics = scope["app"].state.metrics
    metrics.refused_caller(reason)
    client = scope.get("client")
    fields = {
        "reason": reason,
        "client": client[0] if client else "unknown",
        "method": known_method(scope["method"]),
        "path": _redact(scope["path"]),
    } | ({"key_id": key_id} if key_id else {})
    logger.warning("%s", " ".join(f"{name}={field}" for name, field in fields.items()), extra=fields)


def _redact(path: str) -> str:
    """A path without what may be the secret of a key, and not longer than a line should be."""
    path = _SECRET.sub(r"\1_...", path[: 10 * _PATH_CHARS])
    return path if len(path) <= _PATH_CHARS else path[: _PATH_CHARS - 3] + "..."
