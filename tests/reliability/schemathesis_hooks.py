"""What schemathesis does not know by itself: how to write NDJSON, and that plain text is plain."""

from __future__ import annotations

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def ndjson(context: Any, value: Any) -> bytes:
    """One line of whatever was generated."""
    return value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"


@schemathesis.serializer("text/tab-separated-values")
def table(context: Any, value: Any) -> bytes:
    """The text as it is."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@schemathesis.serializer("application/gzip")
def packed(context: Any, value: Any) -> bytes:
    """Bytes as they are; text that is no gzip."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
