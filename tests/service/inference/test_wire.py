"""What crosses between the API and a worker arrives as it was sent."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic import ValidationError

from dragoman.ranking.about import HybridAbout, RerankerAbout
from dragoman.service.inference.wire import ModelBody

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
