"""Makes MART's lists of candidates from the sources in a training configuration."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from pydantic import Field

from dragoman.backbone.encoder import Encoder
from dragoman.service.schemas.search import Method
from dragoman_lab.backbone.config import ConfigError, ConfigTable
from dragoman_lab.backbone.text_files import text_files
from dragoman_lab.evaluation.answer_candidates import ENDINGS, AnswerLists, Answers
from dragoman_lab.evaluation.benchmark import choice
from dragoman_lab.evaluation.candidates import (
    Progress,
    chunked,
    documents_of,
    judged,
    weak,
    with_translated_documents,
    with_translated_queries,
)
from dragoman_lab.evaluation.local_service import LocalService, local_service
from dragoman_lab.evaluation.serving import TableFile
from dragoman_lab.evaluation.test_collection import Benchmark, load_benchmark
from dragoman_lab.ranking.lists import read_lists

WEIGHTS = {"": 0.7, ".dictionary": 0.3}
"""The weights of a pair's tables: `en-xx.tsv`, trained on parallel text, and `en-xx.dictionary.tsv`."""

LISTS_VERSION = 4
"""Increase it when the same sources would give other lists, for example after a change of psq."""
PARTS = 8
"""How many parts to rank for each document."""


class Judged(ConfigTable):
    """Queries with judgements, in a benchmark folder as for `dragoman evaluate`."""

    data: str
    unit: str
    source: str = "en"
    target: str = "en"
    queries: str | None = None
    only: str | None = None
    """Keep only queries that match FIELD=REGEX."""
    human: bool = False
    """Use the queries' human translations into `target` as queries."""
    word_by_word: bool = False
    """Translate the documents, and separately the queries, word by word into each language by its tables."""
    languages: list[str] = Field(default_factory=list)
    """With `word_by_word`: the languages to translate into; empty: all. Without: the languages to pair with English."""
    depth: int = 20
    part_words: int | None = None
    """Split documents into parts of whole sentences with at most this many words, and use the best part of each."""
    method: Method = "psq"
    """The first stage that finds and scores the candidates."""


class MartSources(ConfigTable):
    """The table `[sources]` of a training's configuration."""

    tables: str
    """Folder of the tables between English and the other languages."""
    parallel: list[str] = Field(default_factory=list)
    languages: list[str] = Field(default_factory=list)
    documents: int = 20_000
    queries: int = 8_000
    depth: int = 20
    seed: int = 1
    judged: list[Judged] = Field(default_factory=list)
    answers: list[Answers] = Field(default_factory=list)
    tuning: list[Judged] = Field(default_factory=list)
    tuning_tables: str | None = None
    """Folder of the tables for tuning; default: `tables`."""

    @classmethod
    def read(cls, table: Any, data: Path | None) -> Self:
        """The table `[sources]`, whose files are below the folder `data`.

        Raises:
            ConfigError: an unknown or missing field, or a value of the wrong type.
        """
        sources = cls.parse(table, "sources").below(data, "parallel")
        judged, tuning = ([entry.below(data, "data") for entry in part] for part in (sources.judged, sources.tuning))
        answers = [entry.below(data, "sets") for entry in sources.answers]
        return sources.model_copy(update={"judged": judged, "tuning": tuning, "answers": answers})


def prepare(sources: MartSources, encoder: Encoder, lists: Path, tuning: Path, step: Progress) -> None:
    """Make the missing folders of lists; each one appears only when it is complete.

    Raises:
        CorpusError: parallel text that cannot be used.
        BenchmarkError: judged data, or questions with answers, that cannot be used.
        ConfigError: a table or a set that is missing.
    """
    tokenizer = encoder.tokenizer_checksum
    for one in sources.judged:
        if one.source == one.target and not one.word_by_word and not one.languages:
            with _LazyService(None, one.source) as bench:
                _judged(one, one.source, encoder, tokenizer, lists / "judged", bench, sources.seed, step)
    _answers(sources, encoder, lists / "answers", step)
    for language in sources.languages:
        with _LazyService(sources.tables, language) as bench:
            _weak(sources, language, encoder, tokenizer, lists, bench, step)
            for one in sources.judged:
                _judged(one, language, encoder, tokenizer, lists / "judged", bench, sources.seed, step)
        with _LazyService(sources.tuning_tables or sources.tables, language) as bench:
            for one in sources.tuning:
                _judged(one, language, encoder, tokenizer, tuning, bench, sources.seed, step)


