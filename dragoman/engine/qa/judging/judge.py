"""A statement judged by texts: by rules where they decide, else by how alike it is to the best sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman.checking.amounts import compare_amounts
from dragoman.deadline import check_each
from dragoman.engine.core.priority import wait_limit
from dragoman.engine.models.encoding import EncodedQuery
from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.tasks import Encode
from dragoman.engine.qa.judging.denials import is_opposed
from dragoman.engine.qa.judging.evidence import Candidate, Features, choose_best, describe, rule_amounts
from dragoman.engine.qa.judging.frames import Frame, find_frames
from dragoman.engine.qa.judging.rules import Ruling, compare_texts, exchanges_words
from dragoman.engine.qa.judging.weights import Label, Weights
from dragoman.engine.qa.judging.words import AnalysedText, Linker
from dragoman.engine.qa.texts import SourceText
from dragoman.lexicon.text.passages import sentences

__all__ = ["Comparison", "Judge", "Sentence", "Verdict", "decide"]

COMPARED = 32
"""Sentences whose meaning is compared: of more, those that have most of the statement's words."""
LONGEST = 1_000
"""Code points of a sentence; a longer one is cut."""
_SENTENCES = 8
"""Of a statement; it is compared with as many of a text in a row."""
_QUESTION = ("?", "？", "؟", "՞", "⁇")
_GREEK_QUESTION = ";"
_LINES = 8
"""Of a text, that are read as one sentence."""
_NEAR = 0.5
"""Of sentences that have less of a statement's words, names are not compared by sound."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or as many in a row as a statement has: ``[start:end]`` of the text of this number."""

    text: int
    index: int
    start: int
    end: int
    analysed: AnalysedText
    frame: Frame

    @property
    def is_whole(self) -> bool:
        """Whether it says what it says by itself: no line before goes on with it, or announces it."""
        return self.frame.start == self.start and not self.frame.announced


