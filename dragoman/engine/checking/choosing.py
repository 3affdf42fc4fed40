"""Which of several drafts of a sentence is shown: the first good one, else the one with the fewest faults."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.checking import Check, Reason, Status
from dragoman.engine.models.drafts import Draft

_WORST: dict[Status, int] = {"ok": 0, "draft": 1, "failed": 2}


def choose_draft(drafts: Sequence[tuple[Draft, Check]]) -> tuple[Draft, Check] | None:
    """The draft to show, of those in the order in which they were made, with its check; None of none."""
    judged = [(draft, _judge(draft, check)) for draft, check in drafts]
    return min(judged, key=lambda pair: (_WORST[pair[1].status], len(pair[1].reasons)), default=None)


def _judge(draft: Draft, check: Check) -> Check:
    """The check of a draft, which is no more than a draft if cut off."""
    reasons, status = check.reasons, check.status
    if not draft.whole:
        status = "draft" if status == "ok" else status
        if all(reason.code != "length" for reason in reasons):
            reasons = (*reasons, Reason("length"))
    return Check(status, reasons)
