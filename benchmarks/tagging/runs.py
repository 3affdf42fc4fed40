"""The trainings of `tables`, and what is measured of each.

Each training is a folder of the output. One that is complete is not done again, and one that was killed goes on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.backbone.sentences import SentenceEncoder
from dragoman.files.atomic import atomic_file
from dragoman.tagging.labels import OUTSIDE, spans
from dragoman.tagging.sentences import Sentence, read_sentences
from dragoman.tagging.shuffling import shuffled
from dragoman.tagging.tagger import load_tagger
from dragoman.tagging.training import StoredWords, TaggerTraining, score, tagged, train_tagger

Say = Callable[[str], None]
NAMES = {
    "person": "PER", "location": "LOC", "corporation": "ORG", "group": "ORG", "product": "MISC",
    "creative-work": "MISC", "OTH": "MISC", "DATE": "",
    **{f"{kind}{part}": "" for kind in ("LOC", "PER", "ORG", "OTH") for part in ("deriv", "part")},
}  # fmt: skip
"""WNUT's and GermEval's kinds of names as CoNLL's."""


_SILVER = "research_only/tagging/ner"
NAME, PROPER = "NAME", "proper nouns"
"""Names of tests by runs of proper nouns, whose kinds are not known: in these languages no names are labelled."""


@dataclass(frozen=True)
class Task:
    """What is learned in English and tested in other languages; paths are relative to the data."""

    labelled: list[str]
    tuning: list[str]
    tests: Mapping[str, str]
    """By name, which begins with the language."""
    spans: bool = True
    names: Mapping[str, str] = field(default_factory=dict)
    steps: int = 1000


TASKS = {
    "pos": Task(
        ["tagging/ud_pos/en/train.conllu.gz"], ["tagging/ud_pos/en/dev.conllu.gz"],
        {one: f"tagging/ud_pos/{one}/test.conllu.gz" for one in ("en", "de", "es", "fr", "pt", "ru")}
        | {"el": "research_only/tagging/ud_pos/el/test.conllu.gz"},
        spans=False, steps=1200,
    ),
    "ner": Task(
        ["tagging/ner/en/wnut17.train.bio.gz"], ["tagging/ner/en/wnut17.dev.bio.gz"],
        {"de germeval": "tagging/ner/de/germeval2014.test.bio.gz"}
        | {"sw masakhaner": f"{_SILVER}/sw/masakhaner1.test.bio.gz"}
        | {f"{one} wikineural": f"{_SILVER}/{one}/wikineural.test.bio.gz" for one in ("en", "de", "es", "nl")}
        | {f"{one} {PROPER}": f"tagging/ud_pos/{one}/test.conllu.gz" for one in ("fr", "pt", "ru")}
        | {f"el {PROPER}": "research_only/tagging/ud_pos/el/test.conllu.gz"},
        names=NAMES, steps=600,
    ),
    "slots": Task(
        ["tagging/slots/en/fbmtod.test.conll.gz"], ["tagging/slots/en/fbmtod.dev.conll.gz"],
        {one: f"tagging/slots/{one}/fbmtod.test.conll.gz" for one in ("es", "th")}, steps=1000,
    ),
    "xsid": Task(
        ["tagging/slots/en/xsid07.test.conll.gz"], ["tagging/slots/en/xsid07.valid.conll.gz"],
        {one: f"tagging/slots/{one}/xsid07.test.conll.gz"
         for one in ("ar", "da", "de", "id", "it", "ja", "kk", "nl", "sr", "tr", "zh")}, steps=500,
    ),
}  # fmt: skip
"""English training halves of the slots are not at hand: the tests of English serve, which no test here is in."""
FINE_TUNING = {"kind": "oit", "layers": 0, "rates": {"pretrained": 0.1}}
"""Nothing but an output above the encoder, which learns at 5e-5."""
METHODS: dict[str, dict[str, Any]] = {
    "lstm": {"kind": "lstm"},
    "lstm-shuffled": {"kind": "lstm", "shuffled": 10},
    "relative": {"kind": "relative"},
    "transformer": {"kind": "transformer"},
    "transformer-shuffled": {"kind": "transformer", "shuffled": 10},
    "copied": {"kind": "copied"},
    "oit": {"kind": "oit"},
    "oit-linear-output": {"kind": "oit", "crf": False},
    "oit-kernel-1": {"kind": "oit", "kernel": 1},
    "oit-kernel-2": {"kind": "oit", "kernel": 2},
    "oit-kernel-5": {"kind": "oit", "kernel": 5},
    "fine-tuned": {"fine_tune": "all", **FINE_TUNING},
    "fine-tuned-fixed-positions": {"fine_tune": "all_but_positions", **FINE_TUNING},
}
NOISE = (1, 2)
"""How far words move in the noisy English tests."""
SHARES = (0.01, 0.03, 0.05, 0.1, 0.3)
"""Of the training sentences of the target language, for the few-shot curve."""


