"""The measuring of encoders: what is measured, and what the table says."""

from __future__ import annotations

import math
from typing import Any, cast

from dragoman_lab.benchmarks.search.encoding_speed import System, evenly, least_cosine, read_texts, report


def _system(name: str, seconds: list[float], **about: Any) -> System:
    runs = [{"seconds": one, "milliseconds": [one, 2 * one, 3 * one], "peak": 100 + one} for one in seconds]
    return System(name, cast("Any", None), about or {"system": f"{name} 1"}, runs)


def test_the_demo_has_passages_in_many_languages_and_queries() -> None:
    texts = read_texts(None, 50, 7)
    assert (len(texts["passages"]), len(texts["queries"])) == (50, 7)
    assert max(map(len, texts["passages"])) <= 400
    assert evenly(["a", "b", "c", "d"], 2) == ["a", "c"] and evenly(["a"], 3) == ["a"]


def test_the_least_cosine() -> None:
    assert math.isclose(least_cosine([[1, 0], [2, 2]], [[3, 0], [0, 1]]), math.sqrt(0.5))


def test_ratios_are_of_rounds_and_a_missing_system_is_named() -> None:
    systems = [
        _system("ours", [1.0, 2.0, 4.0]),
        _system("sentence_transformers", [3.0, 4.0, 16.0]),
        _system("infinity_emb", [], missing="infinity_emb"),
    ]
    vectors = {"ours": [[1.0, 0.0]], "sentence_transformers": [[1.0, 0.0]]}
    lines = report(systems, {"passages": ["abcd"] * 8, "queries": ["q"] * 3}, vectors).splitlines()
    assert lines[0] == "8 passages of 4 characters, 3 queries, medians of 3 rounds"
    assert lines[4] == "| ours 1 | 4.0 | 1.00x | 4.0 | 1.00x | 104 | 1.0000 |"
    assert lines[5] == "| sentence_transformers 1 | 2.0 | 3.00x | 9.0 | 3.00x | 116 | 1.0000 |"
    assert lines[6] == "| infinity_emb | not measured: infinity_emb is not installed | | | | | |"
