"""Word segmentation of scripts that are written without spaces; each segmenter is loaded on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import version

from dragoman.deadline import check_each
from dragoman.indexes.analysis.stems import custom_analyzer
from dragoman.indexes.java import jvm
from dragoman.indexes.java.jvm import java_class
from dragoman.lexicon.text.segmentation import Segmenter

__all__ = ["icu_words", "segmenter"]

_LONGEST_RUN = 1_000
"""Characters of a run that a segmenter sees at once. Runs end at punctuation; longer ones are rare."""
_REACH = 100
"""Characters that a segmenter may leave out between two words."""


def segmenter(language: str) -> tuple[Segmenter, str] | None:
    """The language's segmenter with its name and version, or None for a language that needs none."""
    make = _SEGMENTERS.get(language)
    if make is None:
        return None
    segment, name = make()
    return _in_parts(segment), name


def _in_parts(segment: Segmenter) -> Segmenter:
    """Give a segmenter long runs in parts: the time that it takes may grow faster than the run."""

    def in_parts(run: str) -> list[tuple[int, int]]:
        if len(run) <= _LONGEST_RUN:
            return segment(run)
        spans: list[tuple[int, int]] = []
        for begin in check_each(range(0, len(run), _LONGEST_RUN)):
            part = run[begin : begin + _LONGEST_RUN]
            spans.extend((begin + first, begin + last) for first, last in segment(part))
        return spans

    return in_parts


def _chinese() -> tuple[Segmenter, str]:
    """jieba: maximum probability over a dictionary, a hidden Markov model for unknown words."""
    import rjieba

    def segment(run: str) -> list[tuple[int, int]]:
        return _spans(run, rjieba.cut(run))

    return segment, f"rjieba {version('rjieba')}"


def _japanese() -> tuple[Segmenter, str]:
    """kuromoji: a lattice over the IPA dictionary, compounds are not split."""
    builder = jvm.run(_kuromoji)

    def segment(run: str) -> list[tuple[int, int]]:
        return _spans(run, jvm.run(builder, run))

    return segment, "kuromoji"


def _kuromoji() -> Callable[[str], list[str]]:
    analyzer = custom_analyzer("japanese", {"mode": "normal", "discardPunctuation": "false"})
    builder = java_class("org.apache.lucene.util.QueryBuilder")(analyzer)

    def cut_run(run: str) -> list[str]:
        query = builder.createPhraseQuery("f", run)
        return str(query.toString("f")).strip('"').split(" ") if query is not None else []

    return cut_run


def _thai() -> tuple[Segmenter, str]:
    """newmm: maximal matching over a dictionary, within Thai character clusters."""
    from pythainlp.tokenize import word_tokenize

    def segment(run: str) -> list[tuple[int, int]]:
        return _spans(run, word_tokenize(run, engine="newmm"))

    return segment, f"pythainlp newmm {version('pythainlp')}"


def icu_words(language: str, run: str) -> tuple[str, ...]:
    """The words of a run of letters by the dictionaries of ICU; what no dictionary has is joined to one word."""
    from icu4py.breakers import WordBreaker

    return tuple(WordBreaker(run, language))


def _icu(language: str) -> tuple[Segmenter, str]:
    """ICU: longest match over a dictionary, three words ahead."""

    def segment(run: str) -> list[tuple[int, int]]:
        return _spans(run, icu_words(language, run))

    return segment, f"icu4py {version('icu4py')}"


def _spans(run: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """The spans of consecutive words; text between them counts as a word too."""
    spans: list[tuple[int, int]] = []
    end = 0
    for word in words:
        start = run.find(word, end, end + len(word) + _REACH)
        if start < 0 or not word:
            continue
        if end < start:
            spans.append((end, start))
        end = start + len(word)
        spans.append((start, end))
    if end < len(run):
        spans.append((end, len(run)))
    return spans


_SEGMENTERS: dict[str, Callable[[], tuple[Segmenter, str]]] = {
    "ja": _japanese,
    "km": partial(_icu, "km"),
    "lo": partial(_icu, "lo"),
    "my": partial(_icu, "my"),
    "th": _thai,
    "zh": _chinese,
}
