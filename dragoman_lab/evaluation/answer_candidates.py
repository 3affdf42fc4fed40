"""Lists of candidates from question answering: a passage is relevant that holds the answer, as people marked it.

Unlike the labels of weak supervision, these do not repeat what a table or the first stage knows. Questions and
passages are in one language; word by word, one side is put into another language by tables (`switched_by`), while links
and the first stage use others (`linked_by`), so that the model meets words that no link explains. The other candidates
are passages of the same document, the best of psq and of a dense ranking, and random ones.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.text.passages import Span, sentences
from dragoman.ranking.limits import DOCUMENT_SUBWORDS
from dragoman_lab.backbone.config import ConfigError, ConfigTable
from dragoman_lab.evaluation.benchmark import BenchmarkError, json_lines, text_lines
from dragoman_lab.evaluation.candidates import Progress, Writer, words_of
from dragoman_lab.evaluation.local_service import LocalService
from dragoman_lab.evaluation.qa_examples import TRADITIONAL, Switch, switch_words

LONGEST_SENTENCE = 1000
"""Longer ones, in characters, are cut."""
RANKED = 100
"""How many passages of the first stage get their scores."""

ENDINGS = (".contexts.jsonl.gz", ".jsonl.gz", ".tsv.gz")
"""Of the files of a set: contexts and questions, or questions and sentences."""

logger = logging.getLogger("dragoman")


class AnswerSource(ConfigTable):
    """Questions with answers, and how lists are made of them; an entry of `[[sources.answers]]`."""

    sets: Annotated[list[str], Field(min_length=1)]
    """Data sets below the data folder, such as `qa/piaf.fr`: `<set>.jsonl.gz` with `<set>.contexts.jsonl.gz`, or
    `<set>.tsv.gz` (question TAB the sentence that answers). A name ends with the language."""
    name: str = ""
    """Part of the names of the lists, to tell entries with the same sets apart."""
    switched_by: str = ""
    """Folder of the tables by which texts are put into other languages: `en-<language>.tsv`, or if there is none
    `en-<language>.dictionary.tsv`. Empty: lists are in the set's own language alone."""
    linked_by: str = ""
    """Folder of the tables of links and of the first stage; default: `tables` of the sources."""
    languages: list[str] = Field(default_factory=list)
    """The languages to pair with English; empty: those of the sources."""
    own_language: bool = False
    """With `switched_by`: make lists in the set's own language, too."""
    subwords: Annotated[int, Field(ge=0, le=DOCUMENT_SUBWORDS)] = 0
    """Split contexts into passages of whole sentences, of at most this many subwords or one sentence; 0: do not."""
    questions: NonNegativeInt = 2_000
    """The most questions of each set and direction; 0 for all."""
    same_document: NonNegativeInt = 4
    """Candidates from the document of a relevant passage: contexts of one title, or passages of one context."""
    first_stage: NonNegativeInt = 6
    """Candidates from the best of psq."""
    dense: NonNegativeInt = 0
    """Candidates from the best by sentence vectors of `dense_encoder`, in the set's own language."""
    dense_encoder: str = ""
    random: NonNegativeInt = 4
    """Candidates from all passages."""

    def check(self) -> None:
        if not self.same_document + self.first_stage + self.dense + self.random:
            raise ConfigError("there must be other candidates than relevant ones")
        if bool(self.dense) != bool(self.dense_encoder):
            raise ConfigError("dense and dense_encoder need each other")
        if self.own_language and not self.switched_by:
            raise ConfigError("own_language: without switched_by there is no other language")

    def directions(self, path: str, languages: list[str]) -> list[tuple[str, str]]:
        """The languages of queries and documents of a set's lists.

        Raises:
            ConfigError: if the set's language is not one of `languages`, which are paired with English.
        """
        set_language = language_of(path)
        if not self.switched_by:
            return [(set_language, set_language)]
        paired = self.languages or languages
        if set_language not in ("en", *paired):
            raise ConfigError(
                f"sources: answers: sets: {path} is in {set_language}, and languages are {', '.join(paired)}"
            )
        others = paired if set_language == "en" else [set_language]
        pairs = [pair for other in others for pair in (("en", other), (other, "en"))]
        return [*pairs, *([(set_language, set_language)] if self.own_language else [])]

    def folder(self, path: str, source: str, target: str) -> str:
        """The name of the folder of a set's lists in a direction."""
        parts = [Path(path).name, self.name, str(self.subwords or ""), source, target]
        return "-".join(part for part in parts if part)


