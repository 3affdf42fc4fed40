"""The closed set of errors that callers can get. Each has one HTTP status; all share one error body."""

from __future__ import annotations

import errno
import math
import resource
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from dragoman.deadline import DeadlinePassed, WorkCancelled
from dragoman.engine.core.names import without_folders
from dragoman.files.streams import NotGzip, StreamFault, StreamTooLarge
from dragoman.installation import advice
from dragoman.lexicon.text.languages import UnknownLanguage


class ServiceError(Exception):
    """An error with its own HTTP status; ``str(error)`` is the message that the caller reads."""

    status: ClassVar[int] = 500
    error_type: ClassVar[str] = "internal"
    headers: Mapping[str, str] = {}

    @property
    def cause(self) -> str:
        """The kind of error, where what did less for it is counted."""
        return self.error_type

    def body(self, request_id: str) -> dict[str, str]:
        """The one error body, whatever the endpoint."""
        message = str(self)
        return {
            "id": request_id,
            "message": message,
            "detail": message,
            "error": message,
            "error_type": self.error_type,
            "request_id": request_id,
        }


class MalformedBody(ServiceError):
    """A body that cannot be parsed; the message says where."""

    status = 400
    error_type = "malformed_body"


class AmbiguousLength(MalformedBody):
    """A body whose end can be read in two ways; the connection is closed, so that nothing after it is read."""

    headers: Mapping[str, str] = {"Connection": "close"}


class Unauthorized(ServiceError):
    """The caller is not known; ``reason`` is for the log and the metrics, and is none of the caller's words."""

    status = 401
    error_type = "unauthorized"
    headers: Mapping[str, str] = {"WWW-Authenticate": "Bearer"}

    def __init__(self, message: str, reason: str = "unknown") -> None:
        super().__init__(message)
        self.reason = reason


class Forbidden(ServiceError):
    """The caller may not do this; ``reason`` as in :class:`Unauthorized`."""

    status = 403
    error_type = "forbidden"

    def __init__(self, message: str, reason: str = "scope") -> None:
        super().__init__(message)
        self.reason = reason


class NotFound(ServiceError):
    status = 404
    error_type = "not_found"


class MethodNotAllowed(ServiceError):
    status = 405
    error_type = "method_not_allowed"


class NotAcceptable(ServiceError):
    status = 406
    error_type = "not_acceptable"


class UploadTooSlow(ServiceError):
    status = 408
    error_type = "timeout"
    headers: Mapping[str, str] = {"Connection": "close"}


class Conflict(ServiceError):
    """The resource exists already, or is in use."""

    status = 409
    error_type = "conflict"


class Gone(ServiceError):
    """What is asked for was there, and something has changed since."""

    status = 410
    error_type = "gone"


class PreconditionFailed(ServiceError):
    """What was to be changed is not what the caller expected; the message says what it is now."""

    status = 412
    error_type = "precondition_failed"


class TooLarge(ServiceError):
    status = 413
    error_type = "too_large"


class UnsupportedMedia(ServiceError):
    status = 415
    error_type = "unsupported_media_type"


class InvalidRequest(ServiceError):
    """A value that is not allowed; the message names the field or the line."""

    status = 422
    error_type = "validation"


class TooManyRequests(ServiceError):
    status = 429
    error_type = "overloaded"

    def __init__(self, message: str, seconds: float = 1.0) -> None:
        """``seconds``: when to try again."""
        super().__init__(message)
        self.headers = {"Retry-After": str(max(1, math.ceil(seconds)))}


class InternalError(ServiceError):
    """A fault of the service itself; the message does not reveal the cause."""


class Unavailable(ServiceError):
    """Something that the service needs is unavailable now, such as the database or an index being built."""

    status = 503
    error_type = "unavailable"
    headers: Mapping[str, str] = {"Retry-After": "2"}


class OutOfTime(Unavailable):
    """The request's time, or a stage's share of it, is over: to try it once more at once would only take it again."""

    @property
    def cause(self) -> str:
        return "late"


class NotInstalled(Unavailable):
    """A required package or model is missing; the message says how to install or name it. Asking again is of no use."""

    headers: Mapping[str, str] = {}


class ClientDisconnected(ServiceError):
    """The client disconnected, so the request is cancelled; nothing that it asked for is done in another way."""

    status = 503
    error_type = "unavailable"


class StorageFull(ServiceError):
    status = 507
    error_type = "storage_full"


ERRORS: tuple[type[ServiceError], ...] = (
    MalformedBody,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    UploadTooSlow,
    Conflict,
    PreconditionFailed,
    TooLarge,
    UnsupportedMedia,
    InvalidRequest,
    TooManyRequests,
    InternalError,
    Unavailable,
    StorageFull,
)

_BY_STATUS = {error.status: error for error in ERRORS}
DISK_FULL = "no space is left on the disk that holds the data; everything acknowledged before is kept"
Classifier = Callable[[Any], ServiceError | None]

_CLASSIFIERS: dict[type[BaseException], Classifier] = {}


def from_status(status: int, message: str) -> ServiceError:
    """The error of the closed set that has this status (400 for any other 4xx, 500 for the rest)."""
    kind = _BY_STATUS.get(status, MalformedBody if 400 <= status < 500 else InternalError)
    return kind(message)


def classifies(kind: type[BaseException]) -> Callable[[Classifier], Classifier]:
    """Register a function that maps a library's exceptions of this kind to errors.

    The module that uses the library registers it, so that this module does not import the library.
    """

    def register(classifier: Classifier) -> Classifier:
        _CLASSIFIERS[kind] = classifier
        return classifier

    return register


def classify(fault: BaseException) -> ServiceError | None:
    """The error for an exception of another library, or None if it is unexpected."""
    seen: set[int] = set()
    cause: BaseException | None = fault
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if (classified := _classify_one(cause)) is not None:
            return classified
        cause = cause.__cause__ or cause.__context__
    return None


def _classify_one(fault: BaseException) -> ServiceError | None:
    if isinstance(fault, ServiceError):
        return fault
    if isinstance(fault, UnknownLanguage):
        return InvalidRequest(str(fault))
    if isinstance(fault, DeadlinePassed):
        return OutOfTime("the request took too long; send less in one request, or try again")
    if isinstance(fault, WorkCancelled):
        return ClientDisconnected("the client disconnected")
    if isinstance(fault, MemoryError):
        return Unavailable("the service has too little memory for this now; try again in a moment")
    if isinstance(fault, NotGzip):
        return MalformedBody("the body is not gzip, which its Content-Encoding says it is")
    if isinstance(fault, StreamFault):
        return TooLarge(str(fault)) if isinstance(fault, StreamTooLarge) else MalformedBody(str(fault))
    if isinstance(fault, ImportError) and (missing := advice(fault)) is not None:
        return NotInstalled(without_folders(missing))
    if isinstance(fault, OSError) and fault.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(DISK_FULL)
    if isinstance(fault, OSError) and fault.errno in (errno.EMFILE, errno.ENFILE):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return Unavailable(f"the limit of open files is reached (RLIMIT_NOFILE is {limit} for this process); try later")
    if "No space left on device" in str(fault):
        return StorageFull(DISK_FULL)
    for kind, classifier in _CLASSIFIERS.items():
        if isinstance(fault, kind) and (classified := classifier(fault)) is not None:
            return classified
    return None
