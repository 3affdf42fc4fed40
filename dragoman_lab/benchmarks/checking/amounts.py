"""How many human translations the comparison of amounts accepts, and how many with one amount changed it rejects.

``python -m dragoman_lab.benchmarks.checking.amounts --data DATA --split tune`` reads news, health texts and the tuning
articles of XQuAD-R; ``--split test`` FLORES devtest. Each pair is checked as it is, and with one amount changed on
either side. Scores, ratios and ranges that are turned round are counted apart. ``--split long`` reads sentences of all
parallel text that are like those of FLORES: long, with several amounts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import regex

from dragoman.checking.amounts import compare_amounts, read_amounts
from dragoman_lab.benchmarks.checking.changes import make_changes, turn_round

TEN = ("de", "fr", "es", "ru", "el", "ar", "hi", "th", "ja", "zh")
FILES = (
    "research_only/parallel/{language}-en/wmt_newstest.tsv.gz",
    "parallel/{language}-en/tico19.tsv.gz",
    "parallel/{language}-en/globalvoices.tsv.gz",
    "parallel/{language}-en/tatoeba_manythings.tsv.gz",
    "parallel/{language}-en/tatoeba_opusmt_test.tsv.gz",
)
LONG_WORDS, LONG_AMOUNTS = 18, 2
"""Of an English sentence that is like one of FLORES with amounts: more words, and at least so many numbers."""
_MACHINE_MADE = regex.compile(r"_MT\.|gsm8k|quran|ms_headings|cldr_names|osm_tags")
"""Files whose translations are of machines, loose or no sentences."""
_COUNTED = regex.compile(
    r"\d[\d.,]*|(?i:\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|hundred|thousand"
    r"|million|billion|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\b)"
)
TUNING_ARTICLES = 12
"""Of XQuAD-R, the first ones."""

Pair = tuple[str, str]


def read_tuning_pairs(data: Path, language: str, most: int) -> list[Pair]:
    """Up to ``most`` pairs of each source, the other language first."""
    pairs = read_xquad_pairs(data, language)[:most]
    for name in FILES:
        lines = read_pairs(data, name, language)
        pairs += random.Random(7).sample(lines, min(most, len(lines)))
    return pairs


def read_pairs(data: Path, name: str, language: str) -> list[Pair]:
    """The pairs of one of :data:`FILES`; none where a language has it not."""
    path = data / name.format(language=language)
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return [(line[0], line[1]) for line in lines if len(line) >= 2]


def read_xquad_pairs(data: Path, language: str) -> list[Pair]:
    """Sentences of the tuning articles whose paragraph has as many sentences in both languages."""
    paragraphs: list[dict[str, list[str]]] = []
    for code in (language, "en"):
        path = data / "xquad_r" / "corpus" / f"sentence.{code}.jsonl.gz"
        if not path.is_file():
            return []
        sentences: dict[str, list[str]] = {}
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for record in map(json.loads, file):
                article = int(record["para"].split("-")[1][1:])
                if article < TUNING_ARTICLES:
                    sentences.setdefault(record["para"].partition("-")[2], []).append(record["text"])
        paragraphs.append(sentences)
    theirs, english = paragraphs
    both = [key for key in english if len(english[key]) == len(theirs.get(key, ()))]
    pairs = [pair for key in both for pair in zip(theirs[key], english[key], strict=True)]
    usual = statistics.median(len(pair[0]) / len(pair[1]) for pair in pairs) if pairs else 1
    return [pair for pair in pairs if 0.6 < len(pair[0]) / len(pair[1]) / usual < 1.6]  # the others are split otherwise


def read_long_pairs(data: Path, language: str, most: int) -> list[Pair]:
    """Up to ``most`` pairs of each file of parallel text, and of XQuAD's tuning articles, that are long and count."""
    pairs = [pair for pair in read_xquad_pairs(data, language) if is_long(pair[1])][:most]
    for folder in ("research_only/parallel", "parallel"):
        for path in sorted((data / folder / f"{language}-en").glob("*.tsv.gz")):
            if not _MACHINE_MADE.search(path.name):
                lines = [pair for pair in read_pairs(data, str(path.relative_to(data)), language) if is_long(pair[1])]
                pairs += random.Random(7).sample(lines, min(most, len(lines)))
    return list(dict.fromkeys(pairs))


