"""The id of a request, which its response, its log line and its trace carry."""

from __future__ import annotations

import re
from uuid import uuid4

from starlette.types import Scope

_USABLE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)


def request_identifier(scope: Scope) -> str:
    """The id of a request: its X-Request-Id if that is valid, or a new one."""
    for name, header in scope["headers"]:
        if name == b"x-request-id":
            sent_id = header.decode("latin-1")
            if _USABLE_ID.fullmatch(sent_id):
                return str(sent_id)
    return uuid4().hex
