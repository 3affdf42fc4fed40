"""The tables that a request chooses: by name the active version, by name and number (``mine@3``) any that is ready."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dragoman.engine.core.errors import InvalidRequest, NotFound
from dragoman.engine.tables.views import ActiveVersion

VersionKey = tuple[str, int]
"""A table's name and the number of one of its versions."""

_CHOICE = re.compile(r"([^@]*)@([1-9][0-9]{0,9})", re.ASCII)


class Choice(NamedTuple):
    """What one entry of ``tables`` names; ``version`` is None for the active one."""

    name: str
    version: int | None


def parse_choices(names: Sequence[str]) -> list[Choice]:
    """What each entry of ``tables`` names.

    Raises:
        InvalidRequest: an entry is neither a name nor a name and a number, or a table is named with two versions.
    """
    versions: dict[str, int | None] = {}
    choices = []
    for place, text in enumerate(names):
        choice = _parse(place, text)
        if versions.setdefault(choice.name, choice.version) != choice.version:
            raise InvalidRequest(f"tables[{place}]: table {choice.name!r} is named before, with another version")
        choices.append(choice)
    return choices


def versions_named(names: Sequence[str]) -> set[VersionKey]:
    """The versions that entries of ``tables`` name by number; entries that are not allowed name none."""
    matches = (_CHOICE.fullmatch(name) for name in names)
    return {(match[1], int(match[2])) for match in matches if match is not None}


def choose_ready(choices: Sequence[Choice], ready: Mapping[VersionKey, ActiveVersion]) -> list[ActiveVersion]:
    """The versions that are named by number.

    Raises:
        NotFound: there is none of this name and number.
    """
    chosen = []
    for place, (name, version) in enumerate(choices):
        if version is None:
            continue
        if (name, version) not in ready:
            raise NotFound(f"tables[{place}]: there is no version {version} of a table named {name!r}")
        chosen.append(ready[name, version])
    return chosen


def _parse(place: int, text: str) -> Choice:
    if "@" not in text:
        return Choice(text, None)
    match = _CHOICE.fullmatch(text)
    if match is None:
        raise InvalidRequest(
            f"tables[{place}]: {text!r} names no table: give a name, or a name with the number of a version (name@3)"
        )
    return Choice(match[1], int(match[2]))
