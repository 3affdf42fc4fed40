"""The tagger of names beside a pipeline of spaCy that learned from the same sentences: quality, and sentences a second.

    pip install spacy
    python -m dragoman_lab.benchmarks.tagging.spacy_comparison --data DATA --threads 2

spaCy's pipeline is its convolutional `tok2vec` with hashed embeddings, as wide and deep as in its small models, and its
transition-based recogniser; it learns from the files that `configs/tagger-ner.toml` names, as our tagger did. The sizes
are printed: spaCy's whole pipeline, and our head with and without the encoder, which searches use anyway. The two tag
the same raw German sentences in turn, in one call and one at a time; the best of three rounds counts. F1 is that of
WikiNEuRal, which neither has learned from, where words are given.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import spacy
import torch
from rich.console import Console
from rich.table import Table
from spacy.tokens import Doc
from spacy.training import Example, biluo_tags_to_offsets, iob_to_biluo
from spacy.util import compounding, minibatch

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.tagging.labels import OUTSIDE, span_f1
from dragoman.tagging.shipped import find_shipped
from dragoman.tagging.tagger import load_tagger
from dragoman_lab.backbone.config import read_config
from dragoman_lab.benchmarks.tagging.shipped import labels_of
from dragoman_lab.benchmarks.tagging.tasks import Plan
from dragoman_lab.tagging.sentences import Sentence, read_sentences
from dragoman_lab.tagging.training import TaggerTraining

WIDTH, DEPTH, ROWS = 96, 4, 5_000
"""Of spaCy's small pipelines: width, layers, and rows of the hashed embeddings."""
ALONE = 200
"""Sentences that are tagged one at a time."""
TESTS = ("de wikineural", "en wikineural")
CONFIG = Path(__file__).parents[2] / "configs" / "tagger-ner.toml"
"""What the shipped tagger learned from."""


def main() -> None:
    """Train spaCy's pipeline, measure both, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with tagging and research_only/tagging")
    parser.add_argument("--rounds", type=int, default=8, help="of spaCy's training over all sentences")
    parser.add_argument("--sentences", type=int, default=2_000, help="the first ones of each test")
    parser.add_argument("--timed", type=int, default=1_000, help="sentences to measure the speed by")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    config = TaggerTraining.parse(read_config(CONFIG))
    learned = [sentence for path in config.labelled for sentence in read_sentences(arguments.data / path, config.names)]
    nlp = train_pipeline(learned, arguments.rounds)
    folder = find_shipped("ner")
    if folder is None:
        raise SystemExit("the package has no tagger of names")
    encoder = load_encoder("e5-small")
    tagger = load_tagger(folder, SentenceEncoder(encoder))
    console = Console()
    head, whole = (sum(parameter.numel() for parameter in part.parameters()) for part in (tagger.model, encoder))
    console.print(
        f"weights: Dragoman's head {head / 1e6:.2f} million, with the encoder {(head + whole) / 1e6:.1f}; spaCy's"
        f" pipeline {weights(nlp) / 1e6:.2f} million"
    )
    table = Table("F1 of names", "Dragoman", "spaCy")
    plan = Plan(arguments.data, Path(), sentences=arguments.sentences)
    for name in TESTS:
        gold = plan.test("ner", name)
        ours = labels_of(tagger, [sentence.text for sentence in gold], [sentence.offsets for sentence in gold])
        scores = [
            span_f1([sentence.labels for sentence in gold], predicted) for predicted in (ours, label_words(nlp, gold))
        ]
        table.add_row(name, *(f"{100 * score:.1f}" for score in scores))
    console.print(table)
    texts = [sentence.text for sentence in plan.test("pos", "de")][: arguments.timed]
    table = Table("sentences a second", "Dragoman", "spaCy", "ratio")
    for title, size, ways in (
        ("one call", len(texts), (lambda: tagger.tag(texts), lambda: list(nlp.pipe(texts)))),
        ("one at a time", ALONE, (lambda: each(tagger.tag, texts), lambda: [nlp(text) for text in texts[:ALONE]])),
    ):
        ours_rate, theirs = (size / seconds for seconds in in_turn(*ways))
        table.add_row(title, f"{ours_rate:.0f}", f"{theirs:.0f}", f"{ours_rate / theirs:.3f}")
    console.print(table)


def weights(nlp: Any) -> int:
    """How many weights a pipeline has; layers that are used twice count once."""
    layers = {id(layer): layer for _, pipe in nlp.pipeline for layer in pipe.model.walk()}
    return sum(
        layer.get_param(name).size for layer in layers.values() for name in layer.param_names if layer.has_param(name)
    )


def each(tag: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> None:
    """Tag texts one by one."""
    for text in texts[:ALONE]:
        tag([text])


def in_turn(*ways: Callable[[], Any]) -> list[float]:
    """The least seconds of each way of three rounds in turn."""
    durations: list[list[float]] = [[] for _ in ways]
    for _ in range(3):
        for way_durations, way in zip(durations, ways, strict=True):
            begun = time.perf_counter()
            way()
            way_durations.append(time.perf_counter() - begun)
    return [min(way_durations) for way_durations in durations]


def train_pipeline(sentences: Sequence[Sentence], rounds: int) -> Any:
    """A pipeline that learned from sentences."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("ner", config={"model": _recogniser()})
    examples = [_example(nlp, sentence) for sentence in sentences]
    random.seed(1)
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(rounds):
        random.shuffle(examples)
        for batch in minibatch(examples, size=compounding(8.0, 64.0, 1.01)):
            nlp.update(batch, sgd=optimizer, drop=0.2)
    return nlp


def _recogniser() -> dict[str, Any]:
    return {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": 64,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": {
            "@architectures": "spacy.HashEmbedCNN.v2",
            "width": WIDTH,
            "depth": DEPTH,
            "embed_size": ROWS,
            "window_size": 1,
            "maxout_pieces": 3,
            "subword_features": True,
            "pretrained_vectors": None,
        },
    }


def _example(nlp: Any, sentence: Sentence) -> Any:
    reference = Doc(nlp.vocab, words=list(sentence.words), spaces=list(sentence.spaces))
    offsets = biluo_tags_to_offsets(reference, iob_to_biluo(list(sentence.labels)))
    reference.ents = [reference.char_span(start, end, label=label) for start, end, label in offsets]
    return Example(Doc(nlp.vocab, words=list(sentence.words), spaces=list(sentence.spaces)), reference)


def label_words(nlp: Any, sentences: Sequence[Sentence]) -> list[list[str]]:
    """The labels of words that are given."""
    labels = []
    for doc in nlp.pipe(
        Doc(nlp.vocab, words=list(sentence.words), spaces=list(sentence.spaces)) for sentence in sentences
    ):
        labels.append([f"{word.ent_iob_}-{word.ent_type_}" if word.ent_type_ else OUTSIDE for word in doc])
    return labels


if __name__ == "__main__":
    main()
