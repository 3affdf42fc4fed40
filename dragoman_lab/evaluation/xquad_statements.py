"""Statements over the paragraphs of XQuAD-R, with what each paragraph makes of them: true, false or unknown.

A statement is a question with its answer put in (`declarative`), or the sentence of the paragraph that has the answer.
True ones keep the answer. False ones have another answer of the same article in its place, of the same type: with
digits or without, in English with a capital or without. Unknown ones are true by another paragraph than the one that is
read, as often of the same article as of another. Of 20 questions eight make a true statement, eight a false one and
four an unknown one, as far as that can be made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman_lab.evaluation.benchmark import json_lines, part_of
from dragoman_lab.reasoning.declarative import make_statement

__all__ = ["LANGUAGES", "XquadStatement", "read_statements"]

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ru", "th", "tr", "vi", "zh")
_SHIFT = 7
"""By so many questions each pair of languages is further on."""
_LABELS = ("true", "false", "true", "false", "unknown")
Row = dict[str, Any]


@dataclass(frozen=True)
class XquadStatement:
    """A statement in one language, a text in one, and the label that is right."""

    id: str
    statement: str
    language: str
    text: str
    text_language: str
    label: str
    article: str
    form: str
    """``question`` or ``sentence``: what it was made of."""

    @property
    def across(self) -> bool:
        """Whether statement and text are in two languages."""
        return self.language != self.text_language

    @property
    def stands(self) -> bool:
        """Whether the text has it word for word."""
        return self.statement in self.text


class _Xquad:
    """The questions of one split in all languages, by id, and the paragraphs by their id without the language."""

    def __init__(self, folder: Path, split: str, languages: Sequence[str]) -> None:
        self.rows: dict[str, dict[str, Row]] = {}
        self.paragraphs: dict[str, dict[str, str]] = {}
        self.sentences: dict[str, dict[str, list[str]]] = {}
        for language in languages:
            rows = json_lines(folder / "queries" / f"{language}.jsonl.gz")
            self.rows[language] = {row["qid"]: row for row in rows if part_of(row) == split}
            self.paragraphs[language] = {
                _place(row["id"]): row["text"]
                for row in json_lines(folder / "corpus" / f"paragraph.{language}.jsonl.gz")
            }
            of_paragraphs: dict[str, list[str]] = {}
            for row in json_lines(folder / "corpus" / f"sentence.{language}.jsonl.gz"):
                of_paragraphs.setdefault(_place(row["para"]), []).append(row["text"])
            self.sentences[language] = of_paragraphs
        common = set.intersection(*(set(rows) for rows in self.rows.values()))
        self.ids = sorted(common, key=lambda key: (self.rows["en"][key]["para"], key))

    def kind(self, key: str) -> str:
        """The type of an answer, by its English form."""
        answer = self.rows["en"][key]["answer"].strip()
        if any(character.isdecimal() for character in answer):
            return "number"
        return "name" if answer[:1].isupper() else "other"

    def others(self, key: str) -> list[str]:
        """Questions of the same article whose answers have the same type, of the same paragraph first."""
        para = _place(self.rows["en"][key]["para"])
        article = para.split("-")[0]
        near = [
            other
            for other in self.ids
            if other != key
            and _place(self.rows["en"][other]["para"]).startswith(article)
            and self.kind(other) == self.kind(key)
        ]
        return sorted(near, key=lambda other: (_place(self.rows["en"][other]["para"]) != para, other))


def read_statements(
    folder: Path, split: str, count: int, languages: Sequence[str] = LANGUAGES, offset: int = 0
) -> Iterator[XquadStatement]:
    """Statements of each language with itself, so many of each, and as many between English and another one.

    Those of 11 languages with themselves are as many as those of 20 pairs of two. With another ``offset`` the questions
    are others.
    """
    xquad = _Xquad(folder, split, sorted({*languages, "en"}))
    pairs = [(language, language) for language in LANGUAGES]
    pairs += [pair for language in LANGUAGES if language != "en" for pair in (("en", language), (language, "en"))]
    for shift, (language, text_language) in enumerate(pairs):
        if not {language, text_language} <= set(languages):
            continue
        share = 1.0 if language == text_language else len(LANGUAGES) / (2 * len(LANGUAGES) - 2)
        chosen = _spread(xquad.ids, round(count * share), shift * _SHIFT + offset)
        for position, key in enumerate(chosen):
            statement = _make(xquad, key, position, language, text_language)
            if statement is not None:
                yield statement


def _spread(ids: Sequence[str], count: int, shift: int) -> list[str]:
    """Evenly spaced ones, others for each pair of languages."""
    step = len(ids) / min(count, len(ids))
    return [ids[(int(place * step) + shift) % len(ids)] for place in range(min(count, len(ids)))]


def _make(xquad: _Xquad, key: str, position: int, language: str, text_language: str) -> XquadStatement | None:
    row = xquad.rows[language][key]
    label, place = _LABELS[position % len(_LABELS)], _place(row["para"])
    answer = row["answer"]
    if label == "false":
        other = _other_answer(xquad, key, language)
        if other is None:
            return None
        answer = other
    in_one = language == text_language  # where a sentence that keeps its answer would stand word for word
    form = "question" if in_one or (position // len(_LABELS)) % 2 == 0 else "sentence"
    statement = make_statement(row["text"], answer, language) if form == "question" else None
    if statement is None:
        form, statement = "sentence", _with_answer(xquad, row, language, answer)
    if statement is None:
        return None
    if label == "unknown":
        other_place = _other_paragraph(xquad, place, position // len(_LABELS))
        text = xquad.paragraphs[text_language][other_place]
    else:
        text = xquad.paragraphs[text_language][place]
    name = f"{key}-{language}-{text_language}"
    return XquadStatement(name, statement, language, text, text_language, label, place.split("-")[0], form)


def _other_answer(xquad: _Xquad, key: str, language: str) -> str | None:
    """Another answer of the type, in no part the same in this language or in English."""
    rows, english = xquad.rows[language], xquad.rows["en"]
    sentence = _sentence_of(xquad, rows[key], language) or ""
    for other in xquad.others(key):
        pairs = [(rows[key]["answer"], rows[other]["answer"]), (english[key]["answer"], english[other]["answer"])]
        apart = all(
            first.lower() not in second.lower() and second.lower() not in first.lower() for first, second in pairs
        )
        if apart and rows[other]["answer"] not in sentence:
            return str(rows[other]["answer"])
    return None


def _other_paragraph(xquad: _Xquad, place: str, position: int) -> str:
    places = sorted(xquad.paragraphs["en"])
    articles: dict[str, list[str]] = {}
    for each in places:
        articles.setdefault(each.split("-")[0], []).append(each)
    article = place.split("-")[0]
    if position % 2 == 0 and len(articles[article]) > 1:
        same = articles[article]
        return same[(same.index(place) + 1) % len(same)]
    names = sorted(articles)
    other = articles[names[(names.index(article) + 1 + position) % len(names)]]
    return (
        other[position % len(other)]
        if other[0].split("-")[0] != article
        else places[(places.index(place) + 9) % len(places)]
    )


def _sentence_of(xquad: _Xquad, row: Mapping[str, Any], language: str) -> str | None:
    """The sentence of the paragraph that holds the answer."""
    place = _place(row["para"])
    text, start = xquad.paragraphs[language][place], 0
    for sentence in xquad.sentences[language].get(place, []):
        begin = text.find(sentence, start)
        if begin < 0:
            continue
        start = begin + len(sentence)
        if begin <= row["answer_start"] < start and row["answer"] in sentence:
            return sentence
    return None


def _with_answer(xquad: _Xquad, row: Mapping[str, Any], language: str, answer: str) -> str | None:
    sentence = _sentence_of(xquad, row, language)
    return None if sentence is None else sentence.replace(row["answer"], answer, 1)


def _place(name: str) -> str:
    """An id without its language."""
    return name.split("-", 1)[1]
