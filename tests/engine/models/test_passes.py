"""What lets a short query have its turn: long ones are not urgent, and windows are read in passes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.models.model_host import _is_urgent
from dragoman.engine.models.readers import _in_passes
from dragoman.engine.models.tagging import SHORT_QUERY, Tagging
from dragoman.engine.models.tasks import Encode, Score


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(1, 100))
def test_each_window_gets_its_own_result_whatever_pass_it_is_in(lengths: list[int], tokens: int) -> None:
    parts: list[Any] = [SimpleNamespace(row=SimpleNamespace(ids=[0] * length)) for length in lengths]
    passes: list[int] = []

    def compute(some: Any) -> list[int]:
        passes.append(sum(len(part.row.ids) for part in some) if len(some) > 1 else 0)
        return [id(part) for part in some]

    assert _in_passes(compute, parts, tokens) == [id(part) for part in parts]
    assert max(passes, default=0) <= tokens


@pytest.mark.parametrize(("length", "urgent"), [(SHORT_QUERY, True), (SHORT_QUERY + 1, False)])
def test_a_long_query_is_not_urgent(length: int, urgent: bool) -> None:
    submitted: list[Any] = []
    worker: Any = SimpleNamespace(submit=lambda task, parts, background: submitted.append(task))
    text = "ab. " * (length // 4) + "c" * (length % 4)
    Tagging(worker, "ner", [text], query=True)
    assert _is_urgent(submitted[0]) == urgent
    assert _is_urgent(Encode()) and not _is_urgent(Encode(long=True)) and not _is_urgent(Score())
