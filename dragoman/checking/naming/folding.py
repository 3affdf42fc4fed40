"""Names as they are compared."""

from __future__ import annotations

import unicodedata

import regex

__all__ = ["fold_name"]


def fold_name(text: str) -> str:
    """Small letters without marks."""
    return str(regex.sub(r"\p{M}", "", unicodedata.normalize("NFKD", text))).casefold().replace("’", "'")
