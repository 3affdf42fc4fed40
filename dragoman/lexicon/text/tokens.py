"""Word splitting with offsets, shared by documents, queries and tables."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, Protocol

import regex

from dragoman.deadline import check, check_each
from dragoman.lexicon.text.compatibility import write_out
from dragoman.lexicon.text.folding import (
    APOSTROPHES,
    FOLDING_VERSION,
    IGNORABLE,
    NUMBER_SEPARATORS,
    fold,
    grouped_number,
    ungrouped_digits,
)
from dragoman.lexicon.text.function_words import folded_function_words, is_function_word
from dragoman.lexicon.text.languages import check_language
from dragoman.lexicon.text.segmentation import RUN, UNSPACED_LETTERS, Segmenter, by_character, segment_run

__all__ = [
    "AGAIN",
    "EXACT",
    "PART",
    "REPEATED",
    "Analysis",
    "PlainAnalysis",
    "Token",
    "content_terms",
    "fold",
    "fold_term",
    "is_elided",
    "other_keys",
    "placed_words",
    "word_forms",
    "words",
]

SPLITTING_VERSION = "4"
PART = "\x01"
"""Begins the index term of a part of a word: it is told from the same word by itself, and counts less."""
_NAMES = 3
_LONGEST_KEPT = 128
"""Characters of a written function word with its marks; normalising takes time that is quadratic in these."""
_NO_LETTERS = regex.compile(rf"[.．{IGNORABLE}]")
_ACCENTED = regex.compile(r"[\p{Latin}\p{Greek}]+")
"""The scripts whose accents tell a word from a function word; folding unifies other ones where spelling varies."""
_KNOWN: dict[str, dict[str, str]] = {}
"""For each language recent words as they stand in texts, and folded."""
_KNOWN_WORDS = 16_384
_KNOWN_LENGTH = 64
_CHECKED_EVERY = 4096
"""Words after which the deadline is asked for."""

EXACT = "\x03"
"""Begins a folded word that is looked for as it is written, in the field of words."""
AGAIN = "\x05"
"""Begins one where words are index terms: its documents are those of the index term that it is."""
REPEATED = (EXACT, AGAIN)
"""Begin what a document with another alternative of the query term has as well: it adds to tf, and not to df."""


class Token(NamedTuple):
    """One word of a text. A tuple is made three times as fast as a frozen dataclass, and a search makes thousands."""

    word: str
    """The folded surface word, the key of translation tables before analysis: ``fold(text[start:end], language)``.

    What folding would take for a function word is kept as it is written: ``IT`` is not ``it``, ``té`` is not ``te``.
    """
    term: str
    """The word's index term (stem); empty for an elided word, which is not indexed."""
    start: int
    end: int
    """Code-point offsets into the original text. Both numbers of ``½`` have those of the fraction."""
    further: tuple[str, ...] = ()
    """Further index terms at the same place: another stem, and the words in it after :data:`PART`."""
    apart: bool = False
    """Whether the word does not continue a sequence of words with the one before it, where sequences count."""


PlacedWord = tuple[str, int, int]
"""A folded word, and where it begins and ends in its text, in code points."""
_new = tuple.__new__


class Analysis(Protocol):
    """Turns text of one language into index terms, for documents, queries, tables and training alike."""

    @property
    def language(self) -> str:
        """The language code."""

    @property
    def fingerprint(self) -> str:
        """A string that changes whenever the output for any text may change."""

    def tokens(self, text: str) -> list[Token]:
        """The tokens of ``text`` in order; elided words have an empty term."""


