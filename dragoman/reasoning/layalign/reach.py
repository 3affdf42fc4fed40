"""How far the window of a text reaches that is quoted to the LLM, known without the LLM."""

from __future__ import annotations

_CHARS = 32
"""No more characters a token than these are looked at, so that a long text is not tokenized for a short window."""


def reach(tokens: int) -> int:
    """How far from its start a window of so many tokens may reach, in characters, before it and after it."""
    return tokens * _CHARS
