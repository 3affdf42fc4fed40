"""What programs have, in the forms that a request can hold: JSON, and the parameters of an address."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dragoman.engine.core.errors import InvalidRequest


def to_json(content: Any, place: str) -> bytes:
    """A value as JSON in UTF-8. A lone surrogate is escaped: who reads the JSON names the field that holds it.

    Raises:
        InvalidRequest: JSON cannot hold it; the message begins with ``place``.
    """
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, default=_plain)
        try:
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(content, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as fault:
        raise InvalidRequest(f"{place}: {fault}") from fault


def object_to_json(fields: Mapping[str, Any]) -> bytes:
    """Fields as a JSON object.

    Raises:
        InvalidRequest: JSON cannot hold a field; the message names it.
    """
    return (
        b"{" + b", ".join(to_json(name, name) + b": " + to_json(field, name) for name, field in fields.items()) + b"}"
    )


def to_parameter(content: Any, name: str) -> str:
    """A value as a parameter of an address.

    Raises:
        InvalidRequest: it is no text, number or boolean, or no address can hold it; the message begins with ``name``.
    """
    content = content.item() if hasattr(content, "item") else content
    if isinstance(content, bool):
        return "true" if content else "false"
    if not isinstance(content, str | int | float):
        raise InvalidRequest(f"{name}: a text, a number or a boolean is wanted, and no {type(content).__name__}")
    try:
        text = str(content)
        text.encode()
    except ValueError as fault:
        raise InvalidRequest(f"{name}: {fault}") from fault
    return text


def _plain(content: Any) -> Any:
    """A number of numpy as Python has it; dates and times as text."""
    if hasattr(content, "item"):
        return content.item()
    if hasattr(content, "isoformat"):
        return content.isoformat()
    raise TypeError(f"{type(content).__name__} is not JSON")