_OTHERS = f"{UNSPACED_LETTERS}{APOSTROPHES}{IGNORABLE}"
_LETTER = rf"[[[\p{{L}}\p{{Nl}}]--[{_OTHERS}]]||\p{{Nd}}]"
_INNER = rf"[[[\p{{L}}\p{{Nl}}]--[{_OTHERS}]]||\p{{Nd}}||[\p{{M}}--[{IGNORABLE}]]]"
_QUOTES = r"\"״“”׳"
_JOINT = (
    rf"(?:[{IGNORABLE}]*+[{APOSTROPHES}][{IGNORABLE}]*+{_LETTER}"
    rf"|(?<=[lL])[·\u0387](?=[lL])"
    rf"|(?=[{IGNORABLE}]*+[{_QUOTES}])(?<=[\p{{Hebrew}}&&\p{{L}}]\p{{M}}*)[{IGNORABLE}]*+[{_QUOTES}][{IGNORABLE}]*+(?=\p{{Hebrew}})"
    rf"|[{IGNORABLE}]++(?={_INNER}))"
)
"""It looks back from a quote alone, over the marks since the quote before: in all that is linear in the text."""
_INITIAL = rf"[\p{{L}}--[{_OTHERS}]]\p{{M}}*+"
_ACRONYM = rf"{_INITIAL}(?:[.．]{_INITIAL})++(?![{IGNORABLE}]*+{_INNER})"
_NO_JOINTS = "".join(separator for separator in NUMBER_SEPARATORS if separator not in APOSTROPHES)
_APART = (
    rf"((?:{_INITIAL}[.．]){{2,}}+(?={_INITIAL}[{IGNORABLE}]*+{_INNER})"
    rf"|{ungrouped_digits(_NO_JOINTS, group=4)})"
)
"""The first letters of what is no acronym (``a.b.`` of ``a.b.cd``), and the first digits of what is no grouped number.

They are words of their own. No acronym or number begins within them: passing over them at once, and not looking on to
the end from each, keeps the search linear in time.
"""
_REST = rf"(?:{_JOINT}{_INNER}*+)*+"
_ORDINARY = rf"[[\p{{L}}\p{{Nl}}]--[{_OTHERS}]](?={_LETTER}){_INNER}*+{_REST}"
"""Most words: two letters begin neither a run, nor an acronym, nor a number."""
_WORD = regex.compile(
    rf"{_ORDINARY}|({RUN})|(?:{_ACRONYM}|{grouped_number(group=2)}{_INNER}*+){_REST}|{_APART}|{_LETTER}{_INNER}*+{_REST}",
    regex.V1,
)
_WORD_APART = regex.compile(rf"{_LETTER}{_INNER}*+(?:[{IGNORABLE}]++{_INNER}++)*+", regex.V1)
_PLAIN_ALPHABETIC = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u013e\u0141-\u0148\u014a-\u024f"
    "\u0388\u0389\u038c\u038e-\u03a1\u03a3-\u03f5\u0400-\u0481\u048a-\u052f\u1e00-\u1e99\u1e9b-\u1eff"
)
_PLAIN_LETTER = f"0-9{_PLAIN_ALPHABETIC}"
_PLAIN_TEXT = re.compile(f"[\x00-\x7f{_PLAIN_LETTER}«»¿¡–—’“”„…€]*+")
_PLAIN_INITIAL = r"[^\W\d_]"
_PLAIN_REST = rf"(?:['’][{_PLAIN_LETTER}]+)*"
_PLAIN_WORD = re.compile(
    rf"[{_PLAIN_ALPHABETIC}][{_PLAIN_LETTER}]+{_PLAIN_REST}"  # most words: neither acronym nor number can begin so
    rf"|(?=[{_PLAIN_LETTER}])(?:"
    rf"(?:(?={_PLAIN_INITIAL}\.){_PLAIN_INITIAL}(?:\.{_PLAIN_INITIAL})+(?![{_PLAIN_LETTER}]|\.{_PLAIN_INITIAL})"
    rf"|{grouped_number('[0-9]', once='')})[{_PLAIN_LETTER}]*+{_PLAIN_REST}"
    rf"|((?:{_PLAIN_INITIAL}\.){{2,}}(?={_PLAIN_INITIAL}[{_PLAIN_LETTER}])"
    rf"|{ungrouped_digits(_NO_JOINTS, '[0-9]', group=3, once='')})"
    rf"|[{_PLAIN_LETTER}]+{_PLAIN_REST})"
)
"""Finds the same words as :data:`_WORD`, several times faster, in texts that match :data:`_PLAIN_TEXT`.

It has no possessive groups: early releases of Python 3.11 match them wrongly.
"""
_APOSTROPHE = regex.compile(f"[{APOSTROPHES}]")
_SPACED_ELISION = regex.compile(rf"[{APOSTROPHES}](?:\s++[\p{{L}}\p{{N}}]|\s*+$)")

_ITALIAN_ELIDED = (
    "l c d m t s v n un all dall dell nell sull coll pell gl agl dagl degl negl sugl quest quell com dov "
    "anch neanch senz tutt quant nessun ciascun alcun qualcun sant mezz bell buon grand"
)
_ELIDED = {
    "fr": frozenset(("l", "m", "t", "s", "n", "d", "c", "j", "qu", "jusqu", "quoiqu", "lorsqu", "puisqu")),
    "it": frozenset(_ITALIAN_ELIDED.split()),
    "ca": frozenset(("l", "d", "m", "n", "s", "t")),
    "oc": frozenset(("l", "d", "m", "n", "s", "t", "qu")),
    "ga": frozenset(("d", "m", "b")),
}
_SUFFIXED = frozenset({"tr", "az"})


