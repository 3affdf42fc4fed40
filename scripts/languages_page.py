"""Write docs/languages.md anew from the table of analysers and what was measured:

    python -m dragoman_lab.benchmarks.lexicon.lemmas --data DATA --split test --output runs/lemmas.json
    python -m dragoman_lab.benchmarks.lexicon.glossary --data DATA --split test --output runs/glossary.json
    .venv/bin/python scripts/languages_page.py runs/lemmas.json runs/glossary.json

Without files the measures of the page stay as they are.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from dragoman.indexes.analysis.compounds import COMPOUNDING
from dragoman.indexes.analysis.languages import ANALYSERS
from dragoman.lexicon.text.function_words import function_words
from dragoman.lexicon.text.languages import LANGUAGES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "languages.md"
HEAD = "| language | stemmer of Lucene | dictionary forms | segmenter | words within words | function words |"
MEASURES = {"recall": "inflected found", "false": "false matches", "psq": "glossary words found"}
_ROW = re.compile(r"^\| [^|]+ \((\w+)\) \|.*?\| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", re.M)


def described(language: str) -> list[str]:
    """The cells of a language that follow from the table."""
    row = ANALYSERS[language]
    parts = "" if not row.parts else "compounds" if language in COMPOUNDING else "yes"
    words = str(len(function_words(language)) or "")
    return [
        f"{LANGUAGES[language]} ({language})",
        row.stemmer.partition("/")[2],
        "yes" * row.forms,
        row.segmenter,
        parts,
        words,
    ]


def measured(page: str, files: list[str]) -> dict[str, dict[str, float]]:
    """The measures of each language: those of the page, or newer ones of the files."""
    found: dict[str, dict[str, float]] = {}
    for language, *cells in _ROW.findall(page):
        known = zip(MEASURES, cells, strict=True)
        found[language] = {name: float(cell) for name, cell in known if cell.strip()}
    for file in files:
        for language, figures in json.loads(Path(file).read_text(encoding="utf-8")).items():
            found.setdefault(language, {}).update({name: figures[name] for name in MEASURES if name in figures})
    return found


def table(page: str, files: list[str]) -> str:
    """The rows of all languages with an analysis of their own or with a measure."""
    figures = measured(page, files)
    lines = [f"{HEAD} {' | '.join(MEASURES.values())} |", "|" + "---|" * 9]
    for language in sorted(ANALYSERS.keys() | figures.keys()):
        if language in ANALYSERS:
            cells = described(language)
        else:
            cells = [
                f"{LANGUAGES.get(language, language)} ({language})",
                *[""] * 4,
                str(len(function_words(language)) or ""),
            ]
        own = figures.get(language, {})
        cells += [f"{own[name]:.3f}" if name in own else "" for name in MEASURES]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Replace the table; what stands before it stays."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page.partition(HEAD)[0] + table(page, sys.argv[1:]), encoding="utf-8")


if __name__ == "__main__":
    main()
