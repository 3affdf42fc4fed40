"""The fields that are chosen of documents."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine.core.chosen_fields import ChosenFields


@pytest.mark.parametrize(
    ("metadata", "name", "chosen"),
    [
        ({"a.b": 1, "c": 2}, "a.b", {"a.b": 1}),
        ({"a.b": 1, "a": {"b": 2, "c": 3}}, "a.b", {"a.b": 1, "a": {"b": 2}}),
        ({"a": {"b.c": 1, "d": 2}}, "metadata.a.b.c", {"a": {"b.c": 1}}),
        ({"a.b": {"c": 1}}, "a.b.c", {"a.b": {"c": 1}}),
        ({"a.b": 1}, "a.b.c", {}),
    ],
)
def test_names_with_dots_are_chosen_as_filters_find_them(
    metadata: dict[str, Any], name: str, chosen: dict[str, Any]
) -> None:
    assert ChosenFields([name]).of_metadata(metadata) == chosen
