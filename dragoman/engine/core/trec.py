"""TREC runs: ``qid Q0 docid rank score tag``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

TREC_TYPE = "application/x-trec-run"

_UNSAFE = re.compile(r"[%\s\x00-\x20\x7f-\xa0]")


class RunLine(NamedTuple):
    """A document of a TREC run."""

    collection: str
    id: str
    score: float


def one_collection(collections: Sequence[str] | None) -> bool:
    """Whether a request names one collection alone, so that its documents' ids are enough to name them in a run."""
    return collections is not None and len(set(collections)) == 1


def trec_run(query_id: str, lines: Sequence[RunLine], tag: str, *, alone: bool) -> str:
    """The lines of a TREC run, each with its end.

    Documents are named by their ids if they are ``alone``, from one collection, else by ``collection/id``. It depends
    on what was asked and not on what was found, so that a document has one name in all topics of a run. White space,
    control characters and % are percent-encoded.
    """
    written = [line.id if alone else f"{line.collection}/{line.id}" for line in lines]
    topic = _percent_encode(query_id)
    return "".join(
        f"{topic} Q0 {_percent_encode(id)} {rank} {line.score!r} {tag}\n"
        for rank, (id, line) in enumerate(zip(written, lines, strict=True), 1)
    )


def _percent_encode(id: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), id)
