"""Makes statements to judge: of generated theories in one and two languages, and of LeapOfThought by word tables."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, NonNegativeInt, PositiveInt

from dragoman_lab.backbone.config import ConfigError, ConfigTable
from dragoman_lab.evaluation.qa_examples import Progress, Switch, claim_folder, count_steps
from dragoman_lab.reasoning.examples import Example, write_examples
from dragoman_lab.reasoning.theories import (
    DEEPEST,
    LANGUAGES,
    Puzzle,
    Question,
    generate,
    order_sentences,
    render,
    render_statement,
)
from dragoman_lab.reasoning.theories.datasets import Example as Record
from dragoman_lab.reasoning.theories.datasets import leap_of_thought, negate_half

ANY = "*"
TUNING_SEEDS = 1_000_000
"""Theories for tuning begin at this seed; those to learn from stay below."""


class StatementSources(ConfigTable):
    """The table `[sources]` of a configuration of `dragoman train qa` with `task = "statements"`."""

    theories: NonNegativeInt = 0
    tuning_theories: NonNegativeInt = 100
    depth: Annotated[int, Field(ge=0, le=DEEPEST)] = 3
    """Theories have depths 0 to this one, as many of each."""
    statements: PositiveInt = 4
    """The most statements of a theory."""
    mixes: list[str] = Field(default_factory=lambda: ["en"], min_length=1)
    """One is drawn for each theory: a language, or those of context and statement as `en-fr`; `*` is any."""
    leap_of_thought: list[str] = Field(default_factory=list)
    """Files of LeapOfThought, of which half is negated."""
    tables: str = ""
    """Folder of tables `en-<language>.tsv`, by which statements and facts of LeapOfThought are switched."""
    switched: list[str] = Field(default_factory=list)
    """Mixes for LeapOfThought, as `mixes`; without them it stays English."""
    seed: NonNegativeInt = 1

    def check(self) -> None:
        if self.seed + self.theories > TUNING_SEEDS:
            raise ConfigError(f"seed and theories together must be at most {TUNING_SEEDS}")
        for mix in [*self.mixes, *self.switched]:
            if not all(name == ANY or name in LANGUAGES for name in mix.split("-")) or mix.count("-") > 1:
                raise ConfigError(f"{mix!r} is not a language or a pair of them; known: {', '.join(LANGUAGES)}")

    @classmethod
    def parse_below(cls, table: Any, folder: Path | None) -> Self:
        """The table `[sources]`, whose files are below `folder`.

        Raises:
            ConfigError: an unknown or impossible field.
        """
        return cls.parse(table, "sources").below(folder, "leap_of_thought")


def prepare_statements(sources: StatementSources, examples: Path, tuning: Path, step: Progress) -> None:
    """Write the missing files of examples; each one appears only when it is complete.

    Raises:
        ConfigError: a folder with examples of other sources, a table that is missing, or a file of LeapOfThought that
            cannot be used.
    """
    for folder in (examples, tuning):
        claim_folder(sources, folder)
    for folder, first, count in (
        (examples, sources.seed, sources.theories),
        (tuning, TUNING_SEEDS, sources.tuning_theories),
    ):
        path = folder / "theories.jsonl.gz"
        if count and not path.exists():
            write_examples(path, count_steps(theories(range(first, first + count), sources), step))
    path = examples / "leap_of_thought.jsonl.gz"
    if sources.leap_of_thought and not path.exists():
        write_examples(path, count_steps(leaps(sources), step))


def theories(seeds: Sequence[int], sources: StatementSources) -> Iterator[Example]:
    """Statements of one theory for each seed."""
    for seed in seeds:
        noise = random.Random(f"statements {sources.seed} {seed}")
        puzzle = generate(seed, seed % (sources.depth + 1))
        context_language, statement_language = draw_languages(noise.choice(sources.mixes), noise)
        yield from statements(puzzle, seed, context_language, statement_language, sources.statements)


def draw_languages(mix: str, noise: random.Random) -> tuple[str, str]:
    """The languages of context and statement of a mix: `en`, `en-fr`, `*-en`; two of one mix differ."""
    names = mix.split("-")
    chosen: list[str] = []
    for name in names:
        chosen.append(
            name
            if name != ANY
            else noise.choice([language for language in LANGUAGES if language not in [*names, *chosen]])
        )
    return chosen[0], chosen[-1]


def statements(
    puzzle: Puzzle, order: int, context_language: str, statement_language: str, most: int
) -> Iterator[Example]:
    """The first statements of a theory, with the sentences that decide them."""
    parts, sentences = order_sentences(puzzle.theory, order), render(puzzle.theory, context_language, order)
    places, at = [], 0
    for sentence in sentences:
        places.append((at, at + len(sentence)))
        at += len(sentence) + 1
    for question in puzzle.questions[:most]:
        deciding = [places[parts.index(_decides(question))]] if question.proof else []
        text = render_statement(question.statement, statement_language)
        languages = (statement_language, context_language)
        yield Example(text, " ".join(sentences), *languages, deciding, question.label, question.depth)


def _decides(question: Question) -> Any:
    """The fact or rule that is the last step of a proof."""
    last = question.proof[-1]
    return last.conclusion if last.rule is None else last.rule


def leaps(sources: StatementSources) -> Iterator[Example]:
    """Statements of LeapOfThought, of which half is negated, switched as the sources say.

    Raises:
        ConfigError: a file that is not of LeapOfThought, or a table that is missing.
    """
    switch = Switch(Path(sources.tables), sorted(set(LANGUAGES) - {"en"}))
    for path in sources.leap_of_thought:
        try:
            records = list(negate_half(leap_of_thought(Path(path)), sources.seed))
        except ValueError as error:
            raise ConfigError(f"sources: leap_of_thought: {path}: {error}") from error
        for record in records:
            noise = random.Random(f"leap {sources.seed} {record.id}")
            mix = noise.choice(sources.switched) if sources.switched else "en"
            yield leap(record, *draw_languages(mix, noise), switch, noise)


def leap(
    record: Record, context_language: str, statement_language: str, switch: Switch, noise: random.Random
) -> Example:
    """A statement of LeapOfThought and its facts, word by word in other languages, and the fact that supports it."""
    statement = switch.text(record.statement, statement_language, noise)
    has_support, support = record.support is not None, list(record.support or ())
    context, places = switch.text_with_spans(record.context, context_language, noise, support)
    return Example(statement, context, statement_language, context_language, places, record.label, known=has_support)
