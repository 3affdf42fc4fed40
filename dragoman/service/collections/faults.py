"""The faults of Lucene and of its Java machine as the errors that callers meet."""

from __future__ import annotations

from dragoman.indexes.errors import IndexFault
from dragoman.indexes.java.jvm import JvmUnavailable
from dragoman.service.core.errors import ServiceError, Unavailable, classifies


@classifies(IndexFault)
def _of_an_index(fault: IndexFault) -> ServiceError:
    return Unavailable("the index of a collection is damaged or closed, and is being mended")


@classifies(JvmUnavailable)
def _of_java(fault: JvmUnavailable) -> ServiceError:
    return Unavailable(str(fault))
