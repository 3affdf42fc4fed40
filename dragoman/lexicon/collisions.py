"""Words of documents with several index terms that are alternatives of one query term.

A word is indexed by the stem of its dictionary form and by its own stem. It counts as each of them. So it would count
more than once for a query term that has both: as an entry and as the identical string, or as two entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["Terms", "bound_weights"]

Terms = tuple[str, ...]
"""The index terms of a word; that of its dictionary form is the first."""


def bound_weights(weights: Mapping[str, float], words: Iterable[Terms], identical: str = "") -> dict[str, float]:
    """The weights with which none of ``words`` counts more than 1: ``sum_f P(e|f) <= 1`` over the terms f of a word.

    The ``identical`` string is left out where a word that has it is an entry by another term: the table decides. Of
    two entries the first term of the word gives way, as the word counts by the other one in any case. Weights of 0 are
    left out.
    """
    bounded = dict(weights)
    colliding = [word for word in words if sum(term in bounded for term in word) > 1]
    if any(identical in word[1:] for word in colliding):
        del bounded[identical]
    for word in colliding:
        spare = 1.0
        for term in (*word[1:], word[0]):
            if term in bounded:
                bounded[term] = min(bounded[term], spare)
                spare = max(0.0, spare - bounded[term])
    return {term: weight for term, weight in bounded.items() if weight > 0}
