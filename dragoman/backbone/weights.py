"""The models in the package, each a folder of safetensors with a model card."""

from __future__ import annotations

from pathlib import Path

WEIGHTS = Path(__file__).parent / "weights"


def shipped_names() -> list[str]:
    """Names of the shipped models, such as `small`."""
    return sorted(path.name for path in WEIGHTS.glob("*") if (path / "config.json").is_file())


def shipped(name: str) -> Path:
    """The folder of a shipped model.

    Raises:
        KeyError: if there is no such model.
    """
    if name not in shipped_names():
        raise KeyError(name)
    return WEIGHTS / name
