"""Makes examples of question answering from data sets of one language, and code-switches them by translation tables."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self

import regex
from pydantic import Field, NonNegativeInt

from dragoman.engine.settings import Settings
from dragoman.files.atomic import atomic_file
from dragoman.files.streams import file_parts
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import content_terms
from dragoman.store.tables.table_reader import read_table
from dragoman_lab.backbone.config import ConfigError, ConfigTable, Share
from dragoman_lab.evaluation.benchmark import json_lines, part_of
from dragoman_lab.evaluation.cloze_examples import clozes, files_with
from dragoman_lab.reasoning.examples import Example, write_examples

Progress = Callable[[], None]
UNLIKELY = 0.05
"""Less probable translations are not used in texts."""
TRADITIONAL = {"zht": "zh"}
MADE_FROM = "sources.json"
"""What the examples of a folder are made from."""


class QaSources(ConfigTable):
    """The table `[sources]` of a configuration of `dragoman train qa`."""

    data: str
    """Folder of `<set>.<language>.jsonl.gz` and `<set>.<language>.contexts.jsonl.gz`."""
    sets: dict[str, NonNegativeInt]
    """The most examples of each set, such as `jaquad.ja`; 0 for all."""
    tables: str
    """Folder of tables `en-<language>.tsv`."""
    languages: Annotated[list[str], Field(min_length=1)]
    """Languages into which English is switched."""
    question_switched: Share = 0.35
    """Share of examples whose question is put into another language."""
    context_switched: Share = 0.3
    """Share of examples whose context is put into another language."""
    unanswerable: Share = 0.1
    """Share of examples whose question meets a neighbouring context without its answer."""
    parallel: str = ""
    """Folder of text parallel to English, of which questions with a gap are made; see `cloze_examples`."""
    parallel_examples: NonNegativeInt = 0
    """The most questions of each of `languages` that are made of parallel text."""
    parallel_without: list[str] = Field(default_factory=list)
    """Beginnings of the names of files that are not used for them."""
    tuning: str = ""
    """Folder of XQuAD-R, of whose questions for tuning some are used."""
    tuning_languages: list[str] = Field(default_factory=list)
    tuning_examples: int = 400
    seed: int = 1

    def check(self) -> None:
        if self.parallel_examples and not self.parallel:
            raise ConfigError("parallel is missing, of which parallel_examples are made")

    @classmethod
    def parse_below(cls, table: Any, folder: Path | None) -> Self:
        """The table `[sources]`, whose files are below `folder`.

        Raises:
            ConfigError: an unknown, missing or impossible field.
        """
        return cls.parse(table, "sources").below(folder, "data", "parallel", "tuning")


def prepare(sources: QaSources, examples: Path, tuning: Path, step: Progress) -> None:
    """Write the missing files of examples; each one appears only when it is complete.

    Raises:
        BenchmarkError: data that cannot be used.
        ConfigError: a set or table that is missing, or a folder with examples of other sources.
    """
    for folder in (examples, tuning):
        claim_folder(sources, folder)
    switch = Switch(Path(sources.tables), sources.languages)
    for name, most in sorted(sources.sets.items()):
        path = examples / f"{name}.jsonl.gz"
        if not path.exists():
            write_examples(path, count_steps(_switch_examples(sources, name, most, switch), step))
    for language in sources.languages if sources.parallel_examples else ():
        path = examples / f"parallel.{language}.jsonl.gz"
        if not path.exists():
            write_examples(path, count_steps(_clozes(sources, language, switch), step))
    path = tuning / "tuning.jsonl.gz"
    if sources.tuning and not path.exists():
        tuning_rows = tuning_examples(
            Path(sources.tuning), sources.tuning_languages, sources.tuning_examples, sources.seed
        )
        write_examples(path, count_steps(tuning_rows, step))


def claim_folder(sources: ConfigTable, folder: Path) -> None:
    """Write into a folder what its examples are made from, or see that it is the same.

    Raises:
        ConfigError: it holds examples of other sources.
    """
    path, made_from = folder / MADE_FROM, sources.model_dump()
    if path.exists() and json.loads(path.read_text(encoding="utf-8")) != made_from:
        raise ConfigError(f"{folder}: its examples were made from other sources: remove them, or choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as unfinished:
        unfinished.write_text(json.dumps(made_from, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def count_steps(examples: Iterator[Example], step: Progress) -> Iterator[Example]:
    for example in examples:
        step()
        yield example


def dataset(folder: Path, name: str) -> list[Example]:
    """The examples of one set as they are, in the order of their contexts.

    Raises:
        BenchmarkError: a line that cannot be used.
        ConfigError: the set is missing.
    """
    questions, contexts = folder / f"{name}.jsonl.gz", folder / f"{name}.contexts.jsonl.gz"
    for path in (questions, contexts):
        if not path.exists():
            raise ConfigError(f"sources: sets: {path} is missing")
    language = name.rpartition(".")[2]
    language = TRADITIONAL.get(language, language)
    texts = {row["id"]: row["text"] for row in json_lines(contexts)}
    examples = []
    for row in json_lines(questions, ("question", "context_id")):
        answers = [(answer["start"], answer["start"] + len(answer["text"])) for answer in row["answers"]]
        examples.append(Example(row["question"], texts[row["context_id"]], language, language, answers))
    return examples


def _switch_examples(sources: QaSources, name: str, most: int, switch: Switch) -> Iterator[Example]:
    noise = random.Random(f"{sources.seed} {name}")
    examples = dataset(Path(sources.data), name)
    chosen = sorted(noise.sample(range(len(examples)), min(most or len(examples), len(examples))))
    for index in chosen:
        example = examples[index]
        if example.answers and noise.random() < sources.unanswerable:
            example = _make_unanswerable(examples, index, noise)
        drawn = noise.random()
        if drawn < sources.question_switched:
            example = switch.question(example, noise)
        elif drawn < sources.question_switched + sources.context_switched:
            example = switch.context(example, noise)
        yield example


def _clozes(sources: QaSources, language: str, switch: Switch) -> Iterator[Example]:
    files = files_with(Path(sources.parallel), language, sources.parallel_without)
    return clozes(files, language, switch.table("en", language), sources.parallel_examples, sources.seed)


def _make_unanswerable(examples: list[Example], index: int, noise: random.Random) -> Example:
    """A question with the nearest other context that lacks its answers."""
    example = examples[index]
    texts = {example.context[start:end].lower() for start, end in example.answers}
    direction = noise.choice((1, -1))
    for distance in range(1, 200):
        other = examples[(index + direction * distance) % len(examples)].context
        if other != example.context and not any(text in other.lower() for text in texts):
            return replace(example, context=other, answers=[])
    return example


def tuning_examples(
    folder: Path, languages: Sequence[str], count: int, seed: int, split: str = "tune"
) -> Iterator[Example]:
    """Questions of XQuAD-R over their paragraphs: half in one language, half in two, one of them English or any."""
    noise = random.Random(seed)
    questions: dict[str, dict[str, dict[str, Any]]] = {}
    texts: dict[str, str] = {}
    for language in languages:
        rows = json_lines(folder / "queries" / f"{language}.jsonl.gz")
        questions[language] = {row["qid"]: row for row in rows if part_of(row) == split}
        texts |= {row["id"]: row["text"] for row in json_lines(folder / "corpus" / f"paragraph.{language}.jsonl.gz")}
    ids = sorted(set.intersection(*(set(by_id) for by_id in questions.values())))
    for index in range(count):
        target = languages[index % len(languages)]
        source = (
            target
            if index // len(languages) % 2
            else noise.choice([language for language in languages if language != target])
        )
        if source != target and noise.random() < 0.5:
            source, target = ("en", target) if target != "en" else (source, "en")
        key = noise.choice(ids)
        answer = questions[target][key]
        start = answer["answer_start"]
        span = [(start, start + len(answer["answer"]))]
        yield Example(questions[source][key]["text"], texts[answer["para"]], source, target, span)


class Switch:
    """Puts texts into other languages, word by word by translation tables with English."""

    def __init__(self, tables: Path, languages: list[str], field: str = "tables") -> None:
        """`tables` is the folder that the sources name in `field`."""
        self._folder, self._languages, self._tables, self._field = tables, languages, dict[str, Table](), field

    def text(self, text: str, target: str, noise: random.Random) -> str:
        """An English text in another language, or as it is."""
        return self.text_with_spans(text, target, noise, [])[0]

    def text_with_spans(
        self, text: str, target: str, noise: random.Random, spans: list[tuple[int, int]]
    ) -> tuple[str, list[tuple[int, int]]]:
        """An English text in another language, or as it is, and the places of its spans there."""
        return (
            (text, spans) if target == "en" else switch_words(text, "en", self.table("en", target), noise, 1.0, spans)
        )

    def question(self, example: Example, noise: random.Random) -> Example:
        """The example with its question in another language: of English, any one; of others, English."""
        target = noise.choice(self._languages) if example.question_language == "en" else "en"
        table = self.table(example.question_language, target)
        text, _ = switch_words(example.question, example.question_language, table, noise, 1.0, [])
        return replace(example, question=text, question_language=target)

    def context(self, example: Example, noise: random.Random) -> Example:
        """The example with half to all words of its context in another language: of English, any one; of others, it.

        The question of another language stays as people asked it; half of the English ones go along.
        """
        language = example.context_language
        target = noise.choice(self._languages) if language == "en" else "en"
        table = self.table(language, target)
        text, answers = switch_words(example.context, language, table, noise, noise.uniform(0.5, 1.0), example.answers)
        example = replace(example, context=text, answers=answers, context_language=target)
        if language == "en" and noise.random() < 0.5:
            question, _ = switch_words(example.question, "en", table, noise, 1.0, [])
            example = replace(example, question=question, question_language=target)
        return example

    def table(self, source: str, target: str) -> Table:
        """The table of English and another language, in either direction.

        Raises:
            ConfigError: it is missing.
        """
        other = target if source == "en" else source
        if other not in self._tables:
            self._tables[other] = read_table(file_parts(self.path(other)), "en", other, "tsv", Settings.load()).table
        table = self._tables[other]
        return table if source == "en" else table.inverse()

    def path(self, language: str) -> Path:
        """The file of a language's table: the one that was trained, or without it the dictionary.

        Raises:
            ConfigError: neither is there.
        """
        paths = [self._folder / f"en-{language}{kind}.tsv" for kind in ("", ".dictionary")]
        usable = next((path for path in paths if path.exists()), None)
        if usable is None:
            raise ConfigError(f"sources: {self._field}: {paths[0]} is missing")
        return usable


def switch_words(
    text: str, language: str, table: Table, noise: random.Random, share: float, spans: list[tuple[int, int]]
) -> tuple[str, list[tuple[int, int]]]:
    """A text with a share of its words translated, and the places of `spans` in it.

    A word across the boundary of a span stays, so that each span's text is the translation of its words. Where words
    are not separated by spaces, as in Chinese, translated ones are.
    """
    within = {place for span in spans for place in span}
    starts, ends = dict[int, int](), dict[int, int]()
    done = ""
    for start, end, word in _segments(text, language, table, noise, share, within):
        new = text[start:end] if word is None else word
        if _INSIDE_WORD.match(done[-1:]) and _INSIDE_WORD.match(new):
            done += " "
        for place in within:
            if start <= place < end:
                starts[place] = len(done) + place - start
            if start < place <= end:
                ends[place] = len(done) + (place - start if word is None else len(new))
        done += new
    return done, [(starts[start], ends[end]) for start, end in spans]


_INSIDE_WORD = regex.compile(r"[\p{L}\p{N}\p{M}]")


def _segments(
    text: str, language: str, table: Table, noise: random.Random, share: float, within: Set[int]
) -> Iterator[tuple[int, int, str | None]]:
    """The text from beginning to end in segments: translated words, and what is between them, which stays (None)."""
    at = 0
    for token in content_terms(analysis(language).tokens(text), language):
        likely = [
            translation for translation in table.translations(token.word, best=4) if translation.p_forward >= UNLIKELY
        ]
        if not likely or noise.random() >= share or any(token.start < place < token.end for place in within):
            continue
        word = noise.choices(
            [translation.term for translation in likely], [translation.p_forward for translation in likely]
        )[0]
        if text[token.start].isupper():
            word = word[:1].upper() + word[1:]
        if at < token.start:
            yield at, token.start, None
        yield token.start, token.end, word
        at = token.end
    if at < len(text):
        yield at, len(text), None
