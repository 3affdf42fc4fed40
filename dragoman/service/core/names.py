"""The names that collections and tables may have, and how long ids may be."""

from __future__ import annotations

import re

ID_CHARS = 512
"""Longest id of a document or of a job's line, characters."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}", re.ASCII)


def is_name(name: str) -> bool:
    """Whether a collection or a table may have this name."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> str:
    """Return the name of a collection or table if it is allowed.

    Raises:
        ValueError: it is not allowed; the message says what is.
    """
    if not is_name(name):
        raise ValueError(
            "must be 1 to 64 characters of a-z, 0-9, '_', '.' and '-', the first of them a letter or digit"
        )
    return name
