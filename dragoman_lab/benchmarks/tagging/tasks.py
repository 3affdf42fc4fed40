"""What `tables` trains and tests: tasks, methods, and the files of both."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dragoman.files.atomic import atomic_file
from dragoman_lab.benchmarks.tagging.scoring import PROPER, SLOTS, proper_nouns, slot_names
from dragoman_lab.tagging.sentences import Sentence, read_sentences
from dragoman_lab.tagging.training import TaggerTraining

NAMES = {
    "person": "PER", "location": "LOC", "corporation": "ORG", "group": "ORG", "product": "MISC",
    "creative-work": "MISC", "OTH": "MISC", "DATE": "",
    **{f"{kind}{part}": "" for kind in ("LOC", "PER", "ORG", "OTH") for part in ("deriv", "part")},
}  # fmt: skip
"""WNUT's and GermEval's kinds of names as CoNLL's."""
_SILVER = "research_only/tagging/ner"
_XSID = ("ar", "da", "de", "id", "it", "ja", "kk", "nl", "sr", "tr", "zh")
_XSID_VALID = "tagging/slots/en/xsid07.valid.conll.gz"
TUNING = 500
"""Most sentences for early stopping."""


class FilePart(NamedTuple):
    """Of each `of` sentences of a file in a row, those at `places`; the path is relative to the data."""

    path: str
    places: tuple[int, ...] = (0,)
    of: int = 1
    without: str = ""
    """A file whose sentences are left out."""


@dataclass(frozen=True)
class Task:
    """What is learned in English and tested in other languages."""

    labelled: FilePart
    tuning: FilePart
    held: FilePart
    """English sentences for tests alone, also with words in other orders."""
    tests: Mapping[str, str]
    """By name, which begins with the language."""
    spans: bool = True
    names: Mapping[str, str] = field(default_factory=dict)
    steps: int = 600
    own_english: bool = False
    """Whether `held` is the test of English too."""


def _halves(path: str) -> tuple[FilePart, FilePart]:
    return FilePart(path, (0,), 2), FilePart(path, (1,), 2)


TASKS = {
    "pos": Task(
        FilePart("tagging/ud_pos/en/train.conllu.gz"), *_halves("tagging/ud_pos/en/dev.conllu.gz"),
        {language: f"tagging/ud_pos/{language}/test.conllu.gz" for language in ("en", "de", "es", "fr", "pt", "ru")}
        | {"el": "research_only/tagging/ud_pos/el/test.conllu.gz"},
        spans=False, steps=800,
    ),
    "ner": Task(
        FilePart("tagging/ner/en/wnut17.train.bio.gz"), *_halves("tagging/ner/en/wnut17.dev.bio.gz"),
        {"de germeval": "tagging/ner/de/germeval2014.test.bio.gz"}
        | {"sw masakhaner": f"{_SILVER}/sw/masakhaner1.test.bio.gz"}
        | {f"{language} wikineural": f"{_SILVER}/{language}/wikineural.test.bio.gz"
           for language in ("en", "de", "es", "nl")}
        | {f"{language} {SLOTS}": f"tagging/slots/{language}/xsid07.test.conll.gz"
           for language in _XSID if language != "ja"}
        | {f"{language} {PROPER}": f"tagging/ud_pos/{language}/test.conllu.gz" for language in ("fr", "pt", "ru")}
        | {f"el {PROPER}": "research_only/tagging/ud_pos/el/test.conllu.gz"},
        names=NAMES, steps=400,
    ),
    "slots": Task(
        FilePart("tagging/slots/en/fbmtod.test.conll.gz"), *_halves("tagging/slots/en/fbmtod.dev.conll.gz"),
        {language: f"tagging/slots/{language}/fbmtod.test.conll.gz" for language in ("es", "th")}, own_english=True,
    ),
    "xsid": Task(
        FilePart("tagging/slots/en/xsid07.test.conll.gz", (0, 1, 2, 3), 5, without=_XSID_VALID),
        FilePart("tagging/slots/en/xsid07.test.conll.gz", (4,), 5, without=_XSID_VALID), FilePart(_XSID_VALID),
        {language: f"tagging/slots/{language}/xsid07.valid.conll.gz" for language in _XSID},
        steps=400, own_english=True,
    ),
}  # fmt: skip
"""Of names, Japanese has a dozen in xSID, too few. English training halves of the slots are not at hand: the tests of
English serve. The tests of xSID are its `valid` halves: its `test` halves are translations of the English sentences
that are learned from. Those in both halves are left out."""
FINE_TUNING = {"kind": "oit", "layers": 0, "rates": {"pretrained": 0.1}, "steps": 200}
"""Nothing but an output above the encoder, which learns at 5e-5."""
METHODS: dict[str, dict[str, Any]] = {
    "lstm": {"kind": "lstm"},
    "lstm-shuffled": {"kind": "lstm", "shuffled": 10},
    "relative": {"kind": "relative"},
    "relative-shuffled": {"kind": "relative", "shuffled": 10},
    "transformer": {"kind": "transformer"},
    "transformer-shuffled": {"kind": "transformer", "shuffled": 10},
    "copied": {"kind": "copied"},
    "oit": {"kind": "oit"},
}
SLOTS_METHODS: dict[str, dict[str, Any]] = {
    "oit-linear-output": {"kind": "oit", "crf": False},
    "oit-kernel-1": {"kind": "oit", "kernel": 1},
    "oit-kernel-2": {"kind": "oit", "kernel": 2},
    "oit-kernel-5": {"kind": "oit", "kernel": 5},
    "fine-tuned": {"fine_tune": "all", **FINE_TUNING},
    "fine-tuned-fixed-positions": {"fine_tune": "all_but_positions", **FINE_TUNING},
}
"""What is compared on `slots` alone, the cheapest task."""
NOISE = (0, 1, 2)
"""How far words move in the noisy English tests; 0 is the same sentences with the same spacing, in order."""
SHARES = (0.01, 0.05, 0.3)
"""Of the training sentences of the target language, for the few-shot curve."""
FEW_STEPS = 150
FEW_TUNING = 100
"""Sentences of the target language for early stopping: who has few has few for that as well."""