def _without_apostrophes(text: str, start: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    """Split a word at inner apostrophes by the grammar of its language; an elided word ends with its apostrophe."""
    surface = text[start:end]
    apostrophes = [m.start() for m in _APOSTROPHE.finditer(surface)]
    if language == "en" and apostrophes and fold(surface[apostrophes[-1] + 1 :], language) == "s":
        end = start + apostrophes[-1]
    elif language in _SUFFIXED and apostrophes and len(fold(surface[: apostrophes[0]], language)) > 1:
        end = start + apostrophes[0]
    elif language in _ELIDED:
        for apostrophe in apostrophes:
            cut = end - len(surface) + apostrophe
            if fold(text[start:cut], language) not in _ELIDED[language]:
                break
            yield start, cut + 1
            start = cut + 1
        if _elided_before_space(text, start, end, language):
            end += 1
    yield start, end


def _elided_before_space(text: str, start: int, end: int, language: str) -> bool:
    """Whether the word is elided and apart from the next one: ``l' eau``, but not ``'l' eau``."""
    return (
        _SPACED_ELISION.match(text, end) is not None
        and (not start or _APOSTROPHE.match(text, start - 1) is None)
        and fold(text[start:end], language) in _ELIDED[language]
    )


def is_elided(word: str) -> bool:
    """Whether a folded word is an elided one, such as ``d'``: no other word ends with an apostrophe."""
    return word.endswith("'")


_CUT_AT_APOSTROPHE = frozenset({"en"}) | _SUFFIXED | frozenset(_ELIDED)


def words(text: str, language: str, segment: Segmenter | None = None) -> list[Token]:
    """Split ``text`` into words, with ``term`` equal to ``word``, but empty for elided words.

    A word is a run of letters, marks and decimal digits. Inner apostrophes are kept (``don't``, Ukrainian and Somali
    letters), with exceptions. The English ``'s`` and the Turkish case ending after an apostrophe are dropped. An elided
    French, Italian, Catalan, Occitan or Irish word (``l'`` in ``l'eau``) is a stop word of its own. It keeps its
    apostrophe: ``d'`` is not the ``d`` of ``vitamina D``. Hyphens separate words. A number with thousands separators is
    one word, as are dotted single letters (``U.S.``). The span of a word includes invisible characters inside it.
    ``segment`` splits runs of Chinese, Japanese, Thai, Lao, Khmer and Burmese letters (default:
    :func:`~dragoman.lexicon.text.segmentation.by_character`). Compatibility forms are written out first (``CO₂``,
    ``½``; see :mod:`dragoman.lexicon.text.compatibility`).
    """
    return [
        _new(Token, (word, "" if word.endswith("'") else word, start, end, (), False))
        for word, start, end in placed_words(text, language, segment)
    ]


def placed_words(text: str, language: str, segment: Segmenter | None = None) -> list[PlacedWord]:
    """The folded words of :func:`words`, and where each begins and ends: for whoever makes tokens of its own."""
    plain = _PLAIN_TEXT.fullmatch(text) is not None
    if not plain and (written := write_out(text)) is not None:
        whole, begins, ends = written
        placed = _placed_words(whole, language, segment, plain=False)
        return [(word, begins[start], ends[end - 1]) for word, start, end in placed]
    return _placed_words(text, language, segment, plain)


def _placed_words(text: str, language: str, segment: Segmenter | None, plain: bool) -> list[PlacedWord]:
    capitals = _all_capitals(text)
    learnt: dict[str, str] = {} if capitals else _KNOWN.setdefault(language, {})
    if len(learnt) >= _KNOWN_WORDS:
        learnt = _KNOWN[language] = {}
    words: list[PlacedWord] = []
    matches = _PLAIN_WORD.finditer(text) if plain else _WORD.finditer(text)
    while some := list(islice(matches, _CHECKED_EVERY)):
        check()
        for match in some:
            if match.lastindex is None and (word := learnt.get(match[0])) is not None:
                words.append((word, *match.span()))
            elif match.lastindex is not None and (spans := _inner_spans(match, plain, language, segment)) is not None:
                inside = ((fold(text[first:last], language), first, last) for first, last in spans)
                words += (placed for placed in inside if placed[0])
            else:
                start, end = match.span()
                words += _of_match(text, start, end, language, capitals, learnt)
    return words


def _of_match(
    text: str, start: int, end: int, language: str, all_capitals: bool, learnt: dict[str, str]
) -> Iterator[PlacedWord]:
    """The words of a match; ``learnt`` learns one that is the same in every text."""
    surface = text[start:end]
    word = fold(surface, language)
    function = folded_function_words(language)
    if language in _CUT_AT_APOSTROPHE and ("'" in word or word in _ELIDED.get(language, ())):
        for first, last in _without_apostrophes(text, start, end, language):
            word = fold(text[first:last], language)
            if word in function:
                word = _as_written(text[first:last], word, language, all_capitals)
            yield word, first, last
    elif word:
        if word in function:
            word = _as_written(surface, word, language, all_capitals)
        if len(surface) <= _KNOWN_LENGTH:
            learnt[surface] = word
        yield word, start, end


def _all_capitals(text: str) -> bool:
    """Whether a text is all in capitals, which then say nothing about a word; three words may be names."""
    return text.isupper() and len(text.split(maxsplit=_NAMES)) > _NAMES


def _as_written(surface: str, word: str, language: str, all_capitals: bool) -> str:
    """The folded form of a function word; of another word that folding takes for one, what tells them apart."""
    return word if len(surface) > _LONGEST_KEPT else _short_as_written(surface, word, language, all_capitals)


@lru_cache(maxsize=65_536)
def _short_as_written(surface: str, word: str, language: str, all_capitals: bool) -> str:
    letters = unicodedata.normalize("NFKC", _NO_LETTERS.sub("", surface))
    if not is_function_word(letters, language):
        written = letters.casefold()
        return written if _ACCENTED.fullmatch(written) else word
    if letters.isupper() and letters.isalpha() and len(letters) > 1 and not all_capitals:
        return letters
    return word


def _inner_spans(
    match: re.Match[str] | regex.Match[str], plain: bool, language: str, segment: Segmenter | None
) -> Iterator[tuple[int, int]] | None:
    """The spans of the words in a match that is several: a run of letters without spaces, or :data:`_APART`."""
    if plain:
        return (part.span() for part in _WORD_APART.finditer(match.string, *match.span())) if match[2] else None
    if match[3]:
        return (part.span() for part in _WORD_APART.finditer(match.string, *match.span()))
    if not match[1]:
        return None
    start = match.start()
    return ((start + first, start + last) for first, last in segment_run(match[1], language, segment or by_character))


def word_forms(texts: Sequence[str], language: str, segment: Segmenter | None = None) -> list[list[str]]:
    """The words of each text as in :func:`words`, without offsets; twice as fast for most texts."""
    cut = language in _CUT_AT_APOSTROPHE
    surfaces = [
        None
        if _PLAIN_TEXT.fullmatch(text) is None or (cut and ("'" in text or "’" in text)) or _all_capitals(text)
        else [match[0] for match in _PLAIN_WORD.finditer(text)]
        for text in check_each(texts)
    ]
    distinct = {surface for text_surfaces in surfaces if text_surfaces is not None for surface in text_surfaces}
    folded = {surface: fold(surface, language) for surface in check_each(distinct, _CHECKED_EVERY)}
    function = folded_function_words(language)
    folded |= {
        surface: _as_written(surface, word, language, False) for surface, word in folded.items() if word in function
    }
    apart = {surface for surface in distinct if not surface[-1].isalnum()}
    return [
        [token.word for token in words(text, language, segment)]
        if text_surfaces is None or (apart and not apart.isdisjoint(text_surfaces))
        else [folded[surface] for surface in text_surfaces]
        for text, text_surfaces in zip(texts, surfaces, strict=True)
    ]


def content_terms(tokens: Iterable[Token], language: str) -> list[Token]:
    """The tokens, with an empty term for each function word of the language."""
    function = folded_function_words(language)
    return [token._replace(term="", further=()) if token.word in function else token for token in tokens]


def fold_term(text: str, language: str) -> str:
    """The key of a term in surface tables: its folded words, joined by single spaces.

    Runs of Chinese, Japanese, Thai, Lao, Khmer and Burmese letters are not split; the analysis segments them.
    Empty if ``text`` has no word. Idempotent.
    """
    return " ".join([token.word for token in words(text, language, _whole)])


def other_keys(text: str, language: str) -> list[str]:
    """Further keys of a term: those of words in another case or in capitals, and those of tables from before words were
    kept as they are written (``us`` of ``US``)."""
    key = fold_term(text, language)
    plain = " ".join(fold(word, language) for word in key.split(" "))
    return list(
        dict.fromkeys(candidate for candidate in (plain, fold_term(text.upper(), language)) if candidate != key)
    )


def _whole(run: str) -> list[tuple[int, int]]:
    return [(0, len(run))]


class PlainAnalysis:
    """Language-independent analysis: :func:`words` without stop words and stemming.

    Raises:
        UnknownLanguage: for an unknown language code.
        ValueError: if only one of ``segment`` and ``segment_version`` is given.
    """

    def __init__(self, language: str, segment: Segmenter | None = None, segment_version: str = "") -> None:
        if (segment is None) != (not segment_version):
            raise ValueError("segment and segment_version must be given together")
        self.language = check_language(language)
        versions = f"{SPLITTING_VERSION}.{FOLDING_VERSION}.{unicodedata.unidata_version}"
        self.fingerprint = f"plain:{language}:{versions}:{segment_version}"
        self._segment = segment

    def tokens(self, text: str) -> list[Token]:
        """The tokens of ``text`` in order."""
        return words(text, self.language, self._segment)
