"""How an answer says that parts of an index did not answer."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import Unavailable, classify
from dragoman.engine.core.names import without_folders
from dragoman.engine.core.priority import in_background
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.indexes.shard_group import Unsearched


def note_unsearched(
    degraded: list[Degraded], stage: str, collection: CollectionInfo, unsearched: Sequence[Unsearched]
) -> None:
    """Say, once, that parts of an index did not answer.

    Raises:
        Unavailable: in background work, which waits for them.
    """
    if not unsearched:
        return
    fault = unsearched[0].fault
    error = classify(fault) or Unavailable(without_folders(str(fault)))
    share = sum(part.share for part in unsearched)
    reason = f"collection '{collection.name}': about {share:.0%} of its documents were not searched: {error}"
    if in_background():
        raise Unavailable(reason)
    if all(other.reason != reason for other in degraded):
        degraded.append(Degraded.of(stage, reason, error.error_type))