@dataclass(frozen=True)
class Plan:
    """What is trained and measured, and where."""

    data_folder: Path
    output: Path
    encoder: str = "e5-small"
    layer: int = 8
    steps: float = 1.0
    """Factor of the steps of each task."""
    sentences: int = 0
    """Of each test, its first ones; 0 for all."""

    def training(self, task: str, method: str, seed: int, **more: Any) -> TaggerTraining:
        """The configuration of a training."""
        definition = TASKS[task]
        changes = (METHODS | SLOTS_METHODS)[method] | more
        steps = max(1, round(changes.pop("steps", definition.steps) * self.steps))
        interval = max(1, steps // 10)
        table = {
            "task": task, "spans": definition.spans, "encoder": self.encoder, "layer": self.layer, "languages": ["en"],
            "labelled": [str(self.file(definition.labelled))], "tuning": [str(self.file(definition.tuning, TUNING))],
            "names": dict(definition.names), "steps": steps, "warm_up": 30, "learning_rate": 5e-4, "normed": True,
            "checkpoint_every": interval, "report_every": interval, "states": str(self.output / "states"), "seed": seed,
            **changes,
        }  # fmt: skip
        if table.get("shuffled"):
            table["most_copies"] = steps * TaggerTraining.sentences  # no more are drawn
        return TaggerTraining.parse(table)

    def few(self, task: str, method: str, seed: int, language: str, share: float) -> TaggerTraining:
        """A training that goes on from the English one, on a share of a language's training sentences."""
        path = TASKS[task].tests[language]
        learned, tuning = (path.replace(".test.", f".{half}.") for half in ("train", "dev"))
        return self.training(
            task, method, seed, steps=FEW_STEPS, start_from=str(self.output / folder(task, method, seed) / "model"),
            languages=[language], labelled=[str(self.draw_share(learned, share, seed))],
            tuning=[str(self.file(FilePart(tuning), FEW_TUNING))], names=self._unknown(task, (learned, tuning)),
        )  # fmt: skip

    def _unknown(self, task: str, paths: tuple[str, ...]) -> dict[str, str]:
        """Kinds with labels that no English sentence has: a tagger that goes on has no place for them."""
        english = _labels(self.file(TASKS[task].labelled))
        missing = set().union(*(_labels(self.data_folder / path) for path in paths)) - english
        return dict.fromkeys(sorted(label[2:] for label in missing), "")

    def file(self, part: FilePart, most: int = 0) -> Path:
        """A file of a part's sentences, of their first ones if `most` is not 0."""
        if part.of == 1 and not most and not part.without:
            return self.data_folder / part.path
        barred = {_words(sentence) for sentence in self._sentences(part.without)} if part.without else set()
        sentences = [sentence for sentence in self._sentences(part.path) if _words(sentence) not in barred]
        chosen = [sentence for index, sentence in enumerate(sentences) if index % part.of in part.places]
        return self._write(part.path, chosen[: most or None], f"{''.join(map(str, part.places))}-{part.of}-{most}")

    def draw_share(self, path: str, share: float, seed: int) -> Path:
        """A file of a share of a file's sentences."""
        sentences = self._sentences(path)
        order = np.random.default_rng(seed).permutation(len(sentences))
        chosen = [sentences[index] for index in order[: max(1, round(share * len(sentences)))]]
        return self._write(path, chosen, f"{share}-{seed}")

    def _sentences(self, path: str) -> list[str]:
        with gzip.open(self.data_folder / path, "rt", encoding="utf-8") as file:
            return ["".join(lines) for filled, lines in groupby(file, lambda line: bool(line.strip())) if filled]

    def _write(self, path: str, sentences: list[str], title: str) -> Path:
        source = Path(path)
        target = self.output / "parts" / source.parent / f"{title}.{source.name.removesuffix('.gz')}"
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as unfinished:
            unfinished.write_text("\n".join(sentence.rstrip("\n") + "\n" for sentence in sentences), encoding="utf-8")
        return target

    def test(self, task: str, name: str) -> list[Sentence]:
        """The sentences of a test."""
        names = {} if name.endswith((PROPER, SLOTS)) else TASKS[task].names
        sentences = read_sentences(self.data_folder / TASKS[task].tests[name], names)[: self.sentences or None]
        if name.endswith(SLOTS):
            return [slot_names(sentence) for sentence in sentences]
        return [proper_nouns(sentence) for sentence in sentences] if name.endswith(PROPER) else sentences

    def held_out(self, task: str) -> list[Sentence]:
        """The English sentences for tests alone."""
        return read_sentences(self.file(TASKS[task].held), TASKS[task].names)[: self.sentences or None]


def _words(sentence: str) -> str:
    """The words of a sentence of a `.conll` file, case aside."""
    lines = [line for line in sentence.splitlines() if not line.startswith("#")]
    return " ".join(line.split("\t")[1] for line in lines if "\t" in line).casefold()


def folder(task: str, method: str, seed: int) -> str:
    """Where a training is kept in the output."""
    return f"{task}/{method}-{seed}"


def methods_of(task: str) -> list[str]:
    """What is compared on a task."""
    return [*METHODS, *(SLOTS_METHODS if task == "slots" else ())]


def _labels(path: Path) -> set[str]:
    return {label for sentence in read_sentences(path) for label in sentence.labels if label != "O"}