def is_long(english: str) -> bool:
    """Whether a sentence is long and has several numbers, as many of FLORES."""
    return len(english) < 500 and english.count(" ") >= LONG_WORDS and len(_COUNTED.findall(english)) >= LONG_AMOUNTS


def read_test_pairs(data: Path, language: str) -> list[Pair]:
    """FLORES devtest."""
    sides = []
    for code in (language, "en"):
        with gzip.open(data / "flores200" / f"{code}.jsonl.gz", "rt", encoding="utf-8") as file:
            sides.append([json.loads(line)["text"] for line in file])
    return list(zip(*sides, strict=True))


def list_changed(language: str, pairs: list[Pair]) -> Iterator[tuple[str, str, str, str]]:
    """The kind of change, both sentences and what was changed into what."""
    chance = random.Random(11)
    for theirs, english in pairs:
        for change in make_changes(english, "en", chance):
            yield f"en {change.kind}", theirs, change.text, f"{change.before} -> {change.after}"
        for change in make_changes(theirs, language, chance):
            yield f"xx {change.kind}", change.text, english, f"{change.before} -> {change.after}"
        if (turned := turn_round(english)) is not None:
            yield "order en", theirs, turned.text, f"{turned.before} -> {turned.after}"
        if (turned := turn_round(theirs)) is not None:
            yield "order xx", turned.text, english, f"{turned.before} -> {turned.after}"


def measure(language: str, pairs: list[Pair], show: int) -> dict[str, tuple[int, int]]:
    """Accepted and all pairs, rejected and all changed ones by kind."""
    start = time.perf_counter()
    alarms = [(a, b, alarm) for a, b in pairs if (alarm := compare_amounts(a, language, b, "en"))]
    seconds = time.perf_counter() - start
    with_amounts = sum(1 for a, b in pairs if read_amounts(a, language) or read_amounts(b, "en"))
    each = seconds / max(1, len(pairs)) * 1000
    print(f"{language}: {len(pairs)} pairs, {with_amounts} with amounts, {each:.2f} ms a pair")  # noqa: T201
    for theirs, english, mismatches in alarms[:show]:
        print("  ALARM", [(m.code, m.source, m.text) for m in mismatches], "|", theirs, "|", english)  # noqa: T201
    rejected, total, misses = Counter[str](), Counter[str](), []
    for kind, theirs, english, change in list_changed(language, pairs):
        total[kind] += 1
        if compare_amounts(theirs, language, english, "en"):
            rejected[kind] += 1
        else:
            misses.append((kind, change, theirs, english))
    random.Random(3).shuffle(misses)
    for miss in misses[:show]:
        print("  MISS", *miss, sep=" | ")  # noqa: T201
    counts = {
        "accepted": (len(pairs) - len(alarms), len(pairs)),
        "of amounts": (with_amounts - len(alarms), with_amounts),
    }
    return counts | {kind: (rejected[kind], total[kind]) for kind in sorted(total)}


def print_rates(language: str, counts: dict[str, tuple[int, int]]) -> None:
    changed = [counts[kind] for kind in counts if kind[:3] in ("en ", "xx ")]
    rejected, total = (sum(column) for column in zip(*changed, strict=True)) if changed else (0, 0)
    rates = "  ".join(f"{kind} {part / max(1, whole):.3f} ({whole})" for kind, (part, whole) in counts.items())
    print(f"{language}  rejected {rejected / max(1, total):.4f} ({total})  {rates}", flush=True)  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", choices=("tune", "long", "test"), default="tune")
    parser.add_argument("--languages", nargs="*", default=TEN)
    parser.add_argument("--most", type=int, default=500, help="pairs of each source of tuning data")
    parser.add_argument("--show", type=int, default=0, help="alarms and misses to print, of tuning data alone")
    options = parser.parse_args()
    totals: Counter[str] = Counter()
    wholes: Counter[str] = Counter()
    for language in options.languages:
        if options.split == "test":
            pairs = read_test_pairs(options.data, language)
        else:
            read = read_long_pairs if options.split == "long" else read_tuning_pairs
            pairs = read(options.data, language, options.most)
        counts = measure(language, pairs, options.show if options.split != "test" else 0)
        print_rates(language, counts)
        for kind, (part, whole) in counts.items():
            totals[kind] += part
            wholes[kind] += whole
    print_rates("all", {kind: (totals[kind], wholes[kind]) for kind in wholes})


if __name__ == "__main__":
    main()