def language_of(path: str) -> str:
    """The language at the end of a set's name."""
    language = path.rpartition(".")[2]
    return TRADITIONAL.get(language, language)


@dataclass(frozen=True)
class Question:
    """A question, the passages that hold an answer, and the answers."""

    name: str
    text: str
    relevant: frozenset[str]
    answers: frozenset[str] = frozenset()


@dataclass
class AnswerSet:
    """The passages of a set by id, the document of each, and the questions that a passage answers."""

    path: str
    language: str
    passages: dict[str, str]
    documents: dict[str, str]
    questions: list[Question]

    @cached_property
    def by_document(self) -> dict[str, list[str]]:
        """The passages of each document."""
        groups: dict[str, list[str]] = {}
        for key, document in self.documents.items():
            groups.setdefault(document, []).append(key)
        return groups

    def may_answer(self, key: str, question: Question) -> bool:
        """Whether a passage is relevant, or holds the words of an answer somewhere."""
        text = self.passages[key].casefold()
        return key in question.relevant or any(answer in text for answer in question.answers)


def read_answers(path: str, encoder: Encoder, subwords: int) -> AnswerSet:
    """Read a set, with passages of at most `subwords` subwords or one sentence (0: whole contexts).

    Questions without an answer are left out, as are those whose answer lies across passages, or in one that is longer
    than what is read; a warning says how many.

    Raises:
        BenchmarkError: a line that cannot be used.
        ConfigError: the set is missing.
    """
    contexts, questions, lines = (Path(path + end) for end in ENDINGS)
    answer_set = AnswerSet(path, language_of(path), {}, {}, [])
    if questions.exists() and contexts.exists():
        left_out = _read_contexts(answer_set, contexts, questions, encoder, subwords)
    elif lines.exists():
        left_out = _read_sentences(answer_set, lines, encoder)
    else:
        raise ConfigError(f"sources: answers: sets: neither {questions} and {contexts} nor {lines} exist")
    for reason, count in left_out.items():
        logger.warning("%s: %d questions left out: %s", path, count, reason)
    if not answer_set.questions:
        raise BenchmarkError(f"{path}: has no question that a passage answers")
    return answer_set


def _read_contexts(
    answer_set: AnswerSet, contexts: Path, questions: Path, encoder: Encoder, subwords: int
) -> Counter[str]:
    texts: dict[str, str] = {}
    spans: dict[str, list[tuple[str, Span, bool]]] = {}
    for row in json_lines(contexts):
        if row["id"] in texts:
            raise BenchmarkError(f"{contexts}: the id {row['id']} is there twice")
        texts[row["id"]] = row["text"]
        context_parts = spans.setdefault(row["id"], [])
        for index, (span, whole) in enumerate(parts(row["text"], encoder, subwords)):
            key = f"{row['id']}#{index}"
            context_parts.append((key, span, whole))
            answer_set.passages[key] = row["text"][slice(*span)]
            answer_set.documents[key] = str(row.get("title") or row["id"])
    left_out: Counter[str] = Counter()
    for row in json_lines(questions, ("id", "question", "context_id")):
        where = f"{questions}: {row['id']}"
        if row["context_id"] not in texts:
            raise BenchmarkError(f"{where}: context_id: {row['context_id']} is not in {contexts}")
        places = _places(row, texts[row["context_id"]], where)
        held = [
            part for part in spans[row["context_id"]] if any(part[1][0] <= a and b <= part[1][1] for a, b in places)
        ]
        relevant = frozenset(key for key, _, whole in held if whole)
        if relevant:
            answers = frozenset(texts[row["context_id"]][a:b].casefold() for a, b in places)
            answer_set.questions.append(Question(row["id"], row["question"], relevant, answers))
        elif held:
            left_out[f"the passage is longer than the {DOCUMENT_SUBWORDS} subwords that are read"] += 1
        else:
            left_out["the answer lies across passages" if places else "there is no answer"] += 1
    return left_out


