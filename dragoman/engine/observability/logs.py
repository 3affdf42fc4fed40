"""The log: one line per event on standard error, as text or JSON, with the id of its request."""

from __future__ import annotations

import logging
import re
import time
from collections import OrderedDict
from contextvars import ContextVar
from typing import Any, Literal, TextIO

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

Format = Literal["text", "json"]
Level = Literal["debug", "info", "warning", "error"]

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that this thread or task works for; empty if there is none."""

_access = logging.getLogger("dragoman.access")

_LINES = 100
"""Lines of one kind that are logged in one window; the rest is counted."""
_WINDOW_SECONDS = 10.0
_KINDS = 1_000
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REFUSED = (400, 401, 403, 404, 405, 408, 413, 416, 429, 431, 501, 503)
"""Statuses of which anyone can cause any number."""

_QUIET = ("alembic", "uvicorn.error", "kivy", "httpx", "opentelemetry")


def configure_log(level: str, format: Format = "text") -> None:
    """Send the log of this program, and of the libraries it uses, to standard error."""
    handler = LimitedHandler()
    handler.addFilter(_with_request_id)
    handler.setFormatter(_json() if format == "json" else _TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(True)
    for name in _QUIET:
        logging.getLogger(name).setLevel("WARNING")


def known_method(method: str) -> str:
    """A request's method as it is logged and counted: one that HTTP does not have may be of any length."""
    return method if method in _METHODS else "other"


def access(method: str, route: str, status: int, seconds: float, extra: dict[str, Any], open: bool = False) -> None:
    """Log one line for a finished request, without its text.

    ``extra`` has further fields: ``key_id``, ``degraded``, and ``query`` if queries are logged. ``open``: the route is
    open to all, so of many lines some are left out.
    """
    method = known_method(method)
    fields = {"method": method, "route": route, "status": status, "seconds": round(seconds, 6), **extra}
    more = "".join(f" {name}={field}" for name, field in extra.items())
    _access.info("%s %s %d in %.4f s%s", method, route, status, seconds, more, extra=fields | {"open": open})


def announce(line: str) -> None:
    """Log a line at any log level."""
    logger = logging.getLogger("dragoman")
    logger.handle(logger.makeRecord(logger.name, logging.INFO, __file__, 0, line, (), None))


class LimitedHandler(logging.StreamHandler[TextIO]):
    """Writes at most so many lines of one kind, and then how many more there were.

    A kind is a place in the code that logs, and an address where callers are refused for their key. Requests to what is
    open to all are a kind by their route, and refused ones by their status; others have their lines.
    """

    def __init__(self, lines: int = _LINES, seconds: float = _WINDOW_SECONDS) -> None:
        super().__init__()
        self._lines = lines
        self._seconds = seconds
        self._windows: OrderedDict[tuple[object, ...], _Window] = OrderedDict()
        self._look_at = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if now >= self._look_at:
            self._tell_left_out(now)
        kind = _kind(record)
        if kind is None:
            super().emit(record)
            return
        window = self._windows.get(kind)
        if window is None:
            window = self._windows[kind] = _Window(now + self._seconds, record)
            if len(self._windows) > _KINDS:
                self._say(self._windows.popitem(last=False)[1])
        window.count += 1
        if window.count <= self._lines:
            super().emit(record)

    def close(self) -> None:
        self._tell_left_out(float("inf"))
        super().close()

    def _tell_left_out(self, now: float) -> None:
        """End the windows whose time is over; they stand in the order of their ends."""
        self._look_at = now + 1
        while self._windows and next(iter(self._windows.values())).until <= now:
            self._say(self._windows.popitem(last=False)[1])

    def _say(self, window: _Window) -> None:
        left_out = window.count - self._lines
        if left_out > 0:
            first = window.first
            line = f"and {left_out:,} more lines like: {first.getMessage()[:200]}"
            super().emit(logging.LogRecord(first.name, first.levelno, first.pathname, first.lineno, line, (), None))


class _Window:
    """The lines of one kind since its first."""

    def __init__(self, until: float, first: logging.LogRecord) -> None:
        self.until = until
        self.first = first
        self.count = 0


def _kind(record: logging.LogRecord) -> tuple[object, ...] | None:
    """What a line is one of many of; None where each is to be written."""
    if record.name != _access.name:
        return record.name, record.levelno, record.pathname, record.lineno, getattr(record, "client", None)
    status, route = getattr(record, "status", 0), getattr(record, "route", "")
    if status in _REFUSED:
        return record.name, status
    return (record.name, route) if getattr(record, "open", False) else None


def _with_request_id(record: logging.LogRecord) -> bool:
    if identifier := request_id.get():
        record.request_id = identifier
    return True


_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
"""Characters that end a line, move the cursor, turn the writing direction, or are not seen at all."""


def escape_unseen(text: str) -> str:
    """Text as one line that shows what it holds: what could forge or hide a part of the log is escaped."""
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


class _TextFormatter(logging.Formatter):
    """A readable line, with the request's id if there is one; lines of a traceback begin with a bar."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        line = escape_unseen(super().formatMessage(record))
        identifier = getattr(record, "request_id", "")
        return f"{line} [request {identifier}]" if identifier else line

    def formatException(self, ei: Any) -> str:
        """A traceback holds messages with what callers sent, which must not look like lines of the log."""
        return "\n".join(f"| {escape_unseen(line)}" for line in super().formatException(ei).split("\n"))


def _json() -> logging.Formatter:
    return JsonFormatter(
        "{levelname}{name}{message}",
        style="{",
        rename_fields={"levelname": "level", "name": "logger", "exc_info": "traceback"},
        reserved_attrs=[*RESERVED_ATTRS, "color_message", "taskName", "open"],
        timestamp=True,
    )
