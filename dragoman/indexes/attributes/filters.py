"""Filters over documents' fields, in MongoDB's form, as programs that ``dragoman.Filter`` evaluates.

A program is an expression in prefix form, its parts between spaces, byte strings in hexadecimal:

- ``*``: all documents; ``! X``: all but those; ``& n X...`` and ``| n X...``: in all, in one of n;
- ``r FIELD n LOW HIGH...``: a value of the field is in one of n ranges, which hold their low end alone;
- ``c FIELD TEXT``: a text contains this; ``z FIELD TEXT``: a text ends with it;
- ``x PATH``: the metadata has something at the path;
- ``k n KEY...``: the documents with these keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.indexes.attributes.values import (
    BOOLEAN,
    DATE_TEXT,
    LONGEST_OPERAND,
    LONGEST_PATH,
    TEXT,
    Scalar,
    after,
    encode_date,
    encode_number,
    encode_text,
    field_name,
    parse_date,
)

__all__ = ["ENTITIES", "Filter", "FilterFault", "Named", "check_field", "index_fields", "keys_program", "parse_filter"]

ENTITIES = "entities"
_OWN = ("id", "language", "title")
_METADATA = "metadata."
_SHOWN = 100
"""Characters of a name in messages."""
MOST_CONDITIONS = 1_000
"""Conditions of a filter."""
MOST_OPERANDS = 10_000
"""Values of a filter."""
MOST_LEVELS = 32
MOST_CHARS = 1_000_000
"""Characters of all texts of a filter."""

Named = Callable[[Collection[str]], Collection[int]]
"""The keys of the documents that hold one of some names; of those that hold any, of no names."""

_Range = tuple[bytes, bytes]


class FilterFault(ValueError):
    """A filter that is none; the message begins with the path of what is wrong."""


@dataclass(frozen=True, slots=True)
class _Names:
    """Documents that hold one of these names; none: any name at all."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """A valid filter."""

    parts: tuple[str | _Names, ...]

    @property
    def names(self) -> bool:
        """Whether it asks for the names in documents."""
        return any(isinstance(part, _Names) for part in self.parts)

    def program(self, named: Named) -> str:
        """The program for one collection, in which documents hold names as ``named`` says."""
        return " ".join([part if isinstance(part, str) else keys_program(named(part.names)) for part in self.parts])


def keys_program(keys: Collection[int]) -> str:
    """The program for the documents with these keys."""
    return " ".join(["k", str(len(keys)), *(f"{key:x}" for key in sorted(keys))])


def check_field(name: str, path: str) -> None:
    """
    Raises:
        FilterFault: it is too long, or not that of a value.
    """
    if len(name) > LONGEST_PATH:
        raise FilterFault(f"{path}: a name of {len(name)} characters; at most {LONGEST_PATH} are allowed")
    if not name or name.startswith("$"):
        raise FilterFault(f"{path}: {name!r} is no field")
    _check_text(name, path)


def parse_filter(filter: Any, path: str = "filter") -> Filter:
    """
    Raises:
        FilterFault: it is none, or too large.
    """
    parser = _Parser()
    return Filter(tuple(parser.all_of(filter, path, 0)))


Parts = list["str | _Names"]


class _Parser:
    def __init__(self) -> None:
        self._conditions = 0
        self._operands = 0
        self._chars = 0

    def all_of(self, filter: Any, path: str, level: int) -> Parts:
        """The conditions of an object."""
        if not isinstance(filter, Mapping):
            raise FilterFault(f"{path}: must be an object of fields and conditions, not {_kind(filter)}")
        if level > MOST_LEVELS:
            raise FilterFault(f"{path}: nested deeper than {MOST_LEVELS} levels")
        return _join("&", [self._entry(name, content, _step(path, name), level) for name, content in filter.items()])

    def _entry(self, name: str, content: Any, path: str, level: int) -> Parts:
        if name in ("$and", "$or"):
            if not isinstance(content, list) or not content:
                raise FilterFault(f"{path}: must be a list of filters, at least one")
            filters = [self.all_of(part, f"{path}[{place}]", level + 1) for place, part in enumerate(content)]
            return _join("&" if name == "$and" else "|", filters)
        if name == "$not":
            return ["!", *self.all_of(content, path, level + 1)]
        if name.startswith("$"):
            raise FilterFault(f"{path}: there is no operator {name[:40]!r} here; there are $and, $or, $not, and fields")
        check_field(name, path)
        return self._conditions_of(name, content, path, level)

    def _conditions_of(self, field: str, content: Any, path: str, level: int) -> Parts:
        if not isinstance(content, Mapping):
            return self._condition(field, "$eq", content, path)
        if not content:
            raise FilterFault(f"{path}: an object without an operator")
        if level > MOST_LEVELS:
            raise FilterFault(f"{path}: nested deeper than {MOST_LEVELS} levels")
        parts: list[Parts] = []
        for operator, operand in content.items():
            inner = _step(path, operator)
            if operator == "$not":
                if not isinstance(operand, Mapping):
                    raise FilterFault(f"{inner}: must be an object of operators")
                parts.append(["!", *self._conditions_of(field, operand, inner, level + 1)])
            else:
                parts.append(self._condition(field, operator, operand, inner))
        return _join("&", parts)

    def _condition(self, field: str, operator: str, operand: Any, path: str) -> Parts:
        self._conditions += 1
        if self._conditions > MOST_CONDITIONS:
            raise FilterFault(f"{path}: more than {MOST_CONDITIONS} conditions")
        if operator not in _OPERATORS:
            hint = "" if operator.startswith("$") else "; a field within is a dotted path"
            raise FilterFault(
                f"{path}: there is no operator {operator[:40]!r}; there are {', '.join(_OPERATORS)}{hint}"
            )
        if operator == "$exists":
            if not isinstance(operand, bool):
                raise FilterFault(f"{path}: must be true or false, not {_kind(operand)}")
            present = _present(field)
            return present if operand else ["!", *present]
        operands = self._operands_of(operator, operand, path)
        if field == ENTITIES:
            return _of_names(operator, operands, path)
        parts = _OPERATORS[operator](field, operands, path)
        return ["!", *parts] if operator in ("$ne", "$nin") else parts

    def _operands_of(self, operator: str, operand: Any, path: str) -> Sequence[Scalar]:
        if operator in ("$in", "$nin"):
            if not isinstance(operand, list):
                raise FilterFault(f"{path}: must be a list of values, not {_kind(operand)}")
            operands = [(scalar, f"{path}[{place}]") for place, scalar in enumerate(operand)]
        else:
            operands = [(operand, path)]
        self._operands += len(operands)
        if self._operands > MOST_OPERANDS:
            raise FilterFault(f"{path}: more than {MOST_OPERANDS} values")
        self._chars += sum(len(scalar) for scalar, _ in operands if isinstance(scalar, str))
        if self._chars > MOST_CHARS:
            raise FilterFault(f"{path}: the filter's texts have more than {MOST_CHARS} characters")
        return [_scalar(scalar, where) for scalar, where in operands]


def _scalar(scalar: Any, path: str) -> Scalar:
    if scalar is None:
        raise FilterFault(f'{path}: null is no value; a missing field is {{"$exists": false}}')
    if not isinstance(scalar, str | int | float):
        raise FilterFault(f"{path}: must be a string, a number or a boolean, not {_kind(scalar)}")
    if isinstance(scalar, str):
        _check_text(scalar, path)
    return scalar


def _check_text(text: str, path: str) -> None:
    """
    Raises:
        FilterFault: it has half a character, as JSON may, and no field or value does.
    """
    try:
        text.encode()
    except UnicodeEncodeError as fault:
        raise FilterFault(f"{path}: has half a character at {fault.start}") from fault


def _step(path: str, name: str) -> str:
    """The path of a name, short and printable, as messages have it."""
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
    return f"{path}.{shown if shown.isprintable() else ascii(shown)}"


def _kind(scalar: Any) -> str:
    kinds = {Mapping: "an object", list: "a list", bool: "a boolean", str: "a string", type(None): "null"}
    return next((name for kind, name in kinds.items() if isinstance(scalar, kind)), "a number")


def _join(operator: str, parts: Sequence[Parts]) -> Parts:
    if not parts:
        return ["*"]
    if len(parts) == 1:
        return parts[0]
    return [operator, str(len(parts)), *(part for inner in parts for part in inner)]


def index_fields(field: str) -> list[str]:
    """The index's fields of a field: of values, and of elements of lists."""
    if field in _OWN:
        return [field_name(field, itself=True)]
    path = field.removeprefix(_METADATA)
    return [field_name(path), field_name(path, element=True)]