def _places(row: Mapping[str, Any], text: str, where: str) -> list[Span]:
    """Where the answers of a question are in its context."""
    spans = []
    answers = row.get("answers")
    for annotation in answers if isinstance(answers, list) else [None]:
        try:
            start, answer = int(annotation["start"]), str(annotation["text"])  # type: ignore[index]
        except (TypeError, KeyError, ValueError):
            raise BenchmarkError(f'{where}: answers: needs a list of objects with "text" and "start"') from None
        if not answer or start < 0 or text[start : start + len(answer)] != answer:
            raise BenchmarkError(f"{where}: answers: {answer!r} is not in the context at {start}")
        spans.append((start, start + len(answer)))
    return spans


def _read_sentences(answer_set: AnswerSet, lines: Path, encoder: Encoder) -> Counter[str]:
    left_out: Counter[str] = Counter()
    keys: dict[str, str] = {}
    for line_number, line in text_lines(lines):
        columns = [column.strip() for column in line.rstrip("\r\n").split("\t")]
        if len(columns) != 2 or not all(columns):
            raise BenchmarkError(f"{lines}:{line_number}: needs a question, a tab and the sentence that answers")
        question, sentence = columns
        key = keys.setdefault(sentence, f"s{line_number}")
        answer_set.passages[key], answer_set.documents[key] = sentence, key
        if len(encoder.subwords([sentence])[0].ids) > DOCUMENT_SUBWORDS:
            left_out[f"the passage is longer than the {DOCUMENT_SUBWORDS} subwords that are read"] += 1
        else:
            answer_set.questions.append(Question(f"q{line_number}", question, frozenset([key])))
    return left_out


def parts(text: str, encoder: Encoder, subwords: int) -> list[tuple[Span, bool]]:
    """Consecutive parts of whole sentences, of at most `subwords` subwords or one sentence; 0: the text as it is.

    With each part comes whether all of it is read.
    """
    spans = sentences(text, LONGEST_SENTENCE) if subwords else [(0, len(text))]
    lengths = [len(encoded.ids) for encoded in encoder.subwords([text[start:end] for start, end in spans])]
    joined: list[tuple[Span, int]] = []
    for (start, end), length in zip(spans, lengths, strict=True):
        if joined and joined[-1][1] + length <= subwords:
            (first, _), before = joined.pop()
            joined.append(((first, end), before + length))
        else:
            joined.append(((start, end), length))
    return [(span, length <= DOCUMENT_SUBWORDS) for span, length in joined]


class Dense:
    """Passages of a set by the cosine of their sentence vectors with a question's, in the set's own language."""

    def __init__(self, encoder: SentenceEncoder, answer_set: AnswerSet) -> None:
        self._encoder, self._answer_set, self._keys = encoder, answer_set, list(answer_set.passages)

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        return self._encoder.encode(list(self._answer_set.passages.values()), "passage")

    def rank(self, question: str, most: int) -> list[str]:
        """The ids of the best `most` passages, best first."""
        scores = self._vectors @ self._encoder.encode([question], "query")[0]
        return [self._keys[index] for index in np.argsort(-scores, kind="stable")[:most]]


