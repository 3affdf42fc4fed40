"""Documents that cannot be indexed: told from the others of their batch, each with the reason."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from dragoman.deadline import DeadlinePassed, WorkCancelled, deadline, remaining
from dragoman.engine.core.errors import classify
from dragoman.indexes.documents import IndexedDocument, IndexRow, analyse_documents, batches
from dragoman.indexes.errors import TooManyWords
from dragoman.indexes.java.jvm import JavaError, JvmUnavailable
from dragoman.lexicon.text.tokens import Analysis

logger = logging.getLogger("dragoman")

_REASON_CHARS = 500
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
_SYSTEM = (MemoryError, JvmUnavailable, WorkCancelled)
"""Faults that are not the document's."""


def isolate(
    documents: Sequence[IndexedDocument],
    analysis: Callable[[str], Analysis],
    seconds: float,
    cancelled: Callable[[], bool],
) -> tuple[list[IndexRow], dict[int, str]]:
    """The analysed documents, and for each that cannot be analysed within ``seconds`` its key and the reason.

    Documents are analysed together; a batch that fails is halved until the one document is found.

    Raises:
        WorkCancelled: ``cancelled`` says so.
    """
    rows: list[IndexRow] = []
    faults: dict[int, str] = {}
    pending = list(batches(documents))[::-1]
    while pending:
        batch = pending.pop()
        try:
            with deadline(seconds, cancelled):
                analyses = {language: analysis(language) for language in {document.language for document in batch}}
                rows.extend(analyse_documents(batch, analyses))
        except _SYSTEM:
            raise
        except Exception as fault:
            if isinstance(fault, DeadlinePassed) and not remaining(1.0):
                raise  # it is the whole work that took too long
            if len(batch) > 1:
                middle = len(batch) // 2
                pending += [batch[middle:], batch[:middle]]
                continue
            faults[batch[0].key] = reason_of(fault, seconds)
    return rows, faults


def write_each(write: Callable[[Sequence[IndexRow]], None], rows: Sequence[IndexRow]) -> dict[int, str]:
    """Write documents to an index; returns the reason for each that it refuses, by key."""
    try:
        write(rows)
    except JavaError as fault:
        if classify(fault) is not None or fault.classname == _OUT_OF_MEMORY:
            raise  # a full disk, too many open files, no memory: not the document's fault, whose words are bounded
        if len(rows) == 1:
            logger.error("a document cannot be written to its index", exc_info=fault)
            return {rows[0].key: f"the index refuses it ({fault.classname})"[:_REASON_CHARS]}
        middle = len(rows) // 2
        return {**write_each(write, rows[:middle]), **write_each(write, rows[middle:])}
    return {}


def reason_of(fault: Exception, seconds: float) -> str:
    """Why a document cannot be indexed, in words for its owner."""
    if isinstance(fault, DeadlinePassed):
        return f"its analysis takes longer than {seconds:g} seconds"
    if isinstance(fault, TooManyWords):
        return str(fault)
    logger.error("a document cannot be analysed", exc_info=fault)
    return f"its text cannot be analysed ({type(fault).__name__})"[:_REASON_CHARS]
