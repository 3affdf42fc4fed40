"""Word problems that systems solve: problems of held-out templates in nine languages, of MAWPS, and of MGSM.

A system is a function from texts to the texts it answers with. An answer is the last number of its text.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from dragoman.backbone.pretrained.llm import LanguageModel
from dragoman.reasoning.layalign.reasoner import Reasoner
from dragoman_lab.benchmarks.layalign.translation_quality import translate
from dragoman_lab.reasoning.examples import read_records
from dragoman_lab.reasoning.problems import held_out_templates, problems
from dragoman_lab.reasoning.problems.sets import mawps

AT_ONCE = 32
"""Problems that are answered together."""
LOW = ("el", "sw", "th")
"""Languages that count as low-resource."""
SEED = {"tune": 2, "test": 1}
"""Of the generated problems."""
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
System = Callable[[Sequence[str]], list[str]]


@dataclass(frozen=True)
class Questions:
    """Problems in a language, and their answers."""

    texts: list[str]
    answers: list[int]


Sets = dict[str, dict[str, Questions]]
"""Problems by set and language."""


def sets_of(data_folder: Path, split: str, count: int) -> Sets:
    """The problems to measure by, so many of each set; of `tune` there are only generated ones.

    Raises:
        ExamplesError: a file is missing or not of its set's form.
    """
    generated = list(islice(problems(held_out_templates(), SEED[split]), count))
    sets: Sets = {
        "templates": {
            language: Questions(
                [problem.texts[language] for problem in generated], [problem.answer for problem in generated]
            )
            for language in generated[0].texts
        }
    }
    if split == "tune":
        return sets
    mawps_problems = list(islice(mawps(data_folder / "reasoning" / "mawps.jsonl.gz", held_out=True), count))
    sets["mawps"] = {
        "en": Questions(
            [problem.texts["en"] for problem in mawps_problems], [problem.answer for problem in mawps_problems]
        )
    }
    languages = [language for language in sets["templates"] if (data_folder / "mgsm" / f"{language}.jsonl").is_file()]
    if languages:
        sets["mgsm"] = {language: _mgsm(data_folder / "mgsm" / f"{language}.jsonl") for language in languages}
    return sets


def unlike_learned(data_folder: Path, texts: Sequence[str]) -> list[bool]:
    """Which problems of MAWPS have no twin among those to learn from: the same text but for its numbers."""
    learned = {
        _words(problem.texts["en"]) for problem in mawps(data_folder / "reasoning" / "mawps.jsonl.gz", held_out=False)
    }
    return [_words(text) not in learned for text in texts]


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z]+", text.casefold()))


def _mgsm(path: Path) -> Questions:
    rows = list(read_records(path, lambda record: (str(record["question"]), int(record["answer"]))))
    return Questions([text for text, _ in rows], [answer for _, answer in rows])


def restrict_to_solved(sets: Sets, solved: Sequence[bool]) -> Sets:
    """The sets with those problems of MGSM alone that are solved in English."""
    mgsm = {}
    for language, questions in sets.get("mgsm", {}).items():
        pairs = [
            (text, answer)
            for text, answer, good in zip(questions.texts, questions.answers, solved, strict=True)
            if good
        ]
        mgsm[language] = Questions([text for text, _ in pairs], [answer for _, answer in pairs])
    return sets | {"mgsm": mgsm}


def answer_of(text: str) -> float | None:
    """The last number of a text; None if it has none."""
    matches = _NUMBER.findall(text)
    return float(matches[-1].replace(",", "")) if matches else None


def solve(system: System, questions: Questions) -> tuple[list[bool], list[str]]:
    """Which problems a system solves, and what it answers."""
    said = system(questions.texts)
    return [answer_of(text) == answer for text, answer in zip(said, questions.answers, strict=True)], said


@torch.inference_mode()
def plain(llm: LanguageModel, texts: Sequence[str], limit: int) -> list[str]:
    """What the LLM itself answers to texts, by the likeliest tokens."""
    answers: dict[int, str] = {}
    rows = [[*llm.ids(llm.before), *llm.plain_ids(text), *llm.ids(llm.after)] for text in texts]
    if llm.bos is not None:
        rows = [row if row[:1] == [llm.bos] else [llm.bos, *row] for row in rows]
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    for begin in range(0, len(order), AT_ONCE):
        places = order[begin : begin + AT_ONCE]
        longest = max(len(rows[place]) for place in places)
        pad = llm.ends[0] if llm.ends else 0
        ids = torch.tensor([[pad] * (longest - len(rows[place])) + rows[place] for place in places])
        mask = torch.tensor([[0] * (longest - len(rows[place])) + [1] * len(rows[place]) for place in places])
        outputs: Any = llm.model.generate(
            ids, attention_mask=mask, do_sample=False, max_new_tokens=limit, eos_token_id=list(llm.ends) or None,
            pad_token_id=pad,
        )  # fmt: skip
        answers.update((place, llm.text(row[longest:].tolist())) for place, row in zip(places, outputs, strict=True))
    return [answers[place] for place in range(len(texts))]


def base(llm: LanguageModel, limit: int) -> System:
    """The LLM alone, which reads the texts as they are."""
    return lambda texts: plain(llm, texts, limit)


def translating(reasoner: Reasoner, limit: int) -> System:
    """Translation into English by a bridge, which the LLM alone then answers."""
    return lambda texts: plain(reasoner.model.llm, translate(reasoner, texts), limit)


def bridge_system(reasoner: Reasoner, limit: int) -> System:
    """The LLM through a bridge."""

    def answers(texts: Sequence[str]) -> list[str]:
        replies: list[str] = []
        for begin in range(0, len(texts), AT_ONCE):
            streams = [reasoner.stream(text, "", limit, 0.0, 0) for text in texts[begin : begin + AT_ONCE]]
            reasoner.decoder.advance(streams, limit)
            replies += [reasoner.text(stream.tokens) for stream in streams]
        return replies

    return answers


def without_prompt(bridge: Path, folder: Path) -> Path:
    """A copy of a bridge that is not told to translate, for a bridge without the second stage."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(bridge, folder)
    about = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(about | {"before": ""}) + "\n", encoding="utf-8")
    return folder
