"""The names that collections and tables may have, how long ids may be, and names in place of paths of the machine."""

from __future__ import annotations

import re
from pathlib import Path

ID_CHARS = 512
"""Longest id of a document or of a job's line, characters."""

_PATH = re.compile(
    r"""(?P<quote>['"])/(?:[^'"\n]*/)?(?P<quoted>[^/'"\n]+)/?(?P=quote)"""
    r"""|(?<![\w/.:])/(?:[^\s/:'"]+/)+(?P<last>[^\s/:'"]+)/?"""
)
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


def without_folders(text: str) -> str:
    """A message of this program or a library with each absolute path cut to its last name.

    Callers may read such a message, and where the machine keeps its files is not theirs to know.
    """
    return _PATH.sub(lambda path: path["last"] if path["quote"] is None else repr(path["quoted"]), text)


def model_name(place: str) -> str:
    """The name of a model to tell callers: that of its folder where it is in one, or was to be."""
    return Path(place).name if Path(place).is_absolute() or Path(place).is_dir() else place
