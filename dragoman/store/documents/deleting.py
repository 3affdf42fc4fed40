"""Documents of one collection that a filter leaves, deleted all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import CursorResult, null, update
from sqlalchemy.orm import Session

from dragoman.deadline import check, check_each
from dragoman.engine.core.errors import NotFound
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.store.database import Store
from dragoman.store.documents.info import Generations, check_generation
from dragoman.store.models import Collection, Document

_KEYS_AT_ONCE = 1000


def delete_selected(
    store: Store,
    index: CollectionIndex,
    collection: int,
    select: Callable[[], NDArray[np.int64]],
    expected: Generations = None,
) -> int:
    """Delete the documents whose keys are selected, all or none of them; returns how many.

    The index has followed all changes before it is asked, and nothing is changed between that and the deletion.

    Raises:
        NotFound: the collection has been deleted.
        PreconditionFailed: it is of none of the expected generations.
        Unavailable: the index is being built or broken.
    """
    with index.writing():
        while True:
            check()
            index.catch_up()
            keys, generation = select(), index.generation
            with store.write() as session:
                row = session.get(Collection, collection, with_for_update=True)
                if row is None:
                    raise NotFound("the collection has been deleted meanwhile")
                check_generation(expected, row.generation, "collection")
                if (
                    row.generation != generation
                ):  # by a change of metadata or a deletion, which do not wait for the index
                    continue
                deleted = _mark_deleted(session, keys, generation + 1)
                if deleted:
                    row.generation += 1
                    row.document_count -= deleted
            return deleted


def _mark_deleted(session: Session, keys: NDArray[np.int64], generation: int) -> int:
    gone = {"deleted": True, "generation": generation, "text": "", "title": None, "metadata_": null()}
    count = 0
    for start in check_each(range(0, len(keys), _KEYS_AT_ONCE)):
        chosen = Document.key.in_(keys[start : start + _KEYS_AT_ONCE].tolist())
        statement = update(Document).where(chosen, Document.deleted.is_(False)).values(gone)
        result = session.execute(statement, execution_options={"synchronize_session": False})
        count += cast("CursorResult[Any]", result).rowcount
    return count
