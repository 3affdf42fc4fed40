"""The log: one line per event on standard error, as text or JSON, with the id of its request."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Any, Literal

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

Format = Literal["text", "json"]
Level = Literal["debug", "info", "warning", "error"]

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that this thread or task works for; empty if there is none."""

_access = logging.getLogger("dragoman.access")

_QUIET = ("alembic", "uvicorn.error", "kivy", "httpx", "opentelemetry")


def configure_log(level: str, format: Format = "text") -> None:
    """Send the log of this program, and of the libraries it uses, to standard error."""
    handler = logging.StreamHandler()
    handler.addFilter(_with_request_id)
    handler.setFormatter(_json() if format == "json" else _Text())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(True)
    for name in _QUIET:
        logging.getLogger(name).setLevel("WARNING")


def access(method: str, route: str, status: int, seconds: float, extra: dict[str, Any]) -> None:
    """Log one line for a finished request, without its text.

    ``extra`` has further fields: ``key_id``, ``degraded``, and ``query`` if queries are logged.
    """
    fields = {"method": method, "route": route, "status": status, "seconds": round(seconds, 6), **extra}
    more = "".join(f" {name}={value}" for name, value in extra.items())
    _access.info("%s %s %d in %.4f s%s", method, route, status, seconds, more, extra=fields)


def announce(line: str) -> None:
    """Log a line at any log level."""
    logger = logging.getLogger("dragoman")
    logger.handle(logger.makeRecord(logger.name, logging.INFO, __file__, 0, line, (), None))


def _with_request_id(record: logging.LogRecord) -> bool:
    if identifier := request_id.get():
        record.request_id = identifier
    return True


class _Text(logging.Formatter):
    """A readable line, with the request's id if there is one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        line = super().formatMessage(record)
        identifier = getattr(record, "request_id", "")
        return f"{line} [request {identifier}]" if identifier else line


def _json() -> logging.Formatter:
    return JsonFormatter(
        "{levelname}{name}{message}",
        style="{",
        rename_fields={"levelname": "level", "name": "logger", "exc_info": "traceback"},
        reserved_attrs=[*RESERVED_ATTRS, "color_message", "taskName"],
        timestamp=True,
    )
