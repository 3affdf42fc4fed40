"""The taggers of the package: how right they are, by language, and how many sentences they tag in a second.

    python -m dragoman_lab.benchmarks.tagging.shipped --data DATA --threads 2

Names are measured on WikiNEuRal and MasakhaNER, which no shipped tagger has learned from, with dates left out; parts of
speech on the test halves of Universal Dependencies. Speed is that of raw sentences in German, in one call and one at a
time, the best of three rounds.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.engine.models.tagging import TaggerTask
from dragoman.tagging.shipped import find_shipped
from dragoman.tagging.tagger import Tagger, best_labels, load_tagger
from dragoman.tagging.words import word_states
from dragoman_lab.benchmarks.tagging.scoring import score_test
from dragoman_lab.benchmarks.tagging.tasks import TASKS, Plan

LEARNED = ("de germeval",)
ROUNDS = 3


def main() -> None:
    """Measure both taggers, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with tagging and research_only/tagging")
    parser.add_argument("--sentences", type=int, default=2_000, help="the first ones of each test; 0: all")
    parser.add_argument("--timed", type=int, default=1_000, help="sentences to measure the speed by")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    encoder = SentenceEncoder(load_encoder("e5-small"))
    plan = Plan(arguments.data, Path(), sentences=arguments.sentences)
    console = Console()
    tasks: tuple[TaggerTask, ...] = ("ner", "pos")
    for task in tasks:
        folder = find_shipped(task)
        if folder is None:
            raise SystemExit(f"the package has no tagger {task}")
        tagger = load_tagger(folder, encoder)
        table = Table("test", "sentences", "F1" if task == "ner" else "accuracy", title=task)
        for name in TASKS[task].tests:
            if name not in LEARNED:
                sentences = plan.test(task, name)
                predicted = labels_of(
                    tagger, [sentence.text for sentence in sentences], [sentence.offsets for sentence in sentences]
                )
                table.add_row(
                    name, str(len(sentences)), f"{100 * score_test(name, sentences, predicted, TASKS[task].spans):.1f}"
                )
        console.print(table)
        texts = [sentence.text for sentence in plan.test("pos", "de")][: arguments.timed]
        together = best_of(lambda tagger=tagger, texts=texts: tagger.tag(texts))
        alone = best_of(lambda tagger=tagger, texts=texts: [tagger.tag([text]) for text in texts[:100]])
        console.print(
            f"{len(texts)} sentences in one call: {len(texts) / together:.0f} a second;"
            f" one at a time: {100 / alone:.0f} a second"
        )


def labels_of(tagger: Tagger, texts: list[str], words: list[list[tuple[int, int]]]) -> list[list[str]]:
    """The labels of words that are given."""
    _, states = word_states(tagger.encoder, tagger.layer, texts, words)
    return [[tagger.labels[label] for label in row] for row, _ in best_labels(tagger.model, states)]


def best_of(work: object) -> float:
    """The least seconds of some rounds."""
    assert callable(work)
    durations = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        durations.append(time.perf_counter() - begun)
    return min(durations)


if __name__ == "__main__":
    main()
