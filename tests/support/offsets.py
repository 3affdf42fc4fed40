"""Offsets in UTF-16 code units, as JavaScript slices a text by them, against those in code points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

OFFSETS = {"start", "end", "sentence_start", "snippet_start"}
VARYING = {"request_id", "timings_ms", "next"}


def cut(text: str, start: int, end: int) -> str:
    """The part of a text between two places in code units."""
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def check_counted(counted: Any, answer: Any, text_of: Callable[[dict[str, Any]], str]) -> int:
    """Check that two answers differ in their offsets alone, and that these cut the same parts; how many differ.

    ``text_of`` says which text a part of the answer in code points is of.
    """
    differing = 0
    assert _without_offsets(counted) == _without_offsets(answer)
    for part, codepoints in zip(_spans(counted), _spans(answer), strict=True):
        text = text_of(codepoints)
        expected = text[codepoints["start"] : codepoints["end"]]
        assert expected and cut(text, part["start"], part["end"]) == expected
        differing += part != codepoints
    return differing


def _spans(answer: Any) -> Iterator[dict[str, Any]]:
    parts = answer.values() if isinstance(answer, dict) else answer if isinstance(answer, list) else ()
    if isinstance(answer, dict) and answer.keys() >= {"start", "end"}:
        yield answer
    for part in parts:
        yield from _spans(part)


def _without_offsets(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_without_offsets(part) for part in answer]
    if not isinstance(answer, dict):
        return answer
    return {name: _without_offsets(part) for name, part in answer.items() if name not in OFFSETS | VARYING}
