"""Late interaction over e5's states: MAP@100 on XQuAD-R's tuning questions by layer, weight and bytes a subword.

    DRAGOMAN_LATE_WEIGHT=0 python -m dragoman_lab.benchmarks.search.quality --data DATA --work runs/search \\
        --systems default --output runs/search/tune-fused
    python -m dragoman_lab.benchmarks.search.late_interaction --data DATA --runs runs/search/tune-fused

Takes the fused scores of the first command's TREC runs, encodes questions and sentences itself, and reorders the first
50 of each question by `fused + weight match`, the match of `dragoman.ranking.maxsim` without links. Prints the mean of
all directions for exact states of some layers, then for quantised states of the service's layer, with codecs trained
anew on `DATA`'s text. Prints the milliseconds that 50 documents of 60 and of 200 subwords take, those of two passages
at most. Test questions are never read.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.engine.search.late import DEPTH
from dragoman.indexes.dense.index import DenseIndex, Embedded
from dragoman.indexes.dense.state_codec import StateCodec
from dragoman.ranking.maxsim import MAX_RARITY, matches
from dragoman_lab.evaluation.benchmark import load_benchmark
from dragoman_lab.evaluation.codebook_training import CodebookTraining, sampled_states

WEIGHTS = (0.0, 0.5, 0.75, 1.0, 1.5)
LAYER = 8

Floats = NDArray[np.float32]
Decode = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Question:
    """A question's hits with fused scores, best first, and which of them are relevant."""

    query: str
    documents: list[str]
    scores: NDArray[np.float64]
    relevant: NDArray[np.bool_]
    total: int


def read_run(task_runs: Path, qrels: Mapping[str, Mapping[str, int]]) -> list[Question]:
    """The questions of one direction from its TREC run."""
    hits: dict[str, list[tuple[str, float]]] = {}
    for line in task_runs.read_text(encoding="utf-8").splitlines():
        query, _, document, _, score, _ = line.split()
        hits.setdefault(query, []).append((document, float(score)))
    return [
        Question(
            query,
            [document for document, _ in ranking],
            np.array([score for _, score in ranking]),
            np.array([document in qrels[query] for document, _ in ranking]),
            len(qrels[query]),
        )
        for query, ranking in hits.items()
    ]


def average_precision(question: Question, order: NDArray[np.intp]) -> float:
    """Of the hits with the first ones in another order."""
    relevant = np.concatenate([question.relevant[order], question.relevant[len(order) :]])
    places = np.nonzero(relevant)[0] + 1
    return float((np.arange(1, len(places) + 1) / places).sum() / question.total)


class States:
    """The states of texts by layer, encoded once."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder
        surprisals = encoder.surprisals()
        assert surprisals is not None
        self._rarity = np.minimum(surprisals, MAX_RARITY)
        self._encoded: dict[tuple[str, str, int], tuple[Floats, NDArray[np.float64]]] = {}

    def of(self, texts: Mapping[str, str], kind: str, layer: int) -> dict[str, tuple[Floats, NDArray[np.float64]]]:
        """States (subwords, width) and rarities (subwords,) by the text's name."""
        missing = [key for key in texts if (key, kind, layer) not in self._encoded]
        encodings = self._encoder.encode_tokens([texts[key] for key in missing], kind, layer)[1]
        for key, encoding in zip(missing, encodings, strict=True):
            self._encoded[key, kind, layer] = (encoding.states, self._rarity[encoding.ids])
        return {key: self._encoded[key, kind, layer] for key in texts}


def maps(
    directions: Sequence[tuple[list[Question], dict[str, str], dict[str, str]]],
    states: States,
    layer: int,
    decode: Decode,
) -> list[float]:
    """The mean over directions for each of the weights."""
    precisions = np.zeros((len(directions), len(WEIGHTS)))
    for row, (questions, queries, documents) in enumerate(directions):
        asked = states.of(queries, "query", layer)
        held = {key: decode(text_states) for key, (text_states, _) in states.of(documents, "passage", layer).items()}
        for question in questions:
            query, rarity = asked[question.query]
            head = question.documents[:DEPTH]
            maxsim = np.array([(query @ held[document].T).max(1, initial=-1) for document in head])
            match = matches(maxsim, np.zeros_like(maxsim), rarity)
            for column, weight in enumerate(WEIGHTS):
                order = np.argsort(-(question.scores[: len(head)] + weight * match), kind="stable")
                precisions[row, column] += average_precision(question, order) / len(questions)
    means: list[float] = precisions.mean(0).tolist()
    return means


def milliseconds(codec: StateCodec, subwords: int, documents: int = DEPTH, rounds: int = 100) -> float:
    """The median time of MaxSim for a query of 16 subwords."""
    noise = np.random.default_rng(0)
    index = DenseIndex(codec.width, codec)
    codes = noise.integers(0, 256, (subwords, codec.size)).astype(np.uint8)
    vectors = noise.standard_normal((1, codec.width)).astype(np.float32)
    index.put(
        [
            Embedded(key, 1, [(0, 1)], vectors, state_counts=[subwords], state_codes=codes)
            for key in range(4 * documents)
        ]
    )
    query = noise.standard_normal((16, codec.width)).astype(np.float32)
    spent = []
    for _ in range(rounds):
        keys = noise.permutation(4 * documents)[:documents].tolist()
        begun = time.perf_counter()
        states = index.state_codes(vectors[0], keys)
        assert states is not None
        codec.maxima(states.codes, states.lengths, query)
        spent.append(1000 * (time.perf_counter() - begun))
    return float(np.median(spent))


def main() -> None:
    """Print a line for each layer and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True, help="output folder of benchmarks.search.quality")
    parser.add_argument("--layers", default="6,8,10", help="comma-separated")
    parser.add_argument("--sizes", default="16,24,32,48,64,96", help="bytes a subword, comma-separated")
    parser.add_argument("--subwords", type=int, default=5_000, help="of each language, to train the codecs on")
    arguments = parser.parse_args()
    encoder = SentenceEncoder(load_encoder("e5-small"))
    states = States(encoder)
    directions = []
    for folder in sorted(arguments.runs.glob("xquad_r-sentence-*-*")):
        source, target = folder.name.split("-")[2:]
        task = load_benchmark(arguments.data / "xquad_r", source, target, "sentence", split="tune")
        directions.append((read_run(folder / "default.trec", task.qrels), task.queries, task.documents))
    print("states", *(f"weight {weight}" for weight in WEIGHTS), "ms of 60", "of 200 subwords")  # noqa: T201
    for layer in map(int, arguments.layers.split(",")):
        print(f"layer {layer}, exact", *_format(maps(directions, states, layer, lambda vectors: vectors)))  # noqa: T201
    text = CodebookTraining(
        parallel=[str(arguments.data / "parallel")],
        raw=[str(arguments.data / "raw")],
        layer=LAYER,
        subwords=arguments.subwords,
    )
    sample = sampled_states(text, encoder, lambda line: None)
    for size in map(int, arguments.sizes.split(",")):
        codec = StateCodec.train(sample, size, LAYER)
        means = maps(directions, states, LAYER, partial(_encode_and_decode, codec))
        spent = [f"{milliseconds(codec, subwords):.1f}" for subwords in (60, 200)]
        print(f"layer {LAYER}, {size} bytes", *_format(means), *spent)  # noqa: T201


def _encode_and_decode(codec: StateCodec, states: Floats) -> Floats:
    return codec.decode(codec.encode(states))


def _format(values: Sequence[float]) -> list[str]:
    return [f"{score:.4f}" for score in values]


if __name__ == "__main__":
    main()
