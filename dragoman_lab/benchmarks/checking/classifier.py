"""What the checker says of human translations, and of the same with one thing changed.

``python -m dragoman_lab.benchmarks.checking.classifier --data DATA --split tune`` reads news, health texts and the
tuning articles of XQuAD-R; ``--split test`` FLORES devtest. Each pair is checked from and into English: as it is, with
one number, date or unit changed, with one name changed for another of its kind, with the translation of another
sentence and that of the next one, without a negation, and with one content word exchanged. What is changed is the
English sentence or, for amounts, either. ``--tables`` adds public dictionaries of DATA as active tables.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.checking import Check, Knowledge, check_sentences, measure_cosines
from dragoman_lab.benchmarks.checking.amounts import TEN, read_test_pairs, read_tuning_pairs
from dragoman_lab.benchmarks.checking.changes import make_changes
from dragoman_lab.benchmarks.checking.replacements import NameSwaps, WordSwaps, drop_negation
from dragoman_lab.benchmarks.checking.resources import Encoding, resources_of

LIKE_FLORES = (40, 400)
"""Characters of an English sentence that is as long as those of FLORES."""
KINDS = ("human", "amount", "name", "other", "next", "negation", "word")

Pair = tuple[str, str]


def select_pairs(pairs: Sequence[Pair], most: int) -> list[Pair]:
    """Pairs whose English is about as long as a sentence of FLORES, without repetitions."""
    fitting = {english: foreign for foreign, english in pairs if LIKE_FLORES[0] <= len(english) <= LIKE_FLORES[1]}
    chosen = [(foreign, english) for english, foreign in fitting.items()]
    return chosen if len(chosen) <= most else random.Random(3).sample(chosen, most)


@dataclass(frozen=True)
class Case:
    """A foreign and an English sentence, and the pair whose closeness of meaning counts."""

    kind: str
    foreign: str
    english: str
    measured: Pair


def make_cases(language: str, pairs: Sequence[Pair], seed: int = 1) -> Iterator[Case]:
    """Each pair as it is and changed.

    The closeness of a sentence with another amount or name is that of the unchanged one: it is to be rejected for that.
    """
    chance = random.Random(seed)
    english = [second for _, second in pairs]
    names, words = NameSwaps(english), WordSwaps(english)
    for place, (foreign, sentence) in enumerate(pairs):
        pair = foreign, sentence
        yield Case("human", *pair, pair)
        for change in make_changes(sentence, "en", chance):
            yield Case("amount", foreign, change.text, pair)
        for change in make_changes(foreign, language, chance):
            yield Case("amount", change.text, sentence, pair)
        if (changed := names.swap(sentence, chance)) is not None:
            yield Case("name", foreign, changed, pair)
        other = chance.choice([n for n in range(len(pairs)) if abs(n - place) > 5])
        elsewhere = (("other", english[other]), ("next", english[(place + 1) % len(pairs)]))
        for kind, changed in (
            *elsewhere,
            ("negation", drop_negation(sentence)),
            ("word", words.swap(sentence, chance)),
        ):
            if changed is not None:
                yield Case(kind, foreign, changed, (foreign, changed))


def check_cases(cases: Sequence[Case], knowledge: Knowledge, into: bool) -> list[Check]:
    """The checks of all cases; without ``into`` the English sentence is the source."""
    turn = 1 if into else -1
    knowledge = knowledge if into else knowledge.invert()
    cosines = measure_cosines([case.measured[::turn] for case in cases], knowledge)
    pairs = [(case.foreign, case.english)[::turn] for case in cases]
    return check_sentences(pairs, knowledge, cosines=cosines)


def summarise(cases: Sequence[Case], checks: Sequence[Check]) -> dict[str, dict[str, float]]:
    """For each kind the number of cases, the shares of ``ok`` and ``failed``, and how often each reason was there."""
    summary: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        of_kind = [check for case, check in zip(cases, checks, strict=True) if case.kind == kind]
        if not of_kind:
            continue
        statuses = Counter(check.status for check in of_kind)
        reasons = Counter(code for check in of_kind for code in {reason.code for reason in check.reasons})
        count = len(of_kind)
        summary[kind] = {
            "count": count,
            "ok": statuses["ok"] / count,
            "draft": statuses["draft"] / count,
            "failed": statuses["failed"] / count,
        }
        summary[kind] |= {f"reason {code}": times / count for code, times in sorted(reasons.items())}
    return summary


def print_summary(title: str, summary: dict[str, dict[str, float]]) -> None:
    """A line a kind."""
    for kind, shares in summary.items():
        reasons = " ".join(
            f"{name.removeprefix('reason ')} {share:.1%}" for name, share in shares.items() if name.startswith("reason")
        )
        print(  # noqa: T201
            f"{title:9} {kind:8} n={shares['count']:5.0f} ok {shares['ok']:6.1%} draft {shares['draft']:6.1%}"
            f" failed {shares['failed']:6.1%}  ({reasons})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", choices=["tune", "test"], default="tune")
    parser.add_argument("--languages", nargs="*", default=TEN)
    parser.add_argument("--most", type=int, default=1_012, help="pairs a language")
    parser.add_argument("--skip", type=int, default=0, help="sentences of FLORES to leave out first")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS, help="of cases; fewer take less time")
    parser.add_argument("--tables", action="store_true", help="the dictionaries of DATA are active tables")
    parser.add_argument("--cache", type=Path, help="a file (.npz) that keeps vectors")
    parser.add_argument("--show", type=int, default=0, help="failed human translations to print, a language")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    encoding = Encoding(arguments.cache)
    totals: dict[str, list[dict[str, dict[str, float]]]] = defaultdict(list)
    for language in arguments.languages:
        if arguments.split == "test":
            pairs = read_test_pairs(arguments.data, language)[arguments.skip :][: arguments.most]
        else:
            pairs = select_pairs(read_tuning_pairs(arguments.data, language, 4 * arguments.most), arguments.most)
        knowledge = resources_of(arguments.data, language, encoding, tables=arguments.tables)
        cases = [case for case in make_cases(language, pairs) if case.kind in arguments.kinds]
        for into in (True, False):
            started = time.perf_counter()
            checks = check_cases(cases, knowledge, into)
            title = f"{language}-en" if into else f"en-{language}"
            summary = summarise(cases, checks)
            totals[title].append(summary)
            print_summary(title, summary)
            print(f"{title:9} {1000 * (time.perf_counter() - started) / len(cases):.1f} ms a check")  # noqa: T201
            refused = [
                (case, check)
                for case, check in zip(cases, checks, strict=True)
                if (case.kind == "human") == (check.status != "ok") and case.kind in ("human", "amount", "name")
            ]
            for case, check in refused[: arguments.show if into else 0]:
                print(f"   {case.kind} {case.foreign}\n      {case.english}\n      {check}")  # noqa: T201
        encoding.save()
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(totals, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