def _present(field: str) -> Parts:
    if field == ENTITIES:
        return [_Names(())]
    if field in _OWN:
        return _within(field, [(b"", b"\xff")])
    return ["x", field.removeprefix(_METADATA).encode().hex() or "-"]


def _of_names(operator: str, operands: Sequence[Scalar], path: str) -> Parts:
    negated = operator in ("$ne", "$nin")
    if not negated and operator not in ("$eq", "$in", "$contains"):
        raise FilterFault(f"{path}: entities have $eq, $ne, $in, $nin, $contains and $exists")
    if not all(isinstance(name, str) for name in operands):
        raise FilterFault(f"{path}: a name is a string")
    parts: Parts = [_Names(tuple(map(str, operands)))] if operands else ["k", "0"]
    return ["!", *parts] if negated else parts


def _within(field: str, ranges: Sequence[_Range], *, elements: bool = False) -> Parts:
    fields = [field_name(field.removeprefix(_METADATA), element=True)] if elements else index_fields(field)
    bounds = [bound.hex() or "-" for limits in ranges for bound in limits]
    return _join("|", [["r", name.encode().hex(), str(len(ranges)), *bounds] for name in fields])


def _exactly(scalar: Scalar) -> list[_Range]:
    if isinstance(scalar, bool):
        encoded = BOOLEAN + bytes([scalar])
    elif isinstance(scalar, str):
        date = parse_date(scalar)
        encoded = encode_text(scalar) if date is None else encode_date(date)
    else:
        encoded = encode_number(scalar)
    return [(encoded, after(encoded))]