@dataclass(frozen=True)
class Plan:
    """What is trained and measured, and where."""

    data: Path
    output: Path
    encoder: str = "e5-small"
    layer: int = 8
    steps: float = 1.0
    """Factor of the steps of each task."""
    sentences: int = 0
    """Of each test, its first ones; 0 for all."""

    def training(self, task: str, method: str, seed: int, **more: Any) -> TaggerTraining:
        """The configuration of a training."""
        known = TASKS[task]
        steps = max(1, round(known.steps * self.steps))
        every = max(1, steps // 10)
        table = {
            "task": task, "spans": known.spans, "encoder": self.encoder, "layer": self.layer, "languages": ["en"],
            "labelled": self.paths(known.labelled), "tuning": self.paths(known.tuning), "names": dict(known.names),
            "steps": steps, "warm_up": 30, "learning_rate": 5e-4, "checkpoint_every": every, "report_every": every,
            "states": str(self.output / "states"), "seed": seed, **METHODS[method], **more,
        }  # fmt: skip
        return TaggerTraining.parse(table)

    def paths(self, names: Sequence[str]) -> list[str]:
        return [str(self.data / name) for name in names]

    def test(self, task: str, name: str) -> list[Sentence]:
        """The sentences of a test."""
        found = read_sentences(self.data / TASKS[task].tests[name], TASKS[task].names)[: self.sentences or None]
        return [proper_nouns(one) for one in found] if name.endswith(PROPER) else found


class Runs:
    """Trains and measures; an encoder is loaded once."""

    def __init__(self, plan: Plan, encoder: SentenceEncoder, say: Say) -> None:
        self.plan, self._encoder, self._say = plan, encoder, say
        self._stored = StoredWords(encoder, plan.layer, plan.output / "states")

    def cells(self, task: str, method: str, seed: int) -> dict[str, float]:
        """The score of each test of a task, and of the tuning sentences in other orders (`en k=1`)."""
        tests = {name: self.plan.test(task, name) for name in TASKS[task].tests}
        known = [one for path in self.plan.paths(TASKS[task].tuning) for one in self._read(path, task)]
        noise = np.random.default_rng(0)
        for k in NOISE:
            tests[f"en k={k}"] = [shuffled(one, k, noise, whole=True) for one in known]
        return self._measured(task, f"{task}/{method}-{seed}", self.plan.training(task, method, seed), tests)

    def few(self, task: str, method: str, seed: int, language: str, share: float) -> float:
        """The score in a language of whose training sentences a share was learned from as well."""
        more = TASKS[task].tests[language].replace(".test.", ".train.")
        config = self.plan.training(task, method, seed, more=self.plan.paths([more]), more_share=share)
        name = f"few/{task}/{method}-{language}-{share}-{seed}"
        return self._measured(task, name, config, {language: self.plan.test(task, language)})[language]

    def _read(self, path: str, task: str) -> list[Sentence]:
        return read_sentences(Path(path), TASKS[task].names)[: self.plan.sentences or None]

    def _measured(
        self, task: str, name: str, config: TaggerTraining, tests: Mapping[str, list[Sentence]]
    ) -> dict[str, float]:
        folder = self.plan.output / name
        done = folder / "cells.json"
        if done.exists():
            known: dict[str, float] = json.loads(done.read_text(encoding="utf-8"))
            return known
        if not (folder / "model").exists():
            self._say(f"training {name}")
            train_tagger(config, folder, resume=(folder / "config.json").exists())
        tagger = load_tagger(folder / "model", self._encoder)
        stored = self._stored
        if tagger.encoder is not self._encoder:  # it has changed the encoder
            stored = StoredWords(tagger.encoder, self.plan.layer, folder / "states")
        found = {
            test: scored(test, sentences, tagged(tagger.model, stored.of(sentences), tagger.labels), TASKS[task].spans)
            for test, sentences in tests.items()
        }
        with atomic_file(done) as unfinished:
            unfinished.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return found


def proper_nouns(sentence: Sentence) -> Sentence:
    """A sentence with parts of speech as labels, with each run of proper nouns as a name in their place."""
    labels, before = [], ""
    for label in sentence.labels:
        labels.append(OUTSIDE if label != "PROPN" else f"{'I' if before == label else 'B'}-{NAME}")
        before = label
    return replace(sentence, labels=tuple(labels))


def scored(test: str, sentences: Sequence[Sentence], found: Sequence[Sequence[str]], of_spans: bool) -> float:
    """The score of a test; of names whose kinds are not known, F1 of the spans alone."""
    if test.endswith(PROPER):
        found = [[label if label == OUTSIDE else f"{label[0]}-{NAME}" for label in labels] for labels in found]
    return score(sentences, found, of_spans)


def gazetteer(learned: Sequence[Sentence], sentences: Sequence[Sentence]) -> list[list[str]]:
    """The labels of sentences by the names that were learned, longest first, each with its most frequent kind."""
    kinds: dict[tuple[str, ...], Counter[str]] = {}
    for one in learned:
        for span in spans(one.labels):
            words = tuple(word.casefold() for word in one.words[span.start : span.end])
            kinds.setdefault(words, Counter())[span.label] += 1
    longest = max(map(len, kinds), default=0)
    found = []
    for one in sentences:
        folded = [word.casefold() for word in one.words]
        labels, place = [OUTSIDE] * len(folded), 0
        while place < len(folded):
            sizes = range(min(longest, len(folded) - place), 0, -1)
            size = next((size for size in sizes if tuple(folded[place : place + size]) in kinds), 0)
            if size:
                kind = kinds[tuple(folded[place : place + size])].most_common(1)[0][0]
                labels[place : place + size] = [f"B-{kind}", *[f"I-{kind}"] * (size - 1)]
            place += max(size, 1)
        found.append(labels)
    return found
