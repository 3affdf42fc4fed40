"""Cost of the translation attention matrix and the MAT layers.

    python -m dragoman_lab.benchmarks.reranking.translation_attention [--layers 12 --width 768]

One query of 10 words with 100 passages of 400 words, and a table of 20,000 terms with ten translations each. One run
alternates between our sparse links and matrices, the same dense matrices filled by a plain loop, and forward passes
over some passages with and without MAT layers. Reports medians over the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from dragoman.backbone.encoder import Encoder, Pair, VecoEncoder
from dragoman.backbone.products import autocast
from dragoman.backbone.tokenizer import BOS, EOS
from dragoman.backbone.veco import Veco, VecoConfig
from dragoman.lexicon.table.table import Table
from dragoman.ranking.attention import NO_LINKS, THRESHOLD, Ints, TranslationReference, Words
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.mixed_attention import Mixing, PassageRow
from dragoman.ranking.passages import Passage
from dragoman.ranking.scoring import Scorer, padded_states, pool_passages

TERMS, TRANSLATIONS, PIECES = 20_000, 10, 1.25


def a_table(random: np.random.Generator) -> Table:
    """A table of random terms, each with ten translations."""
    source = np.repeat(np.arange(TERMS), TRANSLATIONS)
    target = np.concatenate([random.choice(TERMS, TRANSLATIONS, replace=False) for _ in range(TERMS)])
    p = random.dirichlet(np.ones(TRANSLATIONS), TERMS).flatten()
    names = [[f"{side}{index:05d}" for index in range(TERMS)] for side in "st"]
    return Table.from_arrays("en", "de", *names, source, target, p, p)


def text(terms: list[str], random: np.random.Generator) -> tuple[Words, Ints]:
    """Words, and the word of each subword; a quarter of the words have two subwords."""
    pieces = [index for index in range(len(terms)) for _ in range(1 + int(random.random() < PIECES - 1))]
    return Words(terms, [(0, 0)] * len(terms)), np.asarray(pieces, np.int64)


def dense_matrix(
    query: Words, row: PassageRow, passage: Words, translations: dict[str, dict[str, float]], length: int
) -> np.ndarray:
    """One dense matrix M, cell by cell, from a dictionary of dictionaries."""
    matrix = np.eye(length, dtype=np.float32)
    query_words, passage_words = row.query.tolist(), row.passage.tolist()
    for start, pieces in ((row.first, query_words), (row.second, passage_words)):
        for i, word in enumerate(pieces):
            for j, other in enumerate(pieces):
                if word == other:
                    matrix[start + i, start + j] = 1.0
    for i, word in enumerate(query_words):
        for j, other in enumerate(passage_words):
            term = passage.terms[other]
            weight = 1.0 if term == query.terms[word] else translations.get(query.terms[word], {}).get(term, 0.0)
            if weight >= THRESHOLD:
                matrix[row.first + i, row.second + j] = matrix[row.second + j, row.first + i] = weight
    return matrix / matrix.sum(1, keepdims=True)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class RandomEncoder(VecoEncoder):
    """A VECO encoder without a vocabulary, for texts given as ids."""

    def __init__(self, model: Veco) -> None:
        super().__init__(model, None, "random", 1)  # type: ignore[arg-type]

    def surprisals(self) -> None:  # type: ignore[override]
        """None, as for a vocabulary without probabilities."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--passages", type=int, default=100)
    parser.add_argument("--words", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--forward", type=int, default=8, help="passages in the forward passes, whose time is scaled up"
    )
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    table = a_table(random)
    query, query_pieces = text([f"s{index:05d}" for index in random.integers(0, TERMS, 10)], random)
    likely = [entry.term for term in query.terms for entry in table.translations(term)]
    documents = []
    for _ in range(options.passages):
        terms = [f"t{index:05d}" for index in random.integers(0, TERMS, options.words)]
        for position in random.integers(0, options.words, options.words // 20):
            terms[position] = likely[random.integers(len(likely))]
        documents.append(text(terms, random))
    length = len(query_pieces) + max(len(pieces) for _, pieces in documents) + 4
    translations = {term: {entry.term: (entry.p_forward + entry.p_backward) / 2 for entry in table.translations(term)}
             for term in query.terms}  # fmt: skip

    def rows() -> list[PassageRow]:
        reference = TranslationReference(query, table)
        return [
            PassageRow(1, query_pieces, len(query_pieces) + 3, pieces, reference.links(words))
            for words, pieces in documents
        ]

    def ours() -> None:
        Mixing.of(rows(), length, torch.device(options.device))

    def loop() -> None:
        bare = [PassageRow(1, query_pieces, len(query_pieces) + 3, pieces, NO_LINKS) for _, pieces in documents]
        for row, (words, _) in zip(bare, documents, strict=True):
            dense_matrix(query, row, words, translations, length)

    encoder = model(options, length)
    with_mat, without = (
        Scorer(Mart(encoder, MartConfig(mat_layers=mat, start="official")).to(options.device)) for mat in ([-3, -2], [])
    )
    some = passages(encoder, rows()[: options.forward])
    work = {"matrices, ours": ours, "matrices, plain loop": loop,
            "forward, with MAT": forward(with_mat, some), "forward, without": forward(without, some)}  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in work}
    for step in work.values():
        step()
    for _ in range(options.rounds):
        for name, step in work.items():
            times[name].append(seconds(step))
    report(options, times)


def model(options: argparse.Namespace, length: int) -> Encoder:
    sizes = {"layers": options.layers, "width": options.width, "heads": max(1, options.width // 64)}
    config = VecoConfig(5_000, feed_forward=4 * options.width, max_length=length, cross_attention=False, **sizes)
    return RandomEncoder(Veco(config)).to(options.device).eval()


def passages(encoder: Encoder, rows: list[PassageRow]) -> list[Passage]:
    batch = []
    for index, row in enumerate(rows):
        ids = [BOS, *([7] * len(row.query)), EOS, BOS, *([8] * len(row.passage)), EOS]
        positions = [*range(len(row.query) + 2), *range(len(row.passage) + 2)]
        batch.append(Passage(index, Pair(ids, row.first, row.second, positions), row))
    return batch


def forward(scorer: Scorer, rows: list[Passage]) -> Callable[[], None]:
    def work() -> None:
        with torch.inference_mode(), autocast(next(scorer.model.parameters()).device.type):
            pool_passages(partial(padded_states, scorer.model), rows, 8_192)

    return work


def report(options: argparse.Namespace, times: dict[str, list[float]]) -> None:
    middle = {name: statistics.median(durations) for name, durations in times.items()}
    whole = middle["forward, without"] * options.passages / options.forward
    faster = statistics.median(
        loop / ours for loop, ours in zip(times["matrices, plain loop"], times["matrices, ours"], strict=True)
    )
    slower = statistics.median(
        a / b for a, b in zip(times["forward, with MAT"], times["forward, without"], strict=True)
    )
    lines = [
        f"{options.passages} passages of {options.words} words; {options.layers} layers of {options.width}, "
        f"{options.device}, {torch.get_num_threads()} threads, torch {torch.__version__}",
        f"matrices: {middle['matrices, ours'] * 1e3:.1f} ms, {faster:.0f} times faster than the plain loop, "
        f"{middle['matrices, ours'] / whole:.2%} of a forward pass over all passages",
        f"forward pass with two MAT layers and their matrices' tensors: {slower - 1:+.1%} against none",
    ]
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    main()
