"""The files that translation tables are compiled to."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from dragoman.engine.tables.views import ActiveVersion, Pair, View, glossaries
from dragoman.lexicon.table.compose import Member, analyse_table, merge
from dragoman.lexicon.table.table import CorruptTable, Table
from dragoman.lexicon.table.written import WrittenForms
from dragoman.lexicon.text.tokens import Analysis

logger = logging.getLogger("dragoman")

Loaded = tuple[Table, WrittenForms]
T = TypeVar("T")

COMPILED_VERSION = "3"
"""Increase it when the same versions may compile to different files."""


class CompiledTables:
    """The compiled, memory-mapped files in a directory; all of them are derived from the database.

    ``<version id>/<checksum>.safetensors`` holds one version, and ``<checksum>.written`` beside it how its entries were
    written. ``merged/<key>-{surface,analysed}.safetensors`` hold the merged view of a language pair, and such files in
    ``selected`` the view of tables which a request chose. A missing or corrupt file is rebuilt.
    """

    def __init__(
        self, directory: Path, load: Callable[[ActiveVersion], Loaded], analysis: Callable[[str], Analysis]
    ) -> None:
        self._directory = directory
        self._merged = directory / "merged"
        self._selected = directory / "selected"
        self._load = load
        self._analysis = analysis

    def save(self, version: ActiveVersion, table: Table, written: WrittenForms) -> None:
        """Write the compiled files of a version."""
        path = self._path(version)
        path.parent.mkdir(parents=True, exist_ok=True)
        written.save(_beside(path))
        table.save(path)

    def table(self, version: ActiveVersion) -> Table:
        """The table of a version, in the direction it was uploaded in."""
        path = self._path(version)
        table = self.open_intact(version)
        if table is None:
            self._compile(version)
            table = Table.open(path)
        return table

    def written_forms(self, version: ActiveVersion) -> WrittenForms:
        """How the entries of a version were written; compiled from the database unless its file is intact."""
        path = _beside(self._path(version))
        if (written := _open_intact(WrittenForms.open, path, describe_versions([version]))) is None:
            self._compile(version)
            written = WrittenForms.open(path)
        return written

    def _compile(self, version: ActiveVersion) -> None:
        self.save(version, *self._load(version))
        logger.info(
            "compiled table %s version %d again from the database: %s",
            version.name,
            version.version,
            self._path(version),
        )

    def open_intact(self, version: ActiveVersion) -> Table | None:
        """The table of a version if its compiled file is intact; another is removed."""
        path = self._path(version)
        table = _open_intact(Table.open, path, describe_versions([version]))
        if table is not None and (table.source, table.target) != (version.source, version.target):
            table = None  # compiled under other codes of its languages
        if table is None:
            path.unlink(missing_ok=True)
        return table

    def view(self, pair: Pair, members: Sequence[ActiveVersion]) -> View:
        """The merged view of some versions of one pair, opened from its files or compiled."""
        return self._view(self._merged, pair, members)

    def selected_view(self, pair: Pair, members: Sequence[ActiveVersion]) -> View:
        """As :meth:`view`, of versions that a request chose; if it cannot be compiled, no file is left."""
        try:
            return self._view(self._selected, pair, members)
        except BaseException:
            self.remove_selected(self.key(pair, members))
            raise

    def _view(self, folder: Path, pair: Pair, members: Sequence[ActiveVersion]) -> View:
        surface_path, analysed_path = view_paths(folder, self.key(pair, members))
        what = describe_versions(members)
        surface = _open_intact(Table.open, surface_path, what)
        if surface is None:
            surface = _save(merge([self._member(pair, member) for member in members]), surface_path)
        by_term = _open_intact(Table.open, analysed_path, what)
        if by_term is None:
            source, target = (self._analysis(language) for language in pair)
            by_term = _save(analyse_table(surface, source, target, glossaries(members)), analysed_path)
        return View(tuple(members), surface, by_term)

    def key(self, pair: Pair, members: Sequence[ActiveVersion]) -> str:
        """The name of a merged view; it differs whenever the compiled files may differ."""
        described = {
            "compiled": COMPILED_VERSION,
            "pair": pair,
            "analyses": [self._analysis(language).fingerprint for language in pair],
            "members": [
                [member.name, member.version, member.source, member.kind, member.weight, member.checksum]
                for member in members
            ],
        }
        return hashlib.sha256(json.dumps(described, ensure_ascii=False).encode()).hexdigest()[:32]

    def keep_only(self, versions: Iterable[ActiveVersion], merged: Collection[str]) -> None:
        """Delete the compiled files of all other versions and views; open files stay usable."""
        folders = {str(version.id) for version in versions}
        try:
            for folder in list(self._directory.glob("[0-9]*")):
                if folder.name not in folders:
                    shutil.rmtree(folder, ignore_errors=True)
            _keep_only(self._merged, merged)
        except OSError as fault:
            _warn_of_leftovers(fault)

    def keep_only_selected(self, selected: Collection[str]) -> None:
        """Delete the files of all other views that requests chose."""
        try:
            _keep_only(self._selected, selected)
        except OSError as fault:
            _warn_of_leftovers(fault)

    def remove_selected(self, key: str) -> None:
        """Delete the files of one view that a request chose."""
        try:
            for path in view_paths(self._selected, key):
                path.unlink(missing_ok=True)
        except OSError as fault:
            _warn_of_leftovers(fault)

    def _member(self, pair: Pair, version: ActiveVersion) -> Member:
        table = self.table(version)
        oriented = table if (table.source, table.target) == pair else table.inverse()
        return Member(oriented, version.name, version.version, version.kind, version.weight)

    def _path(self, version: ActiveVersion) -> Path:
        return self._directory / str(version.id) / f"{version.checksum}.safetensors"


def describe_versions(members: Sequence[ActiveVersion]) -> str:
    """These versions, for people."""
    return ", ".join(f"table '{version.name}' version {version.version}" for version in members)


def content_checksum(table: Table, written: WrittenForms | None = None) -> str:
    """SHA-256 of the normalised entries in their canonical order: same content, same checksum.

    How terms were written counts where it differs from what they are folded to.
    """
    digest = hashlib.sha256()
    side = table.by_source
    for array, dtype in (
        (table.sources.offsets, "<i8"),
        (table.sources.blob, "u1"),
        (table.targets.offsets, "<i8"),
        (table.targets.blob, "u1"),
        (side.indptr, "<i8"),
        (side.ids, "<i4"),
        (side.forward, "<f4"),
        (side.backward, "<f4"),
    ):
        digest.update(np.ascontiguousarray(array, dtype=dtype).data)
    if written is not None and len(written):
        for side_forms in (written.source, written.target):
            digest.update(len(side_forms).to_bytes(8, "little"))
            for block in side_forms.blocks():
                digest.update(np.ascontiguousarray(block).data)
    return digest.hexdigest()


def _open_intact(opener: Callable[[Path], T], path: Path, what: str) -> T | None:
    try:
        return opener(path)
    except FileNotFoundError:
        return None
    except CorruptTable as fault:
        logger.warning("the compiled file of %s is damaged and is rebuilt: %s: %s", what, path, fault.reason)
        return None


def _save(table: Table, path: Path) -> Table:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.save(path)
    return Table.open(path)


def view_paths(folder: Path, key: str) -> tuple[Path, Path]:
    """The files of a view: of its words, and of its index terms."""
    surface, analysed = (folder / f"{key}-{name}.safetensors" for name in ("surface", "analysed"))
    return surface, analysed


def _beside(path: Path) -> Path:
    return path.with_suffix(".written")


def _keep_only(folder: Path, keys: Collection[str]) -> None:
    for path in list(folder.glob("*")):
        if path.name.split("-")[0] not in keys:
            path.unlink(missing_ok=True)


def _warn_of_leftovers(fault: OSError) -> None:
    logger.warning("unused compiled tables could not be deleted: %s", fault)
