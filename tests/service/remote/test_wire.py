"""What crosses between the API and a worker arrives as it was sent."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from dragoman.ranking.about import HybridAbout, RerankerAbout
from dragoman.service.remote.wire import ModelBody, ScoreBody
from dragoman.store.validation import describe

ABOUT = RerankerAbout("a", "forward", True, 0.75, ["en-de"])


@pytest.mark.parametrize("hybrid", [None, HybridAbout(10.0, 0.2, 1.0)])
def test_a_model_s_settings_arrive(hybrid: HybridAbout | None) -> None:
    about = replace(ABOUT, hybrid=hybrid)
    assert ModelBody.model_validate_json(ModelBody.of(about).model_dump_json()).about() == about


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [("hybrid", "weight", "much"), ("hybrid", "weight", -1), ("hybrid", "scale", 0), ("", "direction", "sideways")],
)
def test_settings_that_cannot_be_are_refused(part: str, field: str, value: object) -> None:
    body = json.loads(ModelBody.of(replace(ABOUT, hybrid=HybridAbout(10.0, 0.2, 1.0))).model_dump_json())
    (body[part] if part else body)[field] = value
    with pytest.raises(ValidationError, match=field):
        ModelBody.model_validate(body)


SCORE: dict[str, object] = {
    "query": {"text": "der Vulkan", "spans": [[0, 3], [4, 10]]},
    "documents": [{"text": "a volcano", "spans": [[0, 1], [2, 9]], "links": [[1, 1, 0.5]], "glossary": [0]}],
    "seconds": 5,
}


def test_a_request_that_can_be_scored_is_taken() -> None:
    assert ScoreBody.model_validate(SCORE).request().links[0].weights.tolist() == [0.5]


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        *((part, "spans", spans) for part in ("query", "document") for spans in (
            [[3, 0]], [[0, 11]], [[0, 10**30]], [[-1, 2]], [[4, 6], [0, 1]], [[0, 1, 2]], [[0]], [[0, 1.5]], 5
        )),
        *(("document", "links", links) for links in (
            [[2, 0, 0.5]], [[0, 2, 0.5]], [[0, 0, float("nan")]], [[0, 0, float("inf")]], [[0, 0, 1e300]],
            [[0, 0, -1]], [[10**30, 0, 0.5]], [[-1, 0, 0.5]], [[0, 0]],
        )),
        *(("document", "glossary", glossary) for glossary in ([1], [-1], [10**30])),
        *(("", "seconds", seconds) for seconds in (0, -1, 1e300, float("inf"), float("nan"), None)),
        ("document", "text", "\ud800"), ("query", "text", "a\0"), ("", "documents", []), ("", "more", 1),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_refused_by_its_field(part: str, field: str, value: object) -> None:
    body = copy.deepcopy(SCORE)
    place: Any = {"": body, "query": body["query"], "document": body["documents"][0]}[part]  # type: ignore[index]
    place[field] = value
    with pytest.raises(ValidationError) as refused:
        ScoreBody.model_validate(body)
    assert field in describe(refused.value.errors())
