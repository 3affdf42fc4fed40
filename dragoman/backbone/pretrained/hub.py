"""Whether a checkpoint can be had: in a folder, in the cache of Hugging Face, or on the hub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dragoman.backbone.checkpoints import CONFIG, CheckpointError

_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_SECONDS = 5.0


def require_available(name_or_path: str) -> None:
    """Check that a checkpoint is there, or that the hub can be asked for it.

    Libraries ask a hub that cannot be reached again and again, which takes half a minute.

    Raises:
        CheckpointError: it is not; the message says what to do.
    """
    if Path(name_or_path).is_dir():
        return
    if not _NAME.fullmatch(name_or_path) or name_or_path.startswith("."):
        raise CheckpointError(f"{name_or_path}: there is no such folder, and it is no name of a model")
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(name_or_path, CONFIG), str):
        return
    try:
        get_hf_file_metadata(hf_hub_url(name_or_path, CONFIG), timeout=_SECONDS)
    except Exception as error:  # of the network, its proxies and the hub, which have no common class
        refused = getattr(getattr(error, "response", None), "status_code", None)
        why = f"the hub of Hugging Face answers {refused}" if refused else "the hub cannot be reached"
        raise CheckpointError(
            f"{name_or_path}: there is no such folder, it is not in the cache of Hugging Face, and {why}; where there"
            f" is a network, `hf download {name_or_path} --local-dir FOLDER` makes a folder to name here instead"
        ) from error


def file_of(name_or_path: str, path: str) -> Path | None:
    """A file of a checkpoint, fetched from the hub if it is a name; None if there is none."""
    if Path(name_or_path).is_dir():
        file = Path(name_or_path) / path
        return file if file.is_file() else None
    from transformers.utils.hub import cached_file

    cached = cached_file(name_or_path, path, _raise_exceptions_for_missing_entries=False)
    return None if cached is None else Path(cached)


def fetch_folder(name_or_path: str, patterns: Sequence[str]) -> Path:
    """The folder of a checkpoint; of a name, the files of these patterns are fetched from the hub.

    Raises:
        CheckpointError: it cannot be had; the message says what to do.
    """
    if is_place(name_or_path):
        return Path(name_or_path)
    require_available(name_or_path)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name_or_path, allow_patterns=list(patterns), ignore_patterns=["consolidated*"]))
    except Exception as error:  # of the network, its proxies and the hub, which have no common class
        raise CheckpointError(f"{name_or_path}: cannot be fetched from the hub: {error}") from error


def is_place(name_or_path: str) -> bool:
    """Whether this is the path of a folder, there or not, and no name."""
    return Path(name_or_path).is_dir() or not _NAME.fullmatch(name_or_path) or name_or_path.startswith(".")