class _LazyService:
    """An embedded local service with a language's tables, started on first use."""

    def __init__(self, tables: str | None, language: str, named: str = "tables") -> None:
        """``tables`` is None if queries and documents are in one language; ``named`` is its field of the sources."""
        self._tables, self._language, self._named = tables, language, named
        self._started: Any = None

    def __enter__(self) -> _LazyService:
        return self

    def __exit__(self, *fault: Any) -> None:
        if self._started is not None:
            self._started.__exit__(*fault)

    def get(self) -> LocalService:
        if self._started is None:
            self._started = local_service(list(self._files()))
            self._bench: LocalService = self._started.__enter__()
        return self._bench

    def paths(self) -> list[Path]:
        return [file.path for file in self._files()]

    def _files(self) -> Iterator[TableFile]:
        if self._tables is None:
            return
        paths = {suffix: Path(self._tables) / f"en-{self._language}{suffix}.tsv" for suffix in WEIGHTS}
        found = {suffix: path for suffix, path in paths.items() if path.exists()}
        if not found:
            raise ConfigError(f"sources: {self._named}: {self._tables} holds no en-{self._language}.tsv")
        for suffix, path in found.items():
            yield TableFile(path, "en", self._language, weight=WEIGHTS[suffix])


def _digest(settings: list[Any], inputs: list[Path]) -> str:
    """A digest of the settings, the names and sizes of the input files, and the version of the lists."""
    files = sorted(file for path in inputs for file in ([path] if path.is_file() else path.rglob("*")))
    named = [(file.name, file.stat().st_size) for file in files if file.is_file()]
    return hashlib.sha256(json.dumps([LISTS_VERSION, settings, named]).encode()).hexdigest()


def _exists(folder: Path, made_from: str) -> bool:
    """Whether the folder already has these lists.

    Raises:
        ConfigError: the folder has lists that were made from other sources or settings.
    """
    if not folder.exists():
        return False
    known = read_lists(folder).made_from
    if known is not None and known != made_from:
        raise ConfigError(
            f"{folder}: these lists were made from other sources or settings: remove them, or choose another folder"
        )
    return True


def _weak(
    sources: MartSources,
    language: str,
    encoder: Encoder,
    tokenizer: str,
    lists: Path,
    bench: _LazyService,
    step: Progress,
) -> None:
    folders = [path for root in sources.parallel if (path := Path(root) / f"{language}-en").is_dir()]
    if not folders:
        return
    settings = [sources.documents, sources.queries, sources.depth, sources.seed]
    made_from = _digest(["weak", *settings], [*folders, *bench.paths()])
    pairs = [
        (a, b) for a, b in (("en", language), (language, "en")) if not _exists(lists / "weak" / f"{a}-{b}", made_from)
    ]
    if not pairs:
        return
    files = text_files(folders)
    noise = random.Random(sources.seed)
    counts = [sum(1 for _ in file.rows()) ** 0.7 for file in files]  # so that a large file does not dominate
    documents = [
        document
        for file, count in zip(files, counts, strict=True)
        for document in documents_of(file, int(sources.documents * count / sum(counts)), noise)
    ]
    noise.shuffle(documents)
    for source, target in pairs:
        weak(
            bench.get(),
            encoder,
            tokenizer,
            documents,
            source,
            target,
            queries=sources.queries,
            depth=sources.depth,
            seed=sources.seed,
            folder=lists / "weak" / f"{source}-{target}",
            made_from=made_from,
            step=step,
        )


