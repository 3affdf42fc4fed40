"""The taggers in the package, each a folder with a model card: `ner` and `pos`."""

from __future__ import annotations

from pathlib import Path

WEIGHTS = Path(__file__).parent / "weights"


def find_shipped(name: str) -> Path | None:
    """The folder of a shipped tagger; None if the package has none of that name."""
    folder = WEIGHTS / name
    return folder if (folder / "config.json").is_file() else None
