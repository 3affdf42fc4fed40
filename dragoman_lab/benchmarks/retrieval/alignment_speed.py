"""Time and memory of training a translation table.

    python -m dragoman_lab.benchmarks.retrieval.alignment_speed --pairs 300000 --model hmm
    python -m dragoman_lab.benchmarks.retrieval.alignment_speed --parallel FOLDER --source en --target de --plain

Without --parallel the text is synthetic: Zipfian words, 11 per sentence on average (5 to 17), each with three possible
translations; a tenth of the words are deleted or inserted, and some neighbours are swapped.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.engine.tables.training.table_training import progress_bars, train_table
from dragoman.lexicon.alignment.training import AlignmentConfig, SentencePair, train


@dataclass(frozen=True, slots=True)
class Word:
    word: str
    term: str


def synthetic_pairs(count: int, vocabulary: int = 40_000, seed: int = 7) -> Iterator[SentencePair]:
    """Sentence pairs as described above; deterministic."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, vocabulary + 1)
    weights /= weights.sum()
    source_words = [Word(f"s{n}", f"s{n}") for n in range(vocabulary)]
    target_words = [Word(f"t{n}", f"t{n}") for n in range(3 * vocabulary)]
    for _ in range(0, count, 1000):
        lengths = rng.integers(5, 18, size=1000)
        ids = rng.choice(vocabulary, size=int(lengths.sum()), p=weights)
        senses = ids * 3 + rng.choice(3, size=len(ids), p=[0.7, 0.2, 0.1])
        noise = rng.random(len(ids))
        begin = 0
        for length in lengths:
            end = begin + length
            target = [s for s, x in zip(senses[begin:end], noise[begin:end], strict=True) if x > 0.05]
            target += [int(s) for s, x in zip(ids[begin:end], noise[begin:end], strict=True) if x > 0.95]
            swap = int(noise[begin] * (len(target) - 1)) if len(target) > 1 else 0
            target[swap : swap + 2] = reversed(target[swap : swap + 2])
            yield SentencePair([source_words[n] for n in ids[begin:end]], [target_words[n] for n in target])
            begin = end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=300_000)
    parser.add_argument("--model", default=AlignmentConfig().model, choices=["model1", "model2", "hmm"])
    parser.add_argument("--agreement", default=AlignmentConfig().agreement)
    parser.add_argument("--iterations", type=int, default=AlignmentConfig().iterations)
    parser.add_argument("--parallel", type=Path, nargs="+")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    config = AlignmentConfig(model=options.model, iterations=options.iterations, agreement=options.agreement)
    report: dict[str, object]
    if options.parallel:
        with tempfile.TemporaryDirectory() as folder, progress_bars() as bars:
            output = Path(folder) / "table.tsv"
            trained = train_table(
                options.parallel,
                options.source,
                options.target,
                output,
                config=config,
                plain=options.plain,
                progress=bars,
            )
        report = {"kept": trained.corpus.kept, "cells": trained.corpus.cells, "entries": trained.entries}
        report |= {"seconds": trained.seconds}
    else:
        pairs = list(synthetic_pairs(options.pairs))
        begin = time.perf_counter()
        table = train(pairs, config)
        report = {"kept": table.corpus.kept, "cells": table.corpus.cells, "entries": len(table)}
        report |= {"seconds": round(time.perf_counter() - begin, 1)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"model": options.model, **report, "peak_mib": round(peak)}))  # noqa: T201


if __name__ == "__main__":
    main()
