"""Examples on disk: JSON lines, one question or statement with its context, and the places of answers or evidence."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from dragoman.files.atomic import atomic_file
from dragoman.files.streams import StreamFault, file_parts, lines, unpack

LONGEST_LINE = 4 << 20
T = TypeVar("T")


class ExamplesError(ValueError):
    """Examples that cannot be used; the message names the file and line."""


@dataclass(frozen=True)
class Example:
    """A question or statement, and a context, each in its language.

    `answers` are [start, end) in code points of the context; of a statement, the sentence that decides it.
    """

    question: str
    context: str
    question_language: str
    context_language: str
    answers: list[tuple[int, int]]
    """None of them if the context does not answer."""
    label: bool | None = None
    """Whether a statement is true; None of a question."""
    depth: int | None = None
    """How many rules one must apply, where it is known."""
    known: bool = True
    """Whether `answers` are known."""

    @property
    def bilingual(self) -> bool:
        return self.question_language != self.context_language


@dataclass(frozen=True)
class Completion:
    """A text in its language, and what an English LLM is to answer: a translation, or the solution of a problem."""

    text: str
    language: str
    answer: str


def write_examples(path: Path, examples: Iterable[Example | Completion]) -> int:
    """Write a `.jsonl.gz` file, whole or not at all; returns the number of examples."""
    count = 0
    with (
        atomic_file(path) as unfinished,
        unfinished.open("wb") as plain,
        gzip.GzipFile("", "wb", fileobj=plain, mtime=0) as file,  # without name and time: the same bytes each time
    ):
        for example in examples:
            file.write(json.dumps(asdict(example), ensure_ascii=False).encode() + b"\n")
            count += 1
    return count


def read_examples(path: Path) -> Iterator[Example]:
    """The examples of a file.

    Raises:
        ExamplesError: a line that is no example, or a file that is not readable.
    """
    return read_records(path, _example)


def read_completions(path: Path) -> Iterator[Completion]:
    """The texts and answers of a file.

    Raises:
        ExamplesError: a line that is none, or a file that is not readable.
    """
    return read_records(path, _completion)


def read_records(path: Path, of: Callable[[dict[str, Any]], T]) -> Iterator[T]:
    """What is made of each record of a file of JSON, one a line, plain or gzip.

    Raises:
        ExamplesError: a line that is not of the form, or a file that is not readable; the message names them.
    """
    line_number = 0
    try:
        for line in lines(unpack(file_parts(path)), LONGEST_LINE):
            line_number = line.line_number
            if line.content is None:
                raise ValueError("longer than 4 MiB")
            yield of(json.loads(line.content))
    except (OSError, StreamFault) as error:
        raise ExamplesError(f"{path}: {error}") from error
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ExamplesError(f"{path}: line {line_number}: no example: {error}") from error


def _example(record: dict[str, Any]) -> Example:
    answers = [(int(start), int(end)) for start, end in record.pop("answers")]
    example = Example(**record, answers=answers)
    if not all(0 <= start < end <= len(example.context) for start, end in answers):
        raise ValueError("an answer lies outside of the context")
    return example


def _completion(record: dict[str, Any]) -> Completion:
    completion = Completion(**record)
    if not all(
        isinstance(text, str) and text.strip() for text in (completion.text, completion.language, completion.answer)
    ):
        raise ValueError("text, language and answer must be texts")
    return completion


def files_of(folder: Path) -> list[Path]:
    """The files of examples below a folder, sorted.

    Raises:
        ExamplesError: there are none.
    """
    paths = sorted(folder.rglob("*.jsonl.gz"))
    if not paths:
        raise ExamplesError(f"{folder}: holds no examples (*.jsonl.gz)")
    return paths
