"""Makes statements to judge: of generated theories in one and two languages, and of LeapOfThought by word tables."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dragoman_lab.backbone.config import ConfigError, check_fields
from dragoman_lab.evaluation.qa_examples import Progress, Switch, claim_folder, counted
from dragoman_lab.reasoning.examples import Example, write_examples
from dragoman_lab.reasoning.theories import (
    DEEPEST,
    LANGUAGES,
    Puzzle,
    Question,
    generate,
    ordered,
    render,
    render_statement,
)
from dragoman_lab.reasoning.theories.datasets import Example as Record
from dragoman_lab.reasoning.theories.datasets import half_negated, leap_of_thought

ANY = "*"
TUNING_SEEDS = 1_000_000
"""Theories for tuning begin at this seed; those to learn from stay below."""


@dataclass(frozen=True)
class StatementSources:
    """The table `[sources]` of a configuration of `dragoman train qa` with `task = "statements"`."""

    theories: int = 0
    tuning_theories: int = 100
    depth: int = 3
    """Theories have depths 0 to this one, as many of each."""
    statements: int = 4
    """The most statements of a theory."""
    mixes: list[str] = field(default_factory=lambda: ["en"])
    """One is drawn for each theory: a language, or those of context and statement as `en-fr`; `*` is any."""
    leap_of_thought: list[str] = field(default_factory=list)
    """Files of LeapOfThought, of which half is negated."""
    tables: str = ""
    """Folder of tables `en-<language>.tsv`, by which statements and facts of LeapOfThought are switched."""
    switched: list[str] = field(default_factory=list)
    """Mixes for LeapOfThought, as `mixes`; without them it stays English."""
    seed: int = 1

    @classmethod
    def parse(cls, table: Mapping[str, Any], data: Path | None) -> StatementSources:
        """
        Raises:
            ConfigError: an unknown or impossible field.
        """
        try:
            check_fields(cls, table)
        except ConfigError as error:
            raise ConfigError(f"sources: {error}") from error
        found = cls(**table)
        if not 0 <= found.depth <= DEEPEST:
            raise ConfigError(f"sources: depth must lie between 0 and {DEEPEST}")
        for name, least in (("theories", 0), ("tuning_theories", 0), ("statements", 1), ("seed", 0)):
            if getattr(found, name) < least:
                raise ConfigError(f"sources: {name} must be at least {least}")
        if found.seed + found.theories > TUNING_SEEDS:
            raise ConfigError(f"sources: seed and theories together must be at most {TUNING_SEEDS}")
        if not found.mixes:
            raise ConfigError("sources: mixes must name one at least")
        for mix in [*found.mixes, *found.switched]:
            if not all(one == ANY or one in LANGUAGES for one in mix.split("-")) or mix.count("-") > 1:
                raise ConfigError(
                    f"sources: {mix!r} is not a language or a pair of them; known: {', '.join(LANGUAGES)}"
                )
        return replace(found, leap_of_thought=[str((data or Path()) / one) for one in found.leap_of_thought])


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
            write_examples(path, counted(theories(range(first, first + count), sources), step))
    path = examples / "leap_of_thought.jsonl.gz"
    if sources.leap_of_thought and not path.exists():
        write_examples(path, counted(leaps(sources), step))


def theories(seeds: Sequence[int], sources: StatementSources) -> Iterator[Example]:
    """Statements of one theory for each seed."""
    for seed in seeds:
        noise = random.Random(f"statements {sources.seed} {seed}")
        puzzle = generate(seed, seed % (sources.depth + 1))
        context_language, statement_language = drawn(noise.choice(sources.mixes), noise)
        yield from statements(puzzle, seed, context_language, statement_language, sources.statements)


def drawn(mix: str, noise: random.Random) -> tuple[str, str]:
    """The languages of context and statement of a mix: `en`, `en-fr`, `*-en`; two of one mix differ."""
    names = mix.split("-")
    chosen: list[str] = []
    for name in names:
        chosen.append(name if name != ANY else noise.choice([one for one in LANGUAGES if one not in [*names, *chosen]]))
    return chosen[0], chosen[-1]


def statements(
    puzzle: Puzzle, order: int, context_language: str, statement_language: str, most: int
) -> Iterator[Example]:
    """The first statements of a theory, with the sentences that decide them."""
    parts, sentences = ordered(puzzle.theory, order), render(puzzle.theory, context_language, order)
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
            records = list(half_negated(leap_of_thought(Path(path)), sources.seed))
        except ValueError as error:
            raise ConfigError(f"sources: leap_of_thought: {path}: {error}") from error
        for record in records:
            noise = random.Random(f"leap {sources.seed} {record.id}")
            mix = noise.choice(sources.switched) if sources.switched else "en"
            yield leap(record, *drawn(mix, noise), switch, noise)


def leap(
    record: Record, context_language: str, statement_language: str, switch: Switch, noise: random.Random
) -> Example:
    """A statement of LeapOfThought and its facts, word by word in other languages, and the fact that supports it."""
    statement = switch.text(record.statement, statement_language, noise)
    known, support = record.support is not None, list(record.support or ())
    context, places = switch.marked(record.context, context_language, noise, support)
    return Example(statement, context, statement_language, context_language, places, record.label, known=known)
