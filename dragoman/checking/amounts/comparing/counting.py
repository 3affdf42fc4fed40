"""Amounts put together one by one, so that what one side says more often stands beside what the other does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from fractions import Fraction

from dragoman.checking.amounts.amount import Amount, Mismatch
from dragoman.checking.amounts.comparing.saying import (
    VAGUE,
    Key,
    Side,
    describe,
    is_article,
    is_vague,
    list_asked,
    list_keys,
    list_pieces,
    name_code,
    says_little,
)

__all__ = ["MOST", "pair_counts"]

MOST = 200
"""Amounts of a side that are counted; of a text with more none are."""


def pair_counts(
    source: Side, target: Side, lost: Sequence[Amount] = (), added: Sequence[Amount] = ()
) -> list[Mismatch]:
    """What one side says more often beside what the other says more often, without ``lost`` and ``added``.

    So a number that may be left unsaid is compared with one that stands for it and is elsewhere in the sentence, too.
    """
    links = _match(source.amounts, target.amounts)
    matched = {first for first, _ in links}, {second for _, second in links}
    ours = _list_left(source, target, matched, lost)
    theirs = _list_left(target, source, matched[::-1], added)
    strict = [[amount for amount in side if not amount.vague] for side in (ours, theirs)]
    pairs = list(zip(*strict, strict=False)) or list(zip(ours, theirs, strict=False))
    return [
        describe(name_code(first), first, second)
        for first, second in pairs
        if not (first.vague and second.vague)
        if not (target.lacks(first) and source.lacks(second)) and not _are_free(first, second)
    ]


def _match(ours: Sequence[Amount], theirs: Sequence[Amount]) -> list[tuple[int, int]]:
    """The places of as many amounts as can be put together, each with one that may say the same (Kuhn's algorithm)."""
    by_key: defaultdict[Key, list[int]] = defaultdict(list)
    for place, amount in enumerate(theirs):
        for key in set(list_keys(amount)):
            by_key[key].append(place)
    links = []
    for amount in ours:
        near = {place for key in set(list_keys(amount)) for place in by_key[key] if _may_match(amount, theirs[place])}
        links.append(sorted(near, key=lambda place, amount=amount: _tell_apart(amount, theirs[place])))  # type: ignore[misc]
    alike = [
        [second for second in near if theirs[second].vague == amount.vague and _are_whole(amount, theirs[second])]
        for amount, near in zip(ours, links, strict=True)
    ]
    taken: dict[int, int] = {}
    for round_links in (alike, links):  # a quarter is a quarter before it is the fourth, 3:08 a time before a three
        for first in range(len(ours)):
            if first not in taken.values():
                _take(first, round_links, taken, set())
    return [(first, second) for second, first in taken.items()]


def _take(first: int, links: Sequence[Sequence[int]], taken: dict[int, int], seen: set[int]) -> bool:
    """Give ``first`` one that is not taken yet, or that another amount can do without."""
    for second in links[first]:
        if second not in taken:
            taken[second] = first
            return True
    for second in links[first]:
        if second not in seen:
            seen.add(second)
            if _take(taken[second], links, taken, seen):
                taken[second] = first
                return True
    return False


def _may_match(first: Amount, second: Amount) -> bool:
    """Whether two amounts with one meaning may stand for each other: both are no 2 in digits and no two weeks."""
    if (first.exact and is_article(second)) or (second.exact and is_article(first)):
        return False
    for vague, other in ((first, second), (second, first)):
        few = vague.vague and max(_list_quantities(vague), default=0) < VAGUE
        if few and not other.vague and (not other.spelled or _is_measure(other, vague)):
            return False
    return True


def _is_measure(amount: Amount, beside: Amount) -> bool:
    return amount.readings[0].unit not in (None, beside.readings[0].unit)


def _are_whole(first: Amount, second: Amount) -> bool:
    """Whether two amounts mean the same, and not parts of them."""
    ours, theirs = ({key for r in amount.readings for key in list_asked(r)} for amount in (first, second))
    return not ours.isdisjoint(theirs)


def _tell_apart(first: Amount, second: Amount) -> tuple[bool, ...]:
    """What is unlike in two amounts that mean the same; the likest is taken first."""
    units = {reading.unit for reading in first.readings} & {reading.unit for reading in second.readings}
    return (
        first.vague != second.vague,
        first.free != second.free,
        not units,
        first.kind != second.kind,
        first.spelled != second.spelled,
    )


def _list_quantities(amount: Amount) -> list[Fraction]:
    return [reading.quantity for reading in amount.readings if reading.quantity is not None]


def _list_left(
    side: Side, other: Side, matched: tuple[Collection[int], Collection[int]], aside: Sequence[Amount]
) -> list[Amount]:
    """The amounts of ``side`` that nothing is left for, and that another number contradicts; free ones come last.

    Of vague ones thousands and the like that the other side lacks. What is a part of one that is left there is none.
    """
    rest = [amount for place, amount in enumerate(other.amounts) if place not in matched[1]]
    pieces = {piece for amount in rest for piece in list_pieces(amount)}
    left = []
    for place, amount in enumerate(side.amounts):
        if place in matched[0] or amount in aside or (not amount.vague and says_little(amount)):
            continue
        if amount.vague and (len(amount.text) < 2 or not is_vague(amount) or not other.lacks(amount)):  # 千 of a name
            continue
        keys = set(list_keys(amount))
        if not keys & pieces and not (list_pieces(amount) and other.keys.issuperset(list_pieces(amount))):
            left.append(amount)
    return sorted(left, key=lambda amount: amount.free)


def _are_free(first: Amount, second: Amount) -> bool:
    """Whether one is part of a name or a zero, and the other in words: both may be said without a number."""
    return (_is_free(first) and second.spelled) or (_is_free(second) and first.spelled)


def _is_free(amount: Amount) -> bool:
    return amount.free or (amount.spelled and 0 in _list_quantities(amount))
