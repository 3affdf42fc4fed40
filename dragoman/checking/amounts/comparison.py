"""Two sentences that should say the same, compared by their amounts."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.checking.amounts.amount import Amount, Mismatch, MismatchCode, Reading
from dragoman.checking.amounts.digits import split_runs
from dragoman.checking.amounts.folding import fold_text
from dragoman.checking.amounts.reading import read_amounts

__all__ = ["compare_amounts"]

Key = tuple[str, object]


def compare_amounts(source_text: str, source_language: str, target_text: str, target_language: str) -> list[Mismatch]:
    """The amounts of one sentence that the other lacks; an empty list where all agree, or none are written."""
    sources, targets = read_amounts(source_text, source_language), read_amounts(target_text, target_language)
    lost = _select_unmatched(sources, targets)
    added = _select_unmatched(targets, sources)
    mismatches = []
    for source in lost:
        target = next((target for target in added if _code(target) == _code(source)), None)
        if target is not None:
            added.remove(target)
        mismatches.append(_describe(source, target))
    return mismatches + [_describe(None, target) for target in added]


def _describe(source: Amount | None, target: Amount | None) -> Mismatch:
    amount = source or target
    assert amount is not None
    return Mismatch(
        code=_code(amount),
        source=source.text if source else None,
        text=target.text if target else None,
        source_span=(source.start, source.end) if source else None,
        target_span=(target.start, target.end) if target else None,
    )


def _code(amount: Amount) -> MismatchCode:
    return "date" if amount.kind in ("date", "time") else "number"


def _select_unmatched(amounts: list[Amount], others: list[Amount]) -> list[Amount]:
    keys = set(_collect_keys(others))
    return [amount for amount in amounts if not (_matches(amount, keys) or _matches_in_pieces(amount, keys))]


def _matches(amount: Amount, keys: set[Key]) -> bool:
    return any(key in keys for reading in amount.readings for key in _list_keys(reading))


def _matches_in_pieces(amount: Amount, keys: set[Key]) -> bool:
    pieces = list(split_runs(fold_text(amount.text)))
    return bool(pieces) and all(("quantity", quantity) in keys for _, _, quantity in pieces)


def _collect_keys(amounts: Iterable[Amount]) -> Iterable[Key]:
    for amount in amounts:
        for reading in amount.readings:
            yield from _list_keys(reading)
        for _, _, quantity in split_runs(fold_text(amount.text)):
            yield "quantity", quantity


def _list_keys(reading: Reading) -> Iterable[Key]:
    if reading.quantity is not None:
        yield "quantity", reading.quantity
