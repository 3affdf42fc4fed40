"""The relevance of hits, a calibrated probability, and whether anything was found: logistic functions of few signals.

The coefficients are fitted by ``python -m dragoman_lab.benchmarks.search.relevance_fit`` to judged questions in several
languages, for each set of signals that a search may have. Neither depends on the page, nor on how many hits are asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import regex

from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.search.relevance.signals import (
    LOOKED_AT,
    SIGNALS,
    Competition,
    Floats,
    WordsOfRankings,
    log_odds,
    ranked_score,
    read_signals,
)
from dragoman.engine.search.request import BY_WORDS
from dragoman.engine.search.response import Found

FITTED = Path(__file__).with_name("fitted.json")
BEST = 10
"""The hits, the first ones, that tell whether anything was found."""
_UNREADABLE = 0.1
"""What relevance is multiplied by where the query has hardly anything that could be a word."""
_LETTERS = regex.compile(r"[\p{L}\p{N}]\p{M}*")
"""Letters and digits with their marks, such as vowel signs: with these one letter may be a word."""
_WORDS = regex.compile(r"[\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}]")
"""Letters that may be a word each."""
_PLACES = {name: place for place, name in enumerate(SIGNALS)}

Coefficients = Mapping[str, float]
"""By the name of a signal, and the intercept."""


class Verdict(NamedTuple):
    """What is said of an answer, and by what the relevance of its hits is multiplied: below 1 where it is none."""

    label: Found
    factor: float


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was fitted for each set of signals, and the thresholds."""

    relevance: Mapping[str, Mapping[str, Coefficients]]
    """That a hit is relevant, for the ``first`` one of its collection and language, and the ``others``."""
    answered: Mapping[str, Coefficients]
    """That there is something relevant, of the signals of the hit that is most probably so."""
    about: Mapping[str, Coefficients]
    """That the best hit has anything to do with the query, as if every other query were random letters."""
    levels: Mapping[str, float]
    """What the ten best others score on average."""
    weak: float
    """A hit below this relevance is weak."""
    good: Mapping[str, float]
    """Something was found where it is answered with this probability, by the signals of the best hit."""
    none: Mapping[str, float]
    """Nothing was, where the best hit has to do with the query less probably than this."""

    def relevances(self, kinds: Sequence[str], signals: Floats) -> Floats:
        """How probably hits are relevant, by their kinds and signals (hits, signals), if the query has an answer."""
        result = np.zeros(len(kinds))
        places = [(kind, "first" if first > 0 else "others") for kind, first in zip(kinds, signals[:, 0], strict=True)]
        for model in set(places):
            chosen = [place == model for place in places]
            result[chosen] = probabilities(self.relevance[model[0]][model[1]], signals[chosen])
        return result

    def judge(self, kinds: Sequence[str], signals: Floats, relevances: Floats | None = None) -> Verdict:
        """What is said of an answer, by its best hits, of which there is one at least; ``relevances`` where known."""
        best = int(np.argmax(self.relevances(kinds, signals) if relevances is None else relevances))
        kind, of_best = kinds[best], signals[best : best + 1]
        factor = probabilities(self.about[kind], of_best).item() / self.none[kind]
        if factor < 1:
            return Verdict("none", factor)
        answered = probabilities(self.answered[kind], of_best).item()
        return Verdict("good" if answered >= self.good[kind] else "weak", 1.0)


@cache
def load_fitted() -> Fitted:
    """What comes with the package."""
    content = json.loads(FITTED.read_text(encoding="utf-8"))
    thresholds = content["weak"], content["good"], content["none"]
    coefficients = content["relevance"], content["answered"], content["about"]
    return Fitted(*coefficients, content["levels"], *thresholds)


def bound(verdict: Verdict, query: str, matched: bool) -> Verdict:
    """What may be said of an answer to a query of hardly any letters, unless documents have its words (``matched``).

    By meaning a sign, such as an emoji, or a letter is near to anything. So nothing is good about the answer, and
    without letters and digits it is none.
    """
    if matched:
        return verdict
    letters = sum(map(len, _LETTERS.findall(query)))
    if not letters:
        return Verdict("none", min(verdict.factor, _UNREADABLE))
    if letters + len(_WORDS.findall(query)) < 2 and verdict.label == "good":
        return Verdict("weak", min(verdict.factor, _UNREADABLE))
    return verdict


