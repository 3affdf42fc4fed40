"""Every list, object and text that a caller may send has a limit: of each model, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter

from dragoman.service.api.routers import ROUTERS
from dragoman.service.jobs.line import _STORED, _Named
from dragoman.service.worker import endpoints as worker
from dragoman.store.documents.line import DocumentLine

UNBOUNDED = {"DocumentLine.text", "DocumentPatch.text"}
"""Texts whose limit is that of the line."""
FREE = {"DocumentLine.metadata", "DocumentPatch.metadata", "DocumentFields", "EventBody.event_attributes"} | {
    f"{body}.filter" for body in ("Deletion", "QaRequest", "ReasonRequest", "SearchRequest", "SettledQa")
}
"""Objects of the caller's own fields, whose values are counted together."""


def bodies() -> dict[str, TypeAdapter[Any]]:
    """What each address takes, and the lines of uploads."""
    models: list[type[BaseModel]] = [DocumentLine, _Named, *_STORED.values()]
    routes = [one for router in (*ROUTERS, worker.router) for one in router.routes if isinstance(one, APIRoute)]
    fields = {route.path: route.body_field._type_adapter for route in routes if route.body_field is not None}
    return fields | {model.__name__: TypeAdapter(model) for model in models}


def unbounded(schema: Any, place: str, definitions: dict[str, Any]) -> Iterator[str]:
    """Where a value without a limit may stand."""
    for alternatives in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(alternatives, ()):
            yield from unbounded(one, place, definitions)
    if "$ref" in schema:
        return  # each definition is looked at by itself
    kind = schema.get("type")
    if kind == "array":
        if "maxItems" not in schema:
            yield f"{place}: a list"
        for one in (schema.get("items"), *schema.get("prefixItems", ())):
            if one:
                yield from unbounded(one, f"{place}[]", definitions)
    elif kind == "object":
        if "maxProperties" not in schema:
            yield f"{place}: an object"
        for name, one in schema.get("properties", {}).items():
            yield from unbounded(one, f"{place}.{name}", definitions)
        if schema.get("additionalProperties") is True and place not in FREE:
            yield f"{place}: other fields"
        if isinstance(values := schema.get("additionalProperties"), dict):
            yield from unbounded(values, f"{place}{{}}", definitions)
    elif kind == "string":
        if not {"maxLength", "enum", "const", "format"} & schema.keys() and place not in UNBOUNDED:
            yield f"{place}: a text"
    elif kind is None and not {"anyOf", "oneOf", "allOf", "enum", "const"} & schema.keys():
        yield f"{place}: anything"


@pytest.mark.parametrize("name", bodies())
def test_whatever_a_caller_may_send_has_a_limit(name: str) -> None:
    schema = bodies()[name].json_schema()
    definitions = schema.pop("$defs", {})
    if "title" in schema:
        definitions[schema["title"]] = schema
    assert definitions
    assert [one for title, each in definitions.items() for one in unbounded(each, title, definitions)] == []


def test_the_walk_sees_what_has_none() -> None:
    class Bad(BaseModel):
        names: list[str]
        more: dict[str, Any]
        text: str

    assert len(list(unbounded(Bad.model_json_schema(), "Bad", {}))) == 6