class AnswerLists:
    """Makes the lists of an entry; a set is read, and its passages encoded, once for all languages."""

    def __init__(self, entry: AnswerSource, encoder: Encoder) -> None:
        self._entry, self._encoder = entry, encoder
        self.switch = Switch(Path(entry.switched_by), [], "answers: switched_by") if entry.switched_by else None
        self._sets: dict[str, AnswerSet] = {}
        self._dense: dict[str, Dense] = {}

    def _read(self, path: str) -> tuple[AnswerSet, Dense | None]:
        if path not in self._sets:
            self._sets[path] = read_answers(path, self._encoder, self._entry.subwords)
        if not self._entry.dense:
            return self._sets[path], None
        if path not in self._dense:
            self._dense[path] = Dense(self._sentences, self._sets[path])
        return self._sets[path], self._dense[path]

    @cached_property
    def _sentences(self) -> SentenceEncoder:
        return SentenceEncoder(load_encoder(self._entry.dense_encoder))

    def write(
        self,
        service: LocalService,
        path: str,
        source: str,
        target: str,
        *,
        seed: int,
        folder: Path,
        made_from: str,
        step: Progress,
    ) -> None:
        """Write the lists of a set's questions, in `source`, over all its passages, in `target`.

        Raises:
            BenchmarkError: a line of the set that cannot be used.
            ConfigError: a set or a table that is missing.
        """
        answer_set, dense = self._read(path)
        noise = random.Random(f"{seed} {Path(path).name} {source} {target}")
        passages = {key: self._put(text, answer_set, target, noise) for key, text in answer_set.passages.items()}
        most = min(self._entry.questions or len(answer_set.questions), len(answer_set.questions))
        queries, documents = analysis(source), analysis(target)
        writer = Writer(self._encoder, self._encoder.tokenizer_checksum, source, target, service.view(source, target))
        with service.collection(target, passages) as collection:
            for question in noise.sample(answer_set.questions, most):
                text = self._put(question.text, answer_set, source, noise)
                scores = dict(service.rank(text, source, collection, "psq", RANKED))
                near = dense.rank(question.text, RANKED) if dense else []
                others = _others(answer_set, question, self._entry, list(scores), near, noise)
                candidates = [
                    (key, scores.get(key, 0.0), key in question.relevant) for key in [*question.relevant, *others]
                ]
                writer.add(
                    question.name,
                    (text, queries.tokens(text)),
                    sorted(candidates, key=lambda candidate: (-candidate[1], candidate[0])),
                    lambda key: (passages[key], words_of(documents.tokens(passages[key]))),
                    len(question.relevant),
                )
                step()
        writer.write(folder, made_from)

    def _put(self, text: str, answer_set: AnswerSet, language: str, noise: random.Random) -> str:
        """A text of a set in a language, word by word if that is not the set's own."""
        if language == answer_set.language:
            return text
        assert self.switch is not None
        return switch_words(
            text, answer_set.language, self.switch.table(answer_set.language, language), noise, 1.0, []
        )[0]


def _others(
    answer_set: AnswerSet,
    question: Question,
    entry: AnswerSource,
    ranked: list[str],
    near: list[str],
    noise: random.Random,
) -> list[str]:
    """Other candidates of a question: of the same document, of each ranking, and random ones.

    Passages that may answer, too, are left out.
    """
    chosen: dict[str, None] = {}

    def take(keys: Iterable[str], count: int) -> None:
        for key in keys if count else ():
            if key not in chosen and not answer_set.may_answer(key, question):
                chosen[key] = None
                count -= 1
            if not count:
                return

    same = sorted(
        {key for relevant in question.relevant for key in answer_set.by_document[answer_set.documents[relevant]]}
    )
    take(noise.sample(same, len(same)), entry.same_document)
    take(ranked, entry.first_stage)
    take(near, entry.dense)
    passages = list(answer_set.passages)
    take((noise.choice(passages) for _ in range(20 * entry.random)), entry.random)
    return list(chosen)