def probabilities(coefficients: Coefficients, signals: Floats) -> Floats:
    """The probabilities (documents,) of ``signals`` (documents, signals)."""
    logits = np.full(len(signals), coefficients["intercept"])
    for name, weight in coefficients.items():
        if name != "intercept":
            logits += weight * signals[:, _PLACES[name]]
    result: Floats = 1 / (1 + np.exp(-logits))
    return result


def kind_of(method: str, document: RankedDocument) -> str:
    """The set of signals that a document has, of those that a method may give."""
    kind = method
    if method == "hybrid":
        kind = "psq" if document.dense is None else "hybrid" if document.late is None else "hybrid late"
    return kind if document.rerank is None else f"{kind} rerank"


class _Judged(NamedTuple):
    """Documents, their sets of signals, their signals, and how probably they are relevant if there is an answer."""

    documents: list[RankedDocument]
    kinds: list[str]
    signals: Floats
    relevances: Floats


class Judge:
    """Gives the documents of one search their relevance, after they are ranked; of those that were reranked again."""

    def __init__(self, retrieval: Retrieval) -> None:
        self._retrieval = retrieval
        self._method = retrieval.ranked_by or "psq"
        for document in retrieval.documents:
            document.ranked = ranked_score(document)
        scored = [(document, ranked_score(document)) for document in retrieval.documents[:LOOKED_AT]]
        late = self._method == "hybrid" and bool(scored) and scored[0][0].late is not None
        kind = self._method + (" late" if late else "")
        unmatched = 0.0 if self._method in BY_WORDS else None
        self._ranked = Competition(scored, load_fitted().levels[kind], unmatched)
        self._reranked: Competition | None = None
        self._words = WordsOfRankings(retrieval)
        self._best = retrieval.documents[:BEST]
        self._judged: _Judged | None = None
        self._factor = 1.0

    def note_reranked(self) -> None:
        """The documents have been reranked."""
        self._judged = None
        self._best = self._retrieval.documents[:BEST]
        scored = [
            (document, log_odds(document)) for document in self._retrieval.documents if document.rerank is not None
        ]
        if scored:
            level = load_fitted().levels[kind_of(self._method, scored[0][0])]
            self._reranked = Competition(scored, level, None)

    def judge_answer(self) -> None:
        """Say what the search found, by its best documents."""
        if self._best:
            best = self._read(self._best)
            verdict = load_fitted().judge(best.kinds, best.signals, best.relevances)
            matched = any(document.bm25 is not None and document.bm25.score > 0 for document in self._best)
            self._retrieval.verdict, self._factor = bound(verdict, self._retrieval.query.text, matched)

    def judge(self, documents: Sequence[RankedDocument]) -> tuple[Floats, list[str]]:
        """Give documents their relevance; returns their signals (documents, signals) and the sets of these."""
        judged = self._read(documents)
        relevances = self._factor * judged.relevances
        for document, relevance in zip(documents, relevances.tolist(), strict=True):
            document.relevance = relevance
            document.weak = relevance < load_fitted().weak or self._retrieval.verdict == "none"
        return judged.signals, judged.kinds

    def _read(self, documents: Sequence[RankedDocument]) -> _Judged:
        """The signals of documents; those of the best ones, which are most first pages, are kept."""
        if self._judged is None or list(map(id, documents)) != list(map(id, self._judged.documents)):
            kinds = [kind_of(self._method, document) for document in documents]
            signals = self._read_signals(documents)
            self._judged = _Judged(list(documents), kinds, signals, load_fitted().relevances(kinds, signals))
        return self._judged

    def _read_signals(self, documents: Sequence[RankedDocument]) -> Floats:
        return read_signals(self._retrieval, documents, self._words, self._ranked, self._reranked)
