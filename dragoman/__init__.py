"""Dragoman: search, rerank and read documents in languages the user does not read.

>>> import dragoman
>>> with dragoman.open(embed="on_demand") as db:
...     imported = db.collection("news", language="de").add([{"id": "1", "text": "Der Vulkan spuckt Asche."}])
...     table = db.tables.add("mine", {"volcano": "Vulkan"}, source="en", target="de")
...     [hit.id for hit in db.search("volcano")]
['1']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.door.answers.results import Hit
    from dragoman.door.database import Collection, Database
    from dragoman.door.models import encode, rank, tag
    from dragoman.door.opening import connect, connect_async, open
    from dragoman.door.table import Table
    from dragoman.engine.core.errors import ServiceError as Error

_PLACES = {
    "Collection": "dragoman.door.database",
    "Database": "dragoman.door.database",
    "Error": "dragoman.engine.core.errors:ServiceError",
    "Hit": "dragoman.door.answers.results",
    "Table": "dragoman.door.table",
    "connect": "dragoman.door.opening",
    "connect_async": "dragoman.door.opening",
    "encode": "dragoman.door.models",
    "open": "dragoman.door.opening",
    "rank": "dragoman.door.models",
    "tag": "dragoman.door.models",
}
"""Where each name is defined; imported when it is first used, so that `import dragoman` takes no time."""

__all__ = [
    "Collection",
    "Database",
    "Error",
    "Hit",
    "Table",
    "connect",
    "connect_async",
    "encode",
    "open",
    "rank",
    "tag",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    module, _, attribute = _PLACES[name].partition(":")
    member = getattr(import_module(module), attribute or name)
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
