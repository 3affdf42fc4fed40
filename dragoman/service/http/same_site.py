"""Keeps other web sites out of an open service: a page in a browser on this machine can send requests to loopback.

A name that its owner lets resolve to 127.0.0.1 makes the page's requests same-origin (DNS rebinding), so that it could
read what is answered: the Host header has to be a loopback address or a configured name. And a page may send what it
cannot read the answer of, such as a PUT: browsers name the page's site in Origin, which has to be the service's own.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from dragoman.engine.core.errors import Forbidden

READING = ("GET", "HEAD")
"""Methods that change nothing."""


def check_same_site(scope: Scope, allowed: Collection[str], origins: Collection[str] = ()) -> None:
    """Check that a request without a key is no other web site's; `allowed` are host names in lower case.

    Sites of ``origins`` may call; ``*`` is none of them, as that would open a service without keys to every page.

    Raises:
        Forbidden: the Host is not this machine's, or Origin is another site and the method is not GET or HEAD. With
            ``*`` pages of other sites could read an answer to those, so they are refused as well.
    """
    headers = Headers(scope=scope)
    host, origin = headers.get("host"), headers.get("origin")
    if host is not None and not _is_allowed(_name("//" + host), allowed):
        raise Forbidden(f"Host: {host!r} is no name of this machine; DRAGOMAN_ALLOWED_HOSTS may name it", "site")
    if origin is None or origin.lower() in origins or (scope["method"] in READING and "*" not in origins):
        return
    if origin.partition("://")[2].lower() != (host or "").lower() and _name(origin) not in allowed:
        raise Forbidden(f"Origin: {origin!r} is another site; DRAGOMAN_ALLOWED_HOSTS may name it", "site")


def _name(address: str) -> str | None:
    """The host name of an address, in lower case and without the root's dot."""
    try:
        return (urlsplit(address).hostname or "").removesuffix(".") or None
    except ValueError:
        return None


def _is_allowed(name: str | None, allowed: Collection[str]) -> bool:
    if name is None:
        return False
    if name in allowed or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
