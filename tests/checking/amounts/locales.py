"""Amounts as ICU writes them in the languages of the tests."""

from __future__ import annotations

import datetime

from icu4py.messageformat import MessageFormat

LANGUAGES = "de fr es ru el ar hi th ja zh fa bn en".split()  # noqa: SIM905
NATIVE_DIGITS = {"ar": "arab", "fa": "arabext", "hi": "deva", "bn": "beng", "th": "thai"}


def write(pattern: str, language: str, argument: int | float | datetime.datetime, native: bool = False) -> str:
    joint = "-" if "-u-" in language else "-u-"
    locale = f"{language}{joint}nu-{NATIVE_DIGITS.get(language, 'latn') if native else 'latn'}"
    return str(MessageFormat(f"{{n, {pattern}}}", locale).format({"n": argument}))