def _answers(sources: MartSources, encoder: Encoder, folder: Path, step: Progress) -> None:
    names: set[str] = set()
    for one in sources.answers:
        made = AnswerLists(one, encoder)
        wanted: dict[tuple[str | None, str], list[tuple[str, str, str]]] = {}
        for path in one.sets:
            for source, target in one.directions(path, sources.languages):
                name = one.folder(path, source, target)
                if name in names:
                    raise ConfigError(f"sources: answers: two entries make lists {name}: give one of them a name")
                names.add(name)
                tables = None if source == target else one.linked_by or sources.tables
                wanted.setdefault((tables, target if source == "en" else source), []).append((path, source, target))
        for (tables, language), directions in wanted.items():
            with _LazyService(tables, language, "answers: linked_by" if one.linked_by else "tables") as bench:
                for path, source, target in directions:
                    _answer_list(sources, one, made, path, source, target, folder, bench, step)


def _answer_list(
    sources: MartSources,
    one: Answers,
    made: AnswerLists,
    path: str,
    source: str,
    target: str,
    folder: Path,
    bench: _LazyService,
    step: Progress,
) -> None:
    other = target if source == "en" else source
    switching = [] if made.switch is None or source == target else [made.switch.path(other)]
    data = [file for end in ENDINGS if (file := Path(path + end)).exists()]
    settings = one.model_copy(
        update={"name": "", "sets": [], "languages": [], "switched_by": "", "linked_by": ""}
    ).model_dump()
    by = [(file.name, file.stat().st_size) for file in switching]  # apart from the tables of links, which may be alike
    made_from = _digest(["answers", settings, sources.seed, by], [*data, *bench.paths()])
    name = folder / one.folder(path, source, target)
    if not _exists(name, made_from):
        made.write(bench.get(), path, source, target, seed=sources.seed, folder=name, made_from=made_from, step=step)


def _judged(
    one: Judged,
    language: str,
    encoder: Encoder,
    tokenizer: str,
    folder: Path,
    bench: _LazyService,
    seed: int,
    step: Progress,
) -> None:
    tasks = list(_tasks(one, language, bench, seed))
    if not tasks:
        return  # without starting the service or reading tables
    settings = one.model_copy(update={"data": "", "languages": []}).model_dump()
    if one.method == "psq":
        del settings["method"]  # which lists had before there was a choice
    made_from = _digest([settings, seed], [Path(one.data), *bench.paths()])
    for name, make in tasks:
        if _exists(folder / name, made_from):
            continue
        task = make()
        judged(
            bench.get(),
            encoder,
            tokenizer,
            task,
            depth=one.depth,
            folder=folder / name,
            made_from=made_from,
            step=step,
            parts=1 if one.part_words is None else PARTS,
            method=one.method,
        )


def _tasks(one: Judged, language: str, bench: _LazyService, seed: int) -> Iterator[tuple[str, Any]]:
    """The names and factories of the tasks of one entry for a language."""

    def load(source: str, target: str) -> Benchmark:
        task = load_benchmark(Path(one.data), source, target, one.unit, one.queries, choice(one.only, None))
        if one.human:
            judged_ones = {key for found in task.qrels.values() for key in found}
            documents = {key: text for key, text in task.documents.items() if key in judged_ones}
            task = replace(task, queries=task.translated_queries, documents=documents)
        return task if one.part_words is None else chunked(task, one.part_words)

    def surface() -> Any:
        return bench.get().runtime.tables.registry.snapshot.views["en", language].surface

    name = Path(one.data).name + ("" if one.part_words is None else f"-{one.part_words}")
    if one.word_by_word and (not one.languages or language in one.languages):
        drawn = [random.Random(f"{seed} {way}") for way in ("documents", "queries")]
        yield (
            f"{name}-en-{language}",
            lambda: with_translated_documents(load("en", "en"), language, surface(), drawn[0]),
        )
        yield f"{name}-{language}-en", lambda: with_translated_queries(load("en", "en"), language, surface(), drawn[1])
    elif language in one.languages and not one.word_by_word:
        yield f"{name}-{one.unit}-en-{language}", lambda: load("en", language)
        yield f"{name}-{one.unit}-{language}-en", lambda: load(language, "en")
    elif not one.languages and language in (one.source, one.target):
        yield f"{name}-{one.unit}-{one.source}-{one.target}", lambda: load(one.source, one.target)
