"""The trainings of `tables`, and what is measured of each.

Each training is a folder of the output. One that is complete is not done again, and one that was killed goes on; one of
another configuration, or measured on other tests, is done anew.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from dragoman.backbone.sentences import SentenceEncoder
from dragoman.files.atomic import atomic_file
from dragoman.tagging.tagger import load_tagger
from dragoman_lab.benchmarks.tagging.scoring import score_test
from dragoman_lab.benchmarks.tagging.tasks import NOISE, TASKS, Plan, folder
from dragoman_lab.tagging.sentences import Sentence
from dragoman_lab.tagging.shuffling import shuffle
from dragoman_lab.tagging.training import StoredWords, TaggerTraining, tag_sentences, train_tagger

Say = Callable[[str], None]


class Runs:
    """Trains and measures; an encoder is loaded once."""

    def __init__(self, plan: Plan, encoder: SentenceEncoder, say: Say) -> None:
        self.plan, self._encoder, self._say = plan, encoder, say
        self._stored = StoredWords(encoder, plan.layer, plan.output / "states")

    def cells(self, task: str, method: str, seed: int) -> dict[str, float]:
        """The score of each test of a task, and of English sentences in other orders (`en k=1`)."""
        tests = {name: self.plan.test(task, name) for name in TASKS[task].tests}
        held, noise = self.plan.held_out(task), np.random.default_rng(0)
        if TASKS[task].own_english:
            tests["en"] = held
        for k in NOISE:
            tests[f"en k={k}"] = [shuffle(sentence, k, noise, whole=True) for sentence in held]
        return self._measure(task, folder(task, method, seed), self.plan.training(task, method, seed), tests)

    def few(self, task: str, method: str, seed: int, language: str, share: float) -> float:
        """The score in a language of whose training sentences a share was learned from as well."""
        config = self.plan.few(task, method, seed, language, share)
        name = f"few/{task}/{method}-{language}-{share}-{seed}"
        return self._measure(task, name, config, {language: self.plan.test(task, language)})[language]

    def _measure(
        self, task: str, name: str, config: TaggerTraining, tests: Mapping[str, list[Sentence]]
    ) -> dict[str, float]:
        place = self.plan.output / name
        done, trained, measured = place / "cells.json", training_digest(config), tests_digest(tests)
        saved = json.loads(done.read_text(encoding="utf-8")) if done.exists() else {}
        if saved.get("training") == trained and saved.get("tests") == measured:
            scores: dict[str, float] = saved["scores"]
            return scores
        begun = place / "training.txt"
        if place.exists() and (not begun.exists() or begun.read_text(encoding="utf-8") != trained):
            shutil.rmtree(place)
        if not (place / "model").exists():
            self._say(f"training {name}")
            place.mkdir(parents=True, exist_ok=True)
            begun.write_text(trained, encoding="utf-8")
            train_tagger(config, place, resume=(place / "config.json").exists())
        new_scores = self._scores(task, place, tests)
        with atomic_file(done) as unfinished:
            about = {"training": trained, "tests": measured, "scores": new_scores}
            unfinished.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        return new_scores

    def _scores(self, task: str, place: Path, tests: Mapping[str, list[Sentence]]) -> dict[str, float]:
        tagger = load_tagger(place / "model", self._encoder)
        stored = self._stored
        if tagger.encoder is not self._encoder:  # it has changed the encoder
            stored = StoredWords(tagger.encoder, self.plan.layer, place / "states")
        return {
            test: score_test(
                test, sentences, tag_sentences(tagger.model, stored.of(sentences), tagger.labels), TASKS[task].spans
            )
            for test, sentences in tests.items()
        }


def training_digest(config: TaggerTraining) -> str:
    """Of all that a training depends on: its configuration, and what is in its files."""
    digest = hashlib.sha256(repr(config).encode())
    for path in (*config.labelled, *config.tuning):
        digest.update(Path(path).read_bytes())
    if config.start_from:
        digest.update(Path(config.start_from, "..", "training.txt").read_bytes())
    return digest.hexdigest()


def tests_digest(tests: Mapping[str, list[Sentence]]) -> str:
    """Of the words and labels of tests."""
    digest = hashlib.sha256()
    for name, sentences in tests.items():
        digest.update(
            repr((name, [(sentence.words, sentence.labels, sentence.spaces) for sentence in sentences])).encode()
        )
    return digest.hexdigest()
