"""The query translation of the "Mixed Attention Transformer": each query word becomes its best translations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import regex

from dragoman.deadline import check_each
from dragoman.lexicon.query import IDENTICAL, Alternative, TermGroup, TranslatedQuery
from dragoman.lexicon.table.table import Entry, Lookup
from dragoman.lexicon.text.tokens import Token

_ALPHABETIC = regex.compile(r"[\p{L}\p{M}']+")


def smt(
    tokens: Sequence[Token],
    table: Lookup | None,
    best: int = 10,
    aside: Callable[[Token], bool] = lambda token: False,
    sequential: bool = False,
) -> TranslatedQuery:
    """Weighted translation of each query word into its ``best`` translations, over a table of folded words.

    Translations of several words are left out, unless documents have them as sequences (``sequential``).

    Function words and words with non-letters are dropped, and nothing is stemmed. All query words have the same
    weight; translations are weighted by P(f|e), normalised over the kept ones ("Mixed Attention Transformer",
    first stage). A word without an entry is searched untranslated.
    """
    groups: list[TermGroup] = []
    for token in check_each(tokens):
        if not token.term or aside(token) or not _ALPHABETIC.fullmatch(token.word):
            continue
        entries = _best_words(token.word, table, best, sequential)
        total = sum(entry.p_forward for entry in entries)
        if total > 0:
            matches = [Alternative(e.term, e.p_forward / total, e.origin) for e in entries if e.p_forward > 0]
        else:
            matches = [Alternative(token.word, 1.0, IDENTICAL)]
        groups.append(TermGroup(token.word, token.word, token.start, token.end, matches, oov=total <= 0))
    return TranslatedQuery("smt", groups)


def _best_words(word: str, table: Lookup | None, best: int, sequential: bool) -> list[Entry]:
    """The ``best`` single-word translations. Reading a few more is enough for most words; otherwise all are read."""
    if table is None:
        return []
    for limit in (4 * best, None):
        entries = table.translations(word, best=limit)
        best_entries = [entry for entry in entries if sequential or " " not in entry.term][:best]
        if len(best_entries) == best or limit is None or len(entries) < limit:
            break
    return best_entries
