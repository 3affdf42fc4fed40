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
from dragoman.engine.search.request import Method
from dragoman_lab.backbone.config import ConfigError, ConfigTable
from dragoman_lab.backbone.text_files import text_files
from dragoman_lab.evaluation.answer_candidates import ENDINGS, AnswerLists, AnswerSource
from dragoman_lab.evaluation.benchmark import Benchmark, load_benchmark
from dragoman_lab.evaluation.candidates import (
    Progress,
    chunk_documents,
    documents_of,
    translate_documents,
    translate_queries,
    write_judged_lists,
    write_weak_lists,
)
from dragoman_lab.evaluation.evaluation import choice
from dragoman_lab.evaluation.local_service import LocalService, local_service
from dragoman_lab.evaluation.serving import TableFile
from dragoman_lab.ranking.lists import read_lists

WEIGHTS = {"": 0.7, ".dictionary": 0.3}
"""The weights of a pair's tables: `en-xx.tsv`, trained on parallel text, and `en-xx.dictionary.tsv`."""

LISTS_VERSION = 4
"""Increase it when the same sources would give other lists, for example after a change of psq."""
PARTS = 8
"""How many parts to rank for each document."""


class JudgedSource(ConfigTable):
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
    judged: list[JudgedSource] = Field(default_factory=list)
    answers: list[AnswerSource] = Field(default_factory=list)
    tuning: list[JudgedSource] = Field(default_factory=list)
    tuning_tables: str | None = None
    """Folder of the tables for tuning; default: `tables`."""

    @classmethod
    def parse_below(cls, table: Any, folder: Path | None) -> Self:
        """The table `[sources]`, whose files are below `folder`.

        Raises:
            ConfigError: an unknown or missing field, or a value of the wrong type.
        """
        sources = cls.parse(table, "sources").below(folder, "parallel")
        judged, tuning = ([entry.below(folder, "data") for entry in part] for part in (sources.judged, sources.tuning))
        answers = [entry.below(folder, "sets") for entry in sources.answers]
        return sources.model_copy(update={"judged": judged, "tuning": tuning, "answers": answers})


def prepare(sources: MartSources, encoder: Encoder, lists: Path, tuning: Path, step: Progress) -> None:
    """Make the missing folders of lists; each one appears only when it is complete.

    Raises:
        CorpusError: parallel text that cannot be used.
        BenchmarkError: judged data, or questions with answers, that cannot be used.
        ConfigError: a table or a set that is missing.
    """
    tokenizer = encoder.tokenizer_checksum
    for entry in sources.judged:
        if entry.source == entry.target and not entry.word_by_word and not entry.languages:
            with _LazyService(None, entry.source) as service:
                _make_judged_lists(
                    entry, entry.source, encoder, tokenizer, lists / "judged", service, sources.seed, step
                )
    _make_answer_lists(sources, encoder, lists / "answers", step)
    for language in sources.languages:
        with _LazyService(sources.tables, language) as service:
            _make_weak_lists(sources, language, encoder, tokenizer, lists, service, step)
            for entry in sources.judged:
                _make_judged_lists(entry, language, encoder, tokenizer, lists / "judged", service, sources.seed, step)
        with _LazyService(sources.tuning_tables or sources.tables, language) as service:
            for entry in sources.tuning:
                _make_judged_lists(entry, language, encoder, tokenizer, tuning, service, sources.seed, step)


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
            self._service: LocalService = self._started.__enter__()
        return self._service

    def paths(self) -> list[Path]:
        return [file.path for file in self._files()]

    def _files(self) -> Iterator[TableFile]:
        if self._tables is None:
            return
        paths = {suffix: Path(self._tables) / f"en-{self._language}{suffix}.tsv" for suffix in WEIGHTS}
        files = {suffix: path for suffix, path in paths.items() if path.exists()}
        if not files:
            raise ConfigError(f"sources: {self._named}: {self._tables} holds no en-{self._language}.tsv")
        for suffix, path in files.items():
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
    made_before = read_lists(folder).made_from
    if made_before is not None and made_before != made_from:
        raise ConfigError(
            f"{folder}: these lists were made from other sources or settings: remove them, or choose another folder"
        )
    return True


