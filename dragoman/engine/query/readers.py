"""The languages of those who ask: by the request, by a setting, or by what their browser accepts."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.engine.core.limits import READER_LANGUAGES
from dragoman.lexicon.text.languages import UnknownLanguage, check_language

_CHARS = 1_000
"""How much of a header is read."""
_ENTRIES = 50


def readers_of(requested: Sequence[str] | None, configured: Sequence[str], accepted: str | None = None) -> list[str]:
    """The readers' languages: those of the request, else those of the settings, else of an ``Accept-Language``."""
    if requested is not None:
        return list(requested)
    return list(configured) or accepted_languages(accepted or "")


def accepted_languages(header: str) -> list[str]:
    """The languages of an ``Accept-Language`` header, the preferred ones first; what cannot be read is left out.

    Regions and scripts are cut off (``en-US`` is ``en``), and so are languages that are not accepted (``q=0``).
    """
    accepted: list[tuple[float, str]] = []
    for entry in header[:_CHARS].split(",")[:_ENTRIES]:
        tag, _, parameters = entry.partition(";")
        language = _language(tag)
        quality = _quality(parameters)
        if language is not None and quality > 0.0:
            accepted.append((quality, language))
    ordered = [language for _, language in sorted(accepted, key=lambda entry: -entry[0])]
    return list(dict.fromkeys(ordered))[:READER_LANGUAGES]


def _language(tag: str) -> str | None:
    try:
        return check_language(tag.strip().partition("-")[0].lower())
    except UnknownLanguage:
        return None


def _quality(parameters: str) -> float:
    """The weight of an entry, 0 to 1: 1 where none is given, 0 where it cannot be read."""
    name, _, weight = parameters.partition("=")
    if not parameters.strip():
        return 1.0
    try:
        quality = float(weight) if name.strip().lower() == "q" else 0.0
    except ValueError:
        return 0.0
    return quality if 0.0 <= quality <= 1.0 else 0.0
