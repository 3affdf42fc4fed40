"""How many table files, written in all the ways that people write them, are read right, refused, or misread.

    python -m dragoman_lab.benchmarks.tables.files --files 1200 --seed 1

Generates small glossaries in 14 languages (`benchmarks/tables/vocabulary.py`) in every combination of format,
separator, quoting, encoding, header wording, order and kind of columns and decimal mark, and reads them as an upload
does, with no more said than the two languages; files of Moses are named as such (`format=moses`). A file is right if
its entries are those that were written, refused if it is an error, and misread otherwise. Prints the counts by each
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

    number: int
    case: Case
    verdict: str
    """``right``, ``refused`` or ``misread``."""
    reason: str = ""


def outcome(seed: int, number: int) -> Outcome:
    """Make the file of this number and read it."""
    made = case(seed, number)
    languages = made.source, made.target
    format = made.choices["format"] if made.choices["format"] in _NAMED else "auto"
    try:
        items = list(read([made.content], format, languages=languages, odds=odds_between(*languages)))
    except TableFormatError as fault:
        return Outcome(number, made, "refused", str(fault))
    entries = [one for one in items if isinstance(one, RawEntry)]
    found: Entries = {
        (one.source, one.target, one.p_ts)
        for one in entries
        if fold_term(one.source, made.source)
        and fold_term(one.target, made.target)  # others are left out with a warning
    }
    if found == made.entries:
        return Outcome(number, made, "right")
    missing, wrong = sorted(map(str, made.entries - found)), sorted(map(str, found - made.entries))
    return Outcome(number, made, "misread", f"missing {missing[:3]}, wrong {wrong[:3]}")


def counted(outcomes: Iterable[Outcome]) -> dict[tuple[str, str], Counter[str]]:
    """The verdicts by dimension and value."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        for dimension, value in {**one.case.choices, "languages": f"{one.case.source}-{one.case.target}"}.items():
            counts[dimension, value][one.verdict] += 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, help="print the file of this number")
    arguments = parser.parse_args()
    console = Console(width=160)
    if arguments.show is not None:
        made = case(arguments.seed, arguments.show)
        console.print(
            made.source, made.target, made.choices, made.content[:3000], outcome(arguments.seed, arguments.show)
        )
        return
    outcomes = [outcome(arguments.seed, number) for number in range(arguments.files)]
    table = Table("dimension", "value", "files", "right", "refused", "misread")
    for (dimension, value), verdicts in sorted(counted(outcomes).items()):
        if dimension != "languages" or verdicts["right"] < verdicts.total():
            names = ("right", "refused", "misread")
            table.add_row(dimension, value, str(verdicts.total()), *(str(verdicts[name]) for name in names))
    console.print(table)
    for one in outcomes:
        if one.verdict != "right":
            console.print(
                f"{one.verdict} {one.number} {one.case.source}-{one.case.target} {one.case.choices}: {one.reason}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    total = Counter(one.verdict for one in outcomes)
    share = 100 * total["right"] / max(1, len(outcomes))
    console.print(
        f"{len(outcomes)} files: {total['right']} right ({share:.1f}%), {total['refused']} refused,"
        f" {total['misread']} misread"
    )


if __name__ == "__main__":
    main()