@dataclass(frozen=True, slots=True)
class Comparison:
    """A statement beside the sentence that says most of it: by a rule, by figures, or by neither."""

    across: bool = False
    """Whether both are in two languages."""
    sentence: Sentence | None = None
    ruling: Ruling | None = None
    features: Features | None = None
    opposed: bool = False
    """Whether one of both denies, or has other words in one place, or a colon announces the sentence."""
    rules_alone: bool = False
    """Whether there were no figures to be had, as the encoder has no states to compare."""

    @property
    def is_true(self) -> bool:
        """Whether a rule says so."""
        return self.ruling is not None and self.ruling.label == "true"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A label, its probability, and the sentence that decides; none of a statement that is unknown."""

    label: Label
    probability: float
    sentence: Sentence | None = None


class Judge:
    """Compares statements with texts. Safe from any thread."""

    def __init__(self, models: Models, seconds: float) -> None:
        """``seconds`` is how long the models may take."""
        self._models, self._seconds = models, seconds

    def compare(
        self,
        statement: str,
        language: str,
        texts: Sequence[SourceText],
        linker: Linker,
        cancelled: Cancelled | None = None,
    ) -> Comparison:
        """A statement beside what texts say of it.

        Raises:
            ServiceError: there is no encoder, or the worker was full, too slow or failed, or the client disconnected.
        """
        statement = " ".join(statement.split())  # a line break would end a sentence
        statements: dict[str, AnalysedText] = {}
        for text in texts:
            if text.language not in statements:
                statements[text.language] = linker.analyse(statement, language, text.language)
        candidates = _read_sentences(statement, language, texts, linker)
        if not candidates:
            return Comparison()
        shares = [_share(statements[of.analysed.language], of.analysed, linker) for of in check_each(candidates)]
        if (ruled := _rule(statements, candidates, shares, linker)) is not None and ruled.is_true:
            return ruled
        if (stands := _find_wrapped(statements, candidates)) is not None:
            return stands
        if ruled is not None:
            return ruled
        order = sorted(range(len(candidates)), key=lambda place: (-shares[place], place))
        chosen = [candidates[place] for place in sorted(order[:COMPARED])]
        if self._models.encoder(cancelled).codec is None:
            return Comparison(rules_alone=True)
        encoded = self._encode([statement, *(sentence.analysed.text for sentence in chosen)], cancelled)
        compared = [
            Candidate(sentence.analysed, states, sentence.text, sentence.index)
            for sentence, states in zip(chosen, encoded[1:], strict=True)
        ]
        best, margin = choose_best(encoded[0], compared)
        sentence = chosen[best]
        analysed = statements[sentence.analysed.language]
        features = describe(analysed, encoded[0], compared, best, margin, linker)
        across = language != sentence.analysed.language
        whole = replace(sentence.analysed, text=texts[sentence.text].text[sentence.frame.start : sentence.end])
        opposed = (
            is_opposed(analysed, whole) or sentence.frame.announced or exchanges_words(analysed, sentence.analysed)
        )
        return Comparison(across, sentence, rule_amounts(features) if across else None, features, opposed)

    def _encode(self, texts: Sequence[str], cancelled: Cancelled | None) -> list[EncodedQuery]:
        futures = self._models.worker.submit(Encode(long=True), texts)
        return gather(futures, wait_limit(self._seconds), cancelled)


def decide(comparison: Comparison, weights: Weights) -> Verdict:
    """The label of a comparison. Figures decide only where their probability is high enough."""
    if comparison.ruling is not None:
        ruling = comparison.ruling
        return Verdict(ruling.label, weights.rules[ruling.rule], comparison.sentence)
    if comparison.features is None:
        return Verdict("unknown", 1.0)
    figures = weights.across if comparison.across else weights.same
    label, probability = figures.choose(comparison.features)
    if label == "true" and comparison.opposed:
        label, probability = "unknown", figures.probabilities(comparison.features)["unknown"]
    return Verdict(label, probability, None if label == "unknown" else comparison.sentence)


def _read_sentences(statement: str, language: str, texts: Sequence[SourceText], linker: Linker) -> list[Sentence]:
    """The sentences of all texts, as many in a row as the statement has; questions say nothing."""
    length = min(_SENTENCES, max(1, len(sentences(statement, LONGEST))))
    read = []
    for place, text in enumerate(texts):
        spans = sentences(text.text, LONGEST)
        frames = find_frames(text.text, spans, text.language)
        for index in check_each(range(max(1, len(spans) - length + 1) if spans else 0)):
            start, end = spans[index][0], spans[min(index + length, len(spans)) - 1][1]
            if not _asks(text.text[start:end], text.language):
                analysed = linker.analyse(text.text[start:end], text.language, language)
                read.append(Sentence(place, index, start, end, analysed, frames[index]))
    return read


def _find_wrapped(statements: Mapping[str, AnalysedText], sentences: Sequence[Sentence]) -> Comparison | None:
    """The statement in several lines of a text that breaks them within sentences."""
    for place, first in enumerate(check_each(sentences)):
        statement = statements[first.analysed.language]
        if statement.language != first.analysed.language or not statement.sequence or not first.is_whole:
            continue
        words: list[str] = []
        for last in sentences[place : place + _LINES]:
            words += last.analysed.sequence
            if last.text != first.text or words != statement.sequence[: len(words)]:
                break
            if len(words) == len(statement.sequence):
                text = " ".join(line.analysed.text for line in sentences[place : sentences.index(last, place) + 1])
                if compare_amounts(text, statement.language, statement.text, statement.language):
                    break
                whole = Sentence(first.text, first.index, first.start, last.end, first.analysed, first.frame)
                return Comparison(sentence=whole, ruling=Ruling("true", "stands"))
    return None


def _asks(sentence: str, language: str) -> bool:
    return sentence.endswith(_QUESTION) or (language == "el" and sentence.endswith(_GREEK_QUESTION))


def _share(statement: AnalysedText, sentence: AnalysedText, linker: Linker) -> float:
    linked = linker.links(statement, sentence, sound=False)
    return sum(linked) / len(linked) if linked else 0.0


def _rule(
    statements: Mapping[str, AnalysedText],
    candidates: Sequence[Sentence],
    shares: Sequence[float],
    linker: Linker,
) -> Comparison | None:
    """What a rule says of a statement: true where any sentence says it, else false where one denies it."""
    denied = None
    for candidate, share in check_each(list(zip(candidates, shares, strict=True))):
        statement = statements[candidate.analysed.language]
        if share < _NEAR and statement.words:
            continue
        ruling = compare_texts(statement, candidate.analysed, linker)
        if ruling is None or (ruling.label == "true" and not candidate.is_whole):
            continue
        comparison = Comparison(statement.language != candidate.analysed.language, candidate, ruling)
        if ruling.label == "true":
            return comparison
        denied = denied or comparison
    return denied
