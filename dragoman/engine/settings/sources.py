"""Where settings come from besides the code: the environment, and a TOML file whose tables are the groups."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from dragoman.engine.settings.names import ELSEWHERE, FILE_VARIABLE, PREFIX, advice, variable_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

FILE = "dragoman.toml"
"""The file of settings in the working directory."""

Groups = Mapping[str, type[BaseModel]]


@dataclass(frozen=True, slots=True)
class Source:
    """Settings from one place: values by the settings' names, how a message calls them, and what is wrong there."""

    values: Mapping[str, Any]
    label: Callable[[str], str]
    faults: Sequence[str] = ()


def read_environment(environment: Mapping[str, str], groups: Groups) -> Source:
    """The settings among the variables. One whose name begins with ``DRAGOMAN_`` and that nobody reads is a fault."""
    settings = {variable_of(name): name for name in _names(groups)}
    ours = {variable: text for variable, text in environment.items() if variable.upper().startswith(PREFIX)}
    values = {settings[variable]: text for variable, text in ours.items() if variable in settings}
    unread = sorted(ours.keys() - settings.keys() - ELSEWHERE)
    readable = [*settings.values(), *(variable.removeprefix(PREFIX).lower() for variable in ELSEWHERE)]
    return Source(values, variable_of, [advice(variable, readable) for variable in unread])


def read_file(file: Path | None, groups: Groups) -> Source:
    """The settings of ``file``, of the file that ``DRAGOMAN_CONFIG`` names, or of ``dragoman.toml`` if it is there.

    What the file says is validated by itself, even if it is outranked.
    """
    named = file or os.environ.get(FILE_VARIABLE)
    path = Path(named or FILE)
    if not named and not path.exists():
        return Source({}, str)
    try:
        with path.open("rb") as stream:
            content = tomllib.load(stream)
    except OSError as fault:
        return Source({}, str, [f"{path}: {fault.strerror}"])
    except ValueError as fault:  # the syntax, with its line, or bytes that are not UTF-8
        return Source({}, str, [f"{path}: {fault}"])
    values: dict[str, Any] = {}
    faults = []
    for group, table in content.items():
        if group in groups and isinstance(table, dict):
            faults += _faults_of_table(group, table, groups)
            values |= table
        else:
            faults.append(_fault_at_top(group, table, groups))
    return Source(values, lambda name: f"{path}: {name}", [f"{path}: {fault}" for fault in faults])


def complaint(error: ErrorDetails) -> str:
    """What pydantic says is wrong with a value, without the value: it may be a secret."""
    return error["msg"].removeprefix("Value error, ")


def _fault_at_top(name: str, content: Any, groups: Groups) -> str:
    """Why a name at the top of the file is none of a group's table."""
    if name in groups:
        return f"{name} is a table: write [{name}] and its settings below"
    if isinstance(content, dict):
        return f"[{name}]: {advice(name, groups)}"
    return _fault_of_key(name, groups)


def _faults_of_table(group: str, table: Mapping[str, Any], groups: Groups) -> list[str]:
    model = groups[group]
    faults = [f"[{group}] {_fault_of_key(key, groups)}" for key in table if key not in model.model_fields]
    # As JSON, where a strict number is a number and a path is a string. A date is neither, so it is made a list.
    text = json.dumps({key: table[key] for key in table if key in model.model_fields}, default=lambda date: [str(date)])
    try:
        model.model_validate_json(text, strict=True)
    except ValidationError as fault:
        faults += [f"[{group}] {wrong['loc'][0]}: {complaint(wrong)}" for wrong in fault.errors()]
    return faults


def _fault_of_key(key: str, groups: Groups) -> str:
    """Why a key is not one of the settings where it stands."""
    for group, model in groups.items():
        if key in model.model_fields:
            return f"{key} belongs in [{group}]"
    return advice(key, _names(groups))


def _names(groups: Groups) -> Iterator[str]:
    return (name for model in groups.values() for name in model.model_fields)