def _equal(field: str, operands: Sequence[Scalar], path: str) -> Parts:
    return _within(field, [limits for scalar in operands for limits in _exactly(scalar)])


def _above(field: str, operands: Sequence[Scalar], path: str) -> Parts:
    return _within(field, [(after(low), high) for low, high in _upwards(operands[0])])


def _from(field: str, operands: Sequence[Scalar], path: str) -> Parts:
    return _within(field, _upwards(operands[0]))


def _below(field: str, operands: Sequence[Scalar], path: str) -> Parts:
    return _within(field, [(low[:1], low) for low, _ in _upwards(operands[0])])


def _to(field: str, operands: Sequence[Scalar], path: str) -> Parts:
    return _within(field, [(low[:1], after(low)) for low, _ in _upwards(operands[0])])


def _upwards(scalar: Scalar) -> list[_Range]:
    """From a value to the greatest of its type; a text that is no date is compared with dates as they are written."""
    if isinstance(scalar, str) and parse_date(scalar) is None:
        encoded = encode_text(scalar)[1:]
        return [(kind + encoded, _end(kind)) for kind in (TEXT, DATE_TEXT)]
    return [(low, _end(low[:1])) for low, _ in _exactly(scalar)]


def _end(kind: bytes) -> bytes:
    return bytes([kind[0] + 1])


def _contains(field: str, operands: Sequence[Scalar], path: str) -> Parts:
    """Within a text, or an element of a list."""
    (scalar,) = operands
    elements = [] if field in _OWN else [_within(field, _exactly(scalar), elements=True)]
    if isinstance(scalar, str):
        name = index_fields(field)[0]
        elements.append(["c", name.encode().hex(), _operand(scalar, path)])
    return _join("|", elements) if elements else ["k", "0"]


def _starts_with(field: str, operands: Sequence[Scalar], path: str) -> Parts:
    text = bytes.fromhex(_operand(operands[0], path).strip("-"))
    return _within(field, [(kind + text, kind + text + b"\xff") for kind in (TEXT, DATE_TEXT)])


def _ends_with(field: str, operands: Sequence[Scalar], path: str) -> Parts:
    text = _operand(operands[0], path)
    return _join("|", [["z", name.encode().hex(), text] for name in index_fields(field)])


def _operand(scalar: Scalar, path: str) -> str:
    if not isinstance(scalar, str):
        raise FilterFault(f"{path}: must be a string, not {_kind(scalar)}")
    if len(scalar) > LONGEST_OPERAND:
        raise FilterFault(f"{path}: {len(scalar)} characters; at most {LONGEST_OPERAND} are allowed")
    return scalar.encode().hex() or "-"


_OPERATORS: dict[str, Callable[[str, Sequence[Scalar], str], Parts]] = {
    "$eq": _equal,
    "$ne": _equal,
    "$gt": _above,
    "$gte": _from,
    "$lt": _below,
    "$lte": _to,
    "$in": _equal,
    "$nin": _equal,
    "$exists": _equal,
    "$contains": _contains,
    "$startsWith": _starts_with,
    "$endsWith": _ends_with,
}
