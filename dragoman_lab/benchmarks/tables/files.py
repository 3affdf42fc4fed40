"""How many table files, written in all the ways that people write them, are read right, refused, or misread.

    python -m dragoman_lab.benchmarks.tables.files --files 1200 --seed 1

Generates small glossaries in 14 languages (`benchmarks/tables/vocabulary.py`) in every combination of format,
separator, quoting, encoding, header wording, order and kind of columns and decimal mark. Reads them as an upload does,
with no more said than the two languages. Files of Moses are named as such (`format=moses`). A file is right if its
entries are those that were written, refused if it is an error, and misread otherwise. Prints the counts by each
dimension and every file that is not right; `--show N` prints such a file itself.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from dragoman.engine.tables.odds import odds_between
from dragoman.lexicon.formats.reader import RawEntry, TableFormatError, read
from dragoman.lexicon.text.tokens import fold_term
from dragoman_lab.benchmarks.tables.generated import Case, Entries, case

_NAMED = ("moses",)


@dataclass
class Outcome:
    """What became of a file."""

    index: int
    case: Case
    verdict: str
    """``right``, ``refused`` or ``misread``."""
    reason: str = ""


def outcome(seed: int, index: int) -> Outcome:
    """Make the file of this index and read it."""
    generated_case = case(seed, index)
    languages = generated_case.source, generated_case.target
    format = generated_case.choices["format"] if generated_case.choices["format"] in _NAMED else "auto"
    try:
        records = list(read([generated_case.content], format, languages=languages, odds=odds_between(*languages)))
    except TableFormatError as fault:
        return Outcome(index, generated_case, "refused", str(fault))
    entries = [entry for entry in records if isinstance(entry, RawEntry)]
    entries_read: Entries = {
        (entry.source, entry.target, entry.p_ts)
        for entry in entries
        if fold_term(entry.source, generated_case.source)
        and fold_term(entry.target, generated_case.target)  # others are left out with a warning
    }
    if entries_read == generated_case.entries:
        return Outcome(index, generated_case, "right")
    missing, wrong = (
        sorted(map(str, generated_case.entries - entries_read)),
        sorted(map(str, entries_read - generated_case.entries)),
    )
    return Outcome(index, generated_case, "misread", f"missing {missing[:3]}, wrong {wrong[:3]}")


def count_verdicts(outcomes: Iterable[Outcome]) -> dict[tuple[str, str], Counter[str]]:
    """The verdicts by dimension and value."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for file_outcome in outcomes:
        for dimension, choice in {
            **file_outcome.case.choices,
            "languages": f"{file_outcome.case.source}-{file_outcome.case.target}",
        }.items():
            counts[dimension, choice][file_outcome.verdict] += 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, help="print the file of this number")
    arguments = parser.parse_args()
    console = Console(width=160)
    if arguments.show is not None:
        generated_case = case(arguments.seed, arguments.show)
        console.print(
            generated_case.source,
            generated_case.target,
            generated_case.choices,
            generated_case.content[:3000],
            outcome(arguments.seed, arguments.show),
        )
        return
    outcomes = [outcome(arguments.seed, index) for index in range(arguments.files)]
    table = Table("dimension", "value", "files", "right", "refused", "misread")
    for (dimension, choice), verdicts in sorted(count_verdicts(outcomes).items()):
        if dimension != "languages" or verdicts["right"] < verdicts.total():
            names = ("right", "refused", "misread")
            table.add_row(dimension, choice, str(verdicts.total()), *(str(verdicts[name]) for name in names))
    console.print(table)
    for file_outcome in outcomes:
        if file_outcome.verdict != "right":
            console.print(
                f"{file_outcome.verdict} {file_outcome.index} {file_outcome.case.source}-{file_outcome.case.target}"
                f" {file_outcome.case.choices}: {file_outcome.reason}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    total = Counter(file_outcome.verdict for file_outcome in outcomes)
    share = 100 * total["right"] / max(1, len(outcomes))
    console.print(
        f"{len(outcomes)} files: {total['right']} right ({share:.1f}%), {total['refused']} refused,"
        f" {total['misread']} misread"
    )


if __name__ == "__main__":
    main()
