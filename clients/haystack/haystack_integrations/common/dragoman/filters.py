"""Haystack's filters as Dragoman's."""

from __future__ import annotations

from typing import Any

from haystack.errors import FilterError

_COMPARISONS = {
    "==": "$eq", "!=": "$ne", ">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte", "in": "$in", "not in": "$nin",
}  # fmt: skip
_HIT_FIELDS = frozenset({"id", "language", "title", "entities"})
"""Fields beside the metadata; a key of such a name in the metadata is ``metadata.NAME``."""


def as_filter(filters: dict[str, Any] | None) -> dict[str, Any] | None:
    """A filter of ``POST /v1/search``, from one in Haystack's form; one in Dragoman's form stays as it is.

    ``meta.NAME`` is a field of the metadata, and so is a name without ``meta.`` unless it is a document's own field.

    Raises:
        FilterError: an operator is not known, or a part is missing.
    """
    if not filters:
        return None
    if "operator" not in filters:
        return filters
    if "conditions" in filters:
        return _join(str(filters["operator"]), [as_filter(condition) for condition in filters["conditions"]])
    if "field" not in filters or "value" not in filters:
        raise FilterError(f"a comparison has a field, an operator and a value; this one is {filters}")
    if filters["operator"] not in _COMPARISONS:
        raise FilterError(f"there is no operator {filters['operator']!r}; there are {', '.join(_COMPARISONS)}")
    return {_field(filters["field"]): {_COMPARISONS[filters["operator"]]: filters["value"]}}


def _join(operator: str, conditions: list[Any]) -> dict[str, Any]:
    if operator == "AND":
        return {"$and": conditions}
    if operator == "OR":
        return {"$or": conditions}
    if operator == "NOT":
        return {"$not": {"$and": conditions}}
    raise FilterError(f"there is no operator {operator!r} of conditions; there are AND, OR, NOT")


def _field(name: str) -> str:
    stored = name.removeprefix("meta.")
    return f"metadata.{stored}" if stored != name and stored in _HIT_FIELDS else stored
