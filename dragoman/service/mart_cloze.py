"""Questions made out of sentences, by taking something out and asking for it.

A rough form of the cloze questions of Lewis, Denoyer and Riedel, "Unsupervised Question Answering by Cloze
Translation" (ACL 2019): no parser and no translation, since what a reranker has to learn from them is what kind of
thing a question word asks for, and that the sentence which answers says more than the question does.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from dragoman.indexes.analysis import analysis
from dragoman.service.benchmark import Benchmark

_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_YEAR = re.compile(r"1\d{3}|20\d\d")
_PLACE = {"in", "at", "from", "near", "to"}
_MONTHS = {
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
}
ASKED = {
    "time": ("When", "When did", "When was", "In what year", "What year", "On what date"),
    "number": ("How many", "How many", "How much", "What is the number of"),
    "place": ("Where", "Where is", "In which country", "In what city", "In which place", "Where was"),
    "name": ("Who", "Who was", "Who is", "What", "What is the name of", "Which"),
    "thing": ("What", "What is", "What kind of", "Which", "What did", "How"),
}
"""Beginnings of questions by what was taken out."""
SENTENCE_WORDS = (8, 45)
KEPT_WORDS = (2, 7)
"""How many of a sentence's words that are no stop words make its question."""


def cloze(task: Benchmark, most: int, noise: random.Random) -> Benchmark:
    """An English benchmark with one made-up question for each document that gives one, at most so many in all."""
    keys = noise.sample(sorted(task.documents), len(task.documents))
    asked = ((key, question(task.documents[key], noise)) for key in keys)
    queries = dict(islice(((key, text) for key, text in asked if text), most))
    return replace(task, queries=queries, qrels={key: {key: 1} for key in queries})


def question(sentence: str, noise: random.Random) -> str | None:
    """A question that an English sentence answers; None if it is too short, too long, or has too little to ask by."""
    words = _WORD.findall(sentence)
    if not SENTENCE_WORDS[0] <= len(words) <= SENTENCE_WORDS[1]:
        return None
    kind, begin, end = _answer(words, noise)
    rest = [(abs(place - begin), place) for place in range(len(words)) if not begin <= place < end]
    telling = [(near, place) for near, place in rest if any(one.term for one in analysis("en").tokens(words[place]))]
    count = min(noise.randint(*KEPT_WORDS), len(telling))
    if count < KEPT_WORDS[0]:
        return None
    # Words near to what was taken out are likelier to be asked by.
    chosen = sorted(telling, key=lambda one: one[0] * noise.random())[:count]
    kept = sorted(place for _, place in chosen)
    between = {place for _, place in rest if kept[0] < place < kept[-1] and noise.random() < 0.4}
    stops = between - {place for _, place in telling}
    said = [words[place] for place in sorted({*kept, *stops})]
    return f"{noise.choice(ASKED[kind])} {' '.join(said)}?"


def _answer(words: list[str], noise: random.Random) -> tuple[str, int, int]:
    """What is taken out: its kind, and its words from the first to before the last."""
    found = list(_answers(words))
    if not found or noise.random() < 0.2:
        begin = noise.randrange(len(words) - 2)
        return "thing", begin, begin + noise.randint(1, 3)
    kinds = sorted({kind for kind, _, _ in found})
    kind = noise.choice(kinds)
    return noise.choice([one for one in found if one[0] == kind])


def _answers(words: list[str]) -> Iterator[tuple[str, int, int]]:
    place = 0
    while place < len(words):
        end = place + 1
        word, before = words[place], words[place - 1].lower() if place else ""
        if _YEAR.fullmatch(word) or word.lower() in _MONTHS - {"may", "march"}:
            begin = place
            while end < len(words) and (words[end].isdigit() or words[end].lower() in _MONTHS):
                end += 1
            yield "time", begin, end
        elif word[0].isdigit():
            yield "number", place, end
        elif place and word[0].isupper():
            while end < len(words) and words[end][0].isupper():
                end += 1
            yield "place" if before in _PLACE else "name", place, end
        place = end
