"""What needs no model: a statement that stands in a text, or that differs from a sentence in one thing alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, get_args

from dragoman.checking.amounts import compare_amounts
from dragoman.engine.qa.judging.denials import deny_apart, differs_by_denial, is_opposed
from dragoman.engine.qa.judging.denying import is_denying
from dragoman.engine.qa.judging.words import AMOUNT, AnalysedText, Linker
from dragoman.indexes.analysis.transliteration import romanise, similarity

__all__ = ["RULES", "Rule", "Ruling", "compare_texts", "exchanges_words", "read_copy"]

Rule = Literal["stands", "amount", "name", "negation", "translated", "translated_amount"]
RULES: tuple[Rule, ...] = get_args(Rule)
_LEAST_SAME = 3
"""Words that must agree beside the one that differs."""
_LEAST_COPIED = 0.6
"""How much of two texts in one language is the same from which on the one is the other with something exchanged."""
_LEAST_COVERAGE = 0.9
"""The share of content words, in both directions, from which on two sentences in two languages say the same."""
_LEAST_WORDS = 4
_SPELLING = 0.6
"""Similarity from which on two names may be spellings of one."""
_LONGEST = 400
"""Words of a sequence that are compared one by one, as that takes time in the square of them."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A label, and the rule that gives it."""

    label: Literal["true", "false"]
    rule: Rule


def compare_texts(statement: AnalysedText, sentence: AnalysedText, linker: Linker) -> Ruling | None:
    """What a sentence decides of a statement for certain; None if nothing."""
    if statement.language == sentence.language:
        return _compare_in_one_language(statement, sentence)
    return _compare_across_languages(statement, sentence, linker)


def _compare_in_one_language(statement: AnalysedText, sentence: AnalysedText) -> Ruling | None:
    said, written = statement.sequence, sentence.sequence
    if not said or max(len(said), len(written)) > _LONGEST:
        return None
    if said == written:
        if [amount.vague for amount in statement.amounts] != [amount.vague for amount in sentence.amounts]:
            return None
        return Ruling("false", "amount") if _mismatches(statement, sentence) else Ruling("true", "stands")
    if _mismatches(statement, sentence):
        return None
    operations = SequenceMatcher(None, said, written, autojunk=False).get_opcodes()
    different = [(said[a:b], written[c:d]) for kind, a, b, c, d in operations if kind != "equal"]
    same = sum(b - a for kind, a, b, _, _ in operations if kind == "equal")
    if differs_by_denial(statement, sentence):
        return Ruling("false", "negation")
    if same < max(_LEAST_SAME, len(written) // 2):
        return None
    if all(_are_other_names(ours, theirs, statement, sentence) for ours, theirs in different):
        return Ruling("false", "name")
    added = [word for ours, theirs in different for word in (*ours, *theirs)]
    if len(added) == 1 and is_denying(added[0], statement.language) and deny_apart(statement, sentence):
        return Ruling("false", "negation")
    return None


def _compare_across_languages(statement: AnalysedText, sentence: AnalysedText, linker: Linker) -> Ruling | None:
    if min(len(statement.words), len(sentence.words)) < _LEAST_WORDS:
        return None
    if not all(
        sum(linked) >= _LEAST_COVERAGE * len(linked)
        for linked in (linker.links(statement, sentence), linker.links(sentence, statement))
    ):
        return None
    if is_opposed(statement, sentence):
        return None
    if not _mismatches(statement, sentence):
        return Ruling("true", "translated")
    return Ruling("false", "translated_amount") if _differs_in_amounts_alone(statement, sentence) else None


def read_copy(statement: AnalysedText, sentence: AnalysedText) -> tuple[float, bool]:
    """How much of a statement is a sentence's words in their order, and whether one run of it stands for another.

    0 and False in two languages, and for texts that are too long to be compared so.
    """
    said, written = statement.sequence, sentence.sequence
    if statement.language != sentence.language or not said or max(len(said), len(written)) > _LONGEST:
        return 0.0, False
    matcher = SequenceMatcher(None, said, written, autojunk=False)
    different = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    replaced = len(different) == 1 and different[0][0] == "replace"
    return matcher.ratio(), replaced


def exchanges_words(statement: AnalysedText, sentence: AnalysedText) -> bool:
    """Whether a statement is a sentence of its language with one run of words exchanged for others, not forms of them.

    Whether the others say the same, such as a synonym, or something else, such as a name, is not known.
    """
    copied, _ = read_copy(statement, sentence)
    if copied < _LEAST_COPIED:
        return False
    operations = SequenceMatcher(None, statement.sequence, sentence.sequence, autojunk=False).get_opcodes()
    different = [code for code in operations if code[0] != "equal"]
    if len(different) != 1 or different[0][0] != "replace":
        return False
    _, first, last, begin, end = different[0]
    return _has_other_words(statement, first, last, sentence) and _has_other_words(sentence, begin, end, statement)


def _has_other_words(text: AnalysedText, first: int, last: int, other: AnalysedText) -> bool:
    """Whether one of these words in a row is a content word, and none of the other text in any form."""
    run, terms = set(text.sequence[first:last]), other.terms
    return any(word.form in run and not word.terms & terms for word in text.words)


def _mismatches(statement: AnalysedText, sentence: AnalysedText) -> bool:
    return bool(compare_amounts(sentence.text, sentence.language, statement.text, statement.language))


def _differs_in_amounts_alone(statement: AnalysedText, sentence: AnalysedText) -> bool:
    """Whether each amount that the one lacks stands beside another of its kind in the other."""
    mismatches = compare_amounts(sentence.text, sentence.language, statement.text, statement.language)
    return all(mismatch.source is not None and mismatch.text is not None for mismatch in mismatches)


def _are_other_names(
    ours: Sequence[str], theirs: Sequence[str], statement: AnalysedText, sentence: AnalysedText
) -> bool:
    """Whether names stand in the place of names, and on both sides one is no part or spelling of what stands there."""
    if not ours or not theirs or AMOUNT in (*ours, *theirs):
        return False
    if not (statement.names >= set(ours) and sentence.names >= set(theirs)):
        return False
    return all(
        any(not any(_may_be_one_name(name, other) for other in others) for name in names)
        for names, others in ((ours, theirs), (theirs, ours))
    )


def _may_be_one_name(name: str, other: str) -> bool:
    first, second = romanise(name), romanise(other)
    initials = not first or not second or (first[0] == second[0] and min(len(first), len(second)) <= 2)
    return initials or similarity(name, other) >= _SPELLING
