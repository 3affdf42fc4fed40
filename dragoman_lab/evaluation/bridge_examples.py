"""What a bridge learns from: short parallel sentences, English ones as they are, and word problems in English."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, NonNegativeInt, PositiveInt

from dragoman_lab.backbone.config import ConfigError, ConfigTable, NonNegative
from dragoman_lab.backbone.text_files import TextFile
from dragoman_lab.evaluation.cloze_examples import files_with
from dragoman_lab.evaluation.qa_examples import claim_folder
from dragoman_lab.reasoning.examples import Completion, write_examples
from dragoman_lab.reasoning.problems import learning_templates, problems
from dragoman_lab.reasoning.problems.sets import gsm8k, mawps

HELD_OUT = 32
"""One English sentence in so many is for tuning, whatever language its translations are in."""
PROBLEMS = "problems.jsonl.gz"
CHARACTERS = 10
"""The most characters of a source, as a multiple of `words`: not all languages put spaces between words."""


class BridgeSources(ConfigTable):
    """The table `[sources]` of a configuration of `dragoman train layalign`."""

    parallel: str = ""
    """Folder of text parallel to English."""
    languages: list[str] = Field(default_factory=list)
    words: int = 12
    """The most English words of a pair."""
    least_words: Annotated[int, Field(ge=2)] = 2
    """The fewest English words of a pair."""
    pairs: PositiveInt = 60_000
    """Pairs of all languages together, as many of each as there are."""
    english: NonNegative = 0.1
    """English sentences that are repeated, as a share of the pairs."""
    preferred: list[str] = Field(default_factory=list)
    """Beginnings of the names of files that are used up first, in this order."""
    without: list[str] = Field(default_factory=list)
    """Beginnings of the names of files that are not used."""
    tuning_pairs: PositiveInt = 30
    """Of each language, and of the problems."""
    problems: NonNegativeInt = 0
    """Generated problems, in English."""
    mawps: str = ""
    """File of MAWPS, but for the fifth to measure by."""
    gsm8k: str = ""
    """File of GSM8K, of which the problems with few calculations are used."""
    seed: int = 1

    def check(self) -> None:
        if bool(self.parallel) != bool(self.languages):
            raise ConfigError("parallel is a folder, and languages is a list of at least one; they go together")
        if not (self.parallel or self.problems or self.mawps or self.gsm8k):
            raise ConfigError("there is neither parallel text nor a problem")
        if self.words < self.least_words:
            raise ConfigError(f"words must be at least {self.least_words}")

    @classmethod
    def parse_below(cls, table: Any, folder: Path | None) -> Self:
        """The table `[sources]`, whose files are below `folder`.

        Raises:
            ConfigError: an unknown, missing or impossible field.
        """
        return cls.parse(table, "sources").below(folder, "parallel", "mawps", "gsm8k")


def prepare_bridge(sources: BridgeSources, examples: Path, tuning: Path, step: Callable[[], None]) -> None:
    """Write the missing files of texts and answers; each one appears only when it is complete.

    Raises:
        ConfigError: a language without text, or a folder with examples of other sources.
        CorpusError: text that cannot be used.
    """
    for folder in (examples, tuning):
        claim_folder(sources, folder)
    if sources.problems or sources.mawps or sources.gsm8k:
        _write_problems(sources, examples / PROBLEMS, tuning / PROBLEMS)
        step()
    for language in [*sources.languages, "en"] if sources.languages else ():
        learn, tune = (folder / f"{language}.jsonl.gz" for folder in (examples, tuning))
        if learn.exists() and tune.exists():
            continue
        pairs = _english(sources) if language == "en" else _pairs(sources, language)
        count = sources.pairs // len(sources.languages)
        if language == "en":
            count = int(sources.english * sources.pairs)
        to_learn = [pair for pair in pairs if not is_held_out(pair.answer)]
        held = [pair for pair in pairs if is_held_out(pair.answer)]
        held = held[: max(count // HELD_OUT, sources.tuning_pairs)]  # of the same files as what is learned
        random.Random(f"{sources.seed} {language} held").shuffle(held)
        for path, chosen in ((tune, held[: sources.tuning_pairs]), (learn, to_learn[:count])):
            write_examples(path, chosen)
        step()


def _write_problems(sources: BridgeSources, learn: Path, tune: Path) -> None:
    """Problems of all sets, shuffled; those for tuning are generated."""
    if learn.exists() and tune.exists():
        return
    learned = list(islice(problems(learning_templates(), sources.seed), sources.problems))
    if sources.mawps:
        learned += mawps(Path(sources.mawps), held_out=False)
    if sources.gsm8k:
        learned += gsm8k(Path(sources.gsm8k))
    random.Random(sources.seed).shuffle(learned)
    texts = {problem.texts["en"] for problem in learned}
    others = (
        problem for problem in problems(learning_templates(), sources.seed + 1) if problem.texts["en"] not in texts
    )
    for path, chosen in ((tune, islice(others, sources.tuning_pairs)), (learn, learned)):
        write_examples(path, (Completion(problem.texts["en"], "en", problem.solution) for problem in chosen))


def is_held_out(english: str) -> bool:
    """Whether a sentence is for tuning."""
    return hashlib.sha256(english.casefold().encode()).digest()[0] % HELD_OUT == 0


def _pairs(sources: BridgeSources, language: str) -> list[Completion]:
    """The short pairs of a language, in an order by chance, those of preferred files first."""
    noise = random.Random(f"{sources.seed} {language}")
    files = files_with(Path(sources.parallel), language, sources.without)
    ranks: list[list[Completion]] = [[] for _ in range(len(sources.preferred) + 1)]
    for file in files:
        ranks[_rank(file, sources.preferred)] += _short(file, language, sources)
    for pairs in ranks:
        noise.shuffle(pairs)
    return list(dict.fromkeys(pair for rank in ranks for pair in rank))


def _rank(file: TextFile, preferred: Sequence[str]) -> int:
    name = file.path.name
    return next((rank for rank, beginning in enumerate(preferred) if name.startswith(beginning)), len(preferred))


def _short(file: TextFile, language: str, sources: BridgeSources) -> Iterator[Completion]:
    column = file.languages.index(language)
    for row in file.rows():
        source, english = row[column], row[1 - column]
        size = len(english.split())
        short = size <= sources.words and len(source) <= CHARACTERS * sources.words
        if short and size >= sources.least_words and source != english:
            yield Completion(source, language, english)


def _english(sources: BridgeSources) -> list[Completion]:
    """English sentences of the pairs of all languages, which stay as they are."""
    noise = random.Random(f"{sources.seed} en")
    texts = {pair.answer for language in sources.languages for pair in _pairs(sources, language)}
    sentences = [Completion(text, "en", text) for text in sorted(texts)]
    noise.shuffle(sentences)
    return sentences
