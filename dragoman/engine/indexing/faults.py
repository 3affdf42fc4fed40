"""Maps exceptions of Lucene and its Java virtual machine to the errors that callers get."""

from __future__ import annotations

from dragoman.engine.core.errors import NotInstalled, ServiceError, Unavailable, classifies
from dragoman.engine.core.names import without_folders
from dragoman.indexes.errors import IndexFault, ShardLate
from dragoman.indexes.java import jvm


@classifies(IndexFault)
def _of_an_index(fault: IndexFault) -> ServiceError:
    if isinstance(fault, ShardLate):
        return Unavailable("a part of the index took too long; try again in a moment")
    return Unavailable("the index of a collection is damaged or closed, and is being repaired")


@classifies(jvm.JvmUnavailable)
def _of_java(fault: jvm.JvmUnavailable) -> ServiceError:
    message = without_folders(str(fault))
    return NotInstalled(message) if isinstance(fault, jvm.NotInstalled) else Unavailable(message)
