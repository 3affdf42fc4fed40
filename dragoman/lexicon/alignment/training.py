"""Translation tables from parallel text: alignment in both directions, symmetrisation, counting.

IBM Model 1, fast_align's reparametrised Model 2 and the HMM model are trained by expectation maximisation;
see the modules `models`, `hmm` and `em` for the papers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from dragoman.lexicon.alignment.corpus import (
    AlignmentToken,
    Chunk,
    Corpus,
    CorpusCounts,
    Doubles,
    Floats,
    Ints,
    Progress,
    SentencePair,
    read_corpus,
)
from dragoman.lexicon.alignment.counts import (
    SYMMETRISATIONS,
    JointCounts,
    Pruning,
    conditionals,
    occurrences,
    prune,
    totals,
)
from dragoman.lexicon.alignment.em import AGREEMENTS, Aligner, IterationReport, Stage, map_in_order
from dragoman.lexicon.alignment.hmm import Hmm
from dragoman.lexicon.alignment.models import Diagonal, PositionModel, Uniform

__all__ = [
    "AlignmentConfig",
    "AlignmentToken",
    "CorpusCounts",
    "IterationReport",
    "Progress",
    "Pruning",
    "SentencePair",
    "TrainedTable",
    "train",
]

MODELS = ("model1", "model2", "hmm")
MARGINALS = ("aligned", "occurrences")
THREADS = 2


@dataclass(frozen=True)
class AlignmentConfig:
    """Settings of alignment and counting. Raises ValueError with the name of a field that is out of range."""

    model: str = "model2"
    model1_iterations: int = 5
    iterations: int = 5
    """Iterations of `model`; those of Model 1 come before, unless `model` is model1."""
    agreement: str = "geometric"
    """How the two directions learn from each other in the last stage (see `em`)."""
    symmetrisation: str = "mean"
    """How the posteriors of both directions are combined into link weights. The mean has the best retrieval quality
    (`benchmarks.retrieval.first_stage`): links of only one direction help recall more than they hurt precision."""
    marginal: str = "aligned"
    """The divisor of counts: the word's aligned mass, or the maximum of that and its number of occurrences."""
    tension: float = 4.0
    optimise_tension: bool = True
    null_rate: float = 0.08
    max_jump: int = 10
    """Largest jump distance with its own HMM parameter."""
    prior: float = 0.0
    """Concentration of the Dirichlet prior over t(.|.) (variational Bayes); 0 for maximum likelihood."""
    max_length: int = 100
    max_ratio: float = 9.0
    min_link: float = 0.01
    """Links with a lower symmetrised weight are not counted."""
    keep_stop_words: bool = True
    pruning: Pruning = field(default_factory=Pruning)

    def __post_init__(self) -> None:
        choices = {
            "model": MODELS,
            "agreement": AGREEMENTS,
            "symmetrisation": tuple(SYMMETRISATIONS),
            "marginal": MARGINALS,
        }
        for name, valid in choices.items():
            if getattr(self, name) not in valid:
                raise ValueError(f"{name} must be one of {', '.join(valid)}, got {getattr(self, name)!r}")
        ranges = {
            "model1_iterations": (0, 1000),
            "iterations": (1, 1000),
            "tension": (0.1, 14.0),
            "null_rate": (1e-6, 0.999),
            "max_jump": (1, 100),
            "prior": (0.0, 1e6),
            "max_length": (1, 1000),
            "max_ratio": (1.0, 1000.0),
            "min_link": (0.0, 1.0),
        }
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be between {low} and {high}, got {getattr(self, name)}")


@dataclass(frozen=True)
class TrainedTable:
    """Entries by ascending source word, then by descending P(target|source)."""

    sources: list[str]
    targets: list[str]
    source_ids: Ints
    target_ids: Ints
    counts: Doubles
    p_ts: Doubles
    p_st: Doubles
    corpus: CorpusCounts
    iterations: list[IterationReport]
    pruned: int

    def __len__(self) -> int:
        return len(self.source_ids)

    def entries(self) -> Iterator[tuple[str, str, float, float]]:
        """(source word, target word, P(target|source), P(source|target))."""
        columns = (self.source_ids, self.target_ids, self.p_ts, self.p_st)
        for s, t, p_ts, p_st in zip(*(column.tolist() for column in columns), strict=True):
            yield self.sources[s], self.targets[t], p_ts, p_st


