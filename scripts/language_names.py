"""Makes dragoman/lexicon/formats/detection/language_names.tsv from the locale data of CLDR; needs the package Babel.

python scripts/language_names.py > dragoman/lexicon/formats/detection/language_names.tsv

A line is a language code TAB its ISO 639-2 and 639-3 codes TAB its names, in itself, English and the other languages
of LOCALES, separated by "|".
"""

from __future__ import annotations

import sys

from babel import Locale
from babel.core import UnknownLocaleError, get_global

from dragoman.lexicon.text.languages import LANGUAGES

LOCALES = [
    "en",
    "de",
    "fr",
    "es",
    "it",
    "pt",
    "nl",
    "da",
    "sv",
    "nb",
    "nn",
    "fi",
    "is",
    "et",
    "lv",
    "lt",
    "pl",
    "cs",
    "sk",
    "sl",
    "hr",
    "sr",
    "bs",
    "hu",
    "ro",
    "bg",
    "mk",
    "ru",
    "uk",
    "be",
    "el",
    "tr",
    "az",
    "ka",
    "hy",
    "he",
    "ar",
    "fa",
    "ur",
    "ps",
    "hi",
    "bn",
    "mr",
    "ne",
    "pa",
    "gu",
    "ta",
    "te",
    "kn",
    "ml",
    "si",
    "th",
    "lo",
    "km",
    "my",
    "vi",
    "id",
    "ms",
    "tl",
    "sw",
    "zu",
    "xh",
    "am",
    "so",
    "af",
    "sq",
    "ca",
    "gl",
    "eu",
    "cy",
    "ga",
    "ja",
    "ko",
    "zh",
    "zh_Hant",
    "kk",
    "ky",
    "uz",
    "mn",
]


def names(code: str) -> list[str]:
    """The distinct names of a language, its own first."""
    found: dict[str, None] = {LANGUAGES[code]: None}
    for locale in (code, *LOCALES):
        try:
            name = Locale.parse(locale).languages.get(code)
        except (UnknownLocaleError, ValueError):
            continue
        if name and name != code:
            found.setdefault(name)
    return list({name.lower(): name for name in reversed(found)}.values())[::-1]


def main() -> None:
    longer: dict[str, list[str]] = {}
    for alias, code in get_global("language_aliases").items():
        if len(alias) == 3 and alias.isalpha() and code in LANGUAGES:
            longer.setdefault(code, []).append(alias)
    for code in LANGUAGES:
        line = "\t".join((code, " ".join(sorted(longer.get(code, ()))), "|".join(names(code))))
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