def _make_weak_lists(
    sources: MartSources,
    language: str,
    encoder: Encoder,
    tokenizer: str,
    lists: Path,
    service: _LazyService,
    step: Progress,
) -> None:
    folders = [path for root in sources.parallel if (path := Path(root) / f"{language}-en").is_dir()]
    if not folders:
        return
    settings = [sources.documents, sources.queries, sources.depth, sources.seed]
    made_from = _digest(["weak", *settings], [*folders, *service.paths()])
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
        write_weak_lists(
            service.get(),
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


def _make_answer_lists(sources: MartSources, encoder: Encoder, folder: Path, step: Progress) -> None:
    names: set[str] = set()
    for entry in sources.answers:
        maker = AnswerLists(entry, encoder)
        directions_of: dict[tuple[str | None, str], list[tuple[str, str, str]]] = {}
        for path in entry.sets:
            for source, target in entry.directions(path, sources.languages):
                name = entry.folder(path, source, target)
                if name in names:
                    raise ConfigError(f"sources: answers: two entries make lists {name}: give one of them a name")
                names.add(name)
                tables = None if source == target else entry.linked_by or sources.tables
                directions_of.setdefault((tables, target if source == "en" else source), []).append(
                    (path, source, target)
                )
        for (tables, language), directions in directions_of.items():
            with _LazyService(tables, language, "answers: linked_by" if entry.linked_by else "tables") as service:
                for path, source, target in directions:
                    _make_answer_list(sources, entry, maker, path, source, target, folder, service, step)


def _make_answer_list(
    sources: MartSources,
    entry: AnswerSource,
    maker: AnswerLists,
    path: str,
    source: str,
    target: str,
    folder: Path,
    service: _LazyService,
    step: Progress,
) -> None:
    other = target if source == "en" else source
    switching = [] if maker.switch is None or source == target else [maker.switch.path(other)]
    inputs = [file for end in ENDINGS if (file := Path(path + end)).exists()]
    settings = entry.model_copy(
        update={"name": "", "sets": [], "languages": [], "switched_by": "", "linked_by": ""}
    ).model_dump()
    by = [(file.name, file.stat().st_size) for file in switching]  # apart from the tables of links, which may be alike
    made_from = _digest(["answers", settings, sources.seed, by], [*inputs, *service.paths()])
    name = folder / entry.folder(path, source, target)
    if not _exists(name, made_from):
        maker.write(service.get(), path, source, target, seed=sources.seed, folder=name, made_from=made_from, step=step)


def _make_judged_lists(
    entry: JudgedSource,
    language: str,
    encoder: Encoder,
    tokenizer: str,
    folder: Path,
    service: _LazyService,
    seed: int,
    step: Progress,
) -> None:
    tasks = list(_tasks(entry, language, service, seed))
    if not tasks:
        return  # without starting the service or reading tables
    settings = entry.model_copy(update={"data": "", "languages": []}).model_dump()
    if entry.method == "psq":
        del settings["method"]  # which lists had before there was a choice
    made_from = _digest([settings, seed], [Path(entry.data), *service.paths()])
    for name, make in tasks:
        if _exists(folder / name, made_from):
            continue
        task = make()
        write_judged_lists(
            service.get(),
            encoder,
            tokenizer,
            task,
            depth=entry.depth,
            folder=folder / name,
            made_from=made_from,
            step=step,
            parts=1 if entry.part_words is None else PARTS,
            method=entry.method,
        )


def _tasks(entry: JudgedSource, language: str, service: _LazyService, seed: int) -> Iterator[tuple[str, Any]]:
    """The names and factories of the tasks of one entry for a language."""

    def load(source: str, target: str) -> Benchmark:
        task = load_benchmark(Path(entry.data), source, target, entry.unit, entry.queries, choice(entry.only, None))
        if entry.human:
            judged_ids = {key for judgements in task.qrels.values() for key in judgements}
            documents = {key: text for key, text in task.documents.items() if key in judged_ids}
            task = replace(task, queries=task.translated_queries, documents=documents)
        return task if entry.part_words is None else chunk_documents(task, entry.part_words)

    def surface() -> Any:
        return service.get().runtime.tables.registry.snapshot.views["en", language].surface

    name = Path(entry.data).name + ("" if entry.part_words is None else f"-{entry.part_words}")
    if entry.word_by_word and (not entry.languages or language in entry.languages):
        drawn = [random.Random(f"{seed} {way}") for way in ("documents", "queries")]
        yield (
            f"{name}-en-{language}",
            lambda: translate_documents(load("en", "en"), language, surface(), drawn[0]),
        )
        yield f"{name}-{language}-en", lambda: translate_queries(load("en", "en"), language, surface(), drawn[1])
    elif language in entry.languages and not entry.word_by_word:
        yield f"{name}-{entry.unit}-en-{language}", lambda: load("en", language)
        yield f"{name}-{entry.unit}-{language}-en", lambda: load(language, "en")
    elif not entry.languages and language in (entry.source, entry.target):
        yield f"{name}-{entry.unit}-{entry.source}-{entry.target}", lambda: load(entry.source, entry.target)
