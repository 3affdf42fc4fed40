"""TREC runs: ``qid Q0 docid rank score tag``."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple
from urllib.parse import quote

TREC_TYPE = "application/x-trec-run"

_UNSAFE = re.compile(r"[%\s\x00-\x20\x7f-\xa0]")


class RunLine(NamedTuple):
    """A document of a TREC run."""

    collection: str
    id: str
    score: float


def trec_run(query_id: str, lines: list[RunLine], tag: str) -> str:
    """The lines of a TREC run, each with its end.

    An id is percent-encoded where it holds white space, control characters or %; where several collections
    have a document of one id, both are written ``collection/id``.
    """
    ids = [line.id for line in lines]
    shared = {id for id, count in Counter(ids).items() if count > 1}
    written = [f"{line.collection}/{line.id}" if line.id in shared else line.id for line in lines]
    topic = _encoded(query_id)
    return "".join(
        f"{topic} Q0 {_encoded(id)} {rank} {line.score!r} {tag}\n"
        for rank, (id, line) in enumerate(zip(written, lines, strict=True), 1)
    )


def _encoded(id: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), id)
