"""How a title begins: what is typed is compared with it, without case, diacritics and marks before it."""

from __future__ import annotations

import re

from dragoman.lexicon.text.plain_letters import plain_text
from dragoman.lexicon.text.tokens import fold

__all__ = ["LONGEST_TITLE", "begin_key", "title_key"]

LONGEST_TITLE = 1_000
"""Longer titles are texts, and not completed; characters."""
_KEY_CHARS = 200
"""How much of a folded title is compared."""
_MARKS = re.compile(r"[\W_]+")


def title_key(title: str | None, language: str) -> str | None:
    """A title as it is compared with what is typed; None for one that is not completed."""
    if not title or len(title) > LONGEST_TITLE:
        return None
    return begin_key(title, language)[:_KEY_CHARS].rstrip() or None


def begin_key(text: str, language: str) -> str:
    """As :func:`title_key`, of what may be the beginning of a title: a space at its end stays one."""
    folded = plain_text(" ".join(fold(text, language).split()))
    begun = folded[marks.end() :] if (marks := _MARKS.match(folded)) else folded
    return f"{begun} " if begun and text[-1:].isspace() else begun