def train(pairs: Iterable[SentencePair], config: AlignmentConfig, progress: Progress = lambda *_: None) -> TrainedTable:
    """Align `pairs` by the terms of their tokens, and count translations of the words.

    Deterministic for the same pairs in the same order. `progress` reports the phases read, index, align, count.
    Input without a usable pair gives an empty table.
    """
    with ThreadPoolExecutor(THREADS, thread_name_prefix="align") as executor:
        corpus = read_corpus(pairs, config.max_length, config.max_ratio, progress, executor)
        aligner = Aligner(corpus, stages(config), config.prior)
        aligner.fit(executor, progress)
        joint = _count(aligner, config, progress, executor)
    return _tabulate(corpus, joint, config, aligner.reports)


def stages(config: AlignmentConfig) -> list[Stage]:
    """The models in training order. Agreement applies to the last stage only."""
    factories: dict[str, Callable[[], PositionModel]] = {
        "model1": Uniform,
        "model2": lambda: Diagonal(config.tension, config.null_rate, config.optimise_tension),
        "hmm": lambda: Hmm(config.null_rate, config.max_jump),
    }
    last = Stage(config.model, factories[config.model], config.iterations, config.agreement)
    if config.model == "model1":
        return [last]
    return [Stage("model1", Uniform, config.model1_iterations, "none"), last]


def _count(aligner: Aligner, config: AlignmentConfig, progress: Progress, executor: Executor) -> JointCounts:
    join = SYMMETRISATIONS[config.symmetrisation]
    corpus = aligner.corpus
    source_words, _, source_stops = corpus.sources.arrays()
    target_words, _, target_stops = corpus.targets.arrays()

    def links(chunk: Chunk) -> tuple[Ints, Ints, Floats]:
        weights = join(*aligner.posteriors(chunk))
        counted = weights >= max(config.min_link, 1e-9)
        if not config.keep_stop_words:
            counted &= ~source_stops[chunk.source][:, None, :]
            counted &= ~target_stops[chunk.target][:, :, None]
        rows, j, i = np.nonzero(counted)
        values = weights[rows, j, i] * chunk.weights[rows]
        return source_words[chunk.source[rows, i]], target_words[chunk.target[rows, j]], values

    joint = JointCounts(len(corpus.targets.words))
    for done, weighted_links in enumerate(map_in_order(executor, links, corpus.chunks), 1):
        joint.add(*weighted_links)
        progress("count", done, len(corpus.chunks))
    return joint


def _tabulate(
    corpus: Corpus, joint: JointCounts, config: AlignmentConfig, reports: list[IterationReport]
) -> TrainedTable:
    sources, targets, counts = joint.result()
    source_words, target_words = corpus.sources.words, corpus.targets.words
    source_totals = totals(sources, counts, len(source_words))
    target_totals = totals(targets, counts, len(target_words))
    if config.marginal == "occurrences":
        source_occurrences = occurrences(
            ((chunk.source, chunk.weights) for chunk in corpus.chunks),
            corpus.sources.arrays()[0],
            len(source_words),
        )
        target_occurrences = occurrences(
            ((chunk.target, chunk.weights) for chunk in corpus.chunks),
            corpus.targets.arrays()[0],
            len(target_words),
        )
        source_totals = np.maximum(source_totals, source_occurrences)
        target_totals = np.maximum(target_totals, target_occurrences)
    source_order, target_order = _rank_words(source_words), _rank_words(target_words)
    p_ts, p_st = conditionals(sources, targets, counts, source_totals, target_totals)
    sources, targets = source_order[sources], target_order[targets]
    positions = prune(sources, targets, counts, p_ts, p_st, config.pruning)
    return TrainedTable(
        sorted(source_words),
        sorted(target_words),
        sources[positions],
        targets[positions],
        counts[positions],
        p_ts[positions],
        p_st[positions],
        corpus.counts,
        reports,
        len(counts) - len(positions),
    )


def _rank_words(words: list[str]) -> Ints:
    """The rank of each word in sorted order."""
    ranks = np.empty(len(words), dtype=np.int32)
    ranks[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words), dtype=np.int32)
    return ranks
