"""What dense search knows of an encoder, from parallel and raw text in many languages.

A codec for the states of its subwords, and the mean vector of each language's passages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.indexes.dense.language_means import LanguageMeans
from dragoman.indexes.dense.state_codec import StateCodec
from dragoman_lab.backbone.config import ConfigError, ConfigTable
from dragoman_lab.backbone.text_files import TextFile, text_files

_LONGEST_LINE = 1_000
"""Characters of a line that are read."""
_SHORTEST_PASSAGE = 20


class CodebookTraining(ConfigTable):
    """The settings; folders are as for the backbone's training."""

    parallel: list[str] = Field(default_factory=list)
    raw: list[str] = Field(default_factory=list)
    encoder: str = "e5-small"
    layer: NonNegativeInt = 8
    bytes: PositiveInt = 48
    """Of a subword's codes; a divisor of the encoder's width."""
    subwords: PositiveInt = 10_000
    """Of each language."""
    passages: PositiveInt = 1_000
    """Of each language, for its mean."""
    seed: NonNegativeInt = 1

    def check(self) -> None:
        if not self.parallel and not self.raw:
            raise ConfigError("parallel or raw must name a folder of text")


def train_codebook(settings: CodebookTraining, output: Path, report: Callable[[str], None] = print) -> list[Path]:
    """Train a codec, compute the means, and write both to ``output``; each language has the same share in the codec.

    ``report`` is called with each language, and with the error of the codec on a tenth that was held out.

    Raises:
        ConfigError: the encoder's states have another width than codes of this size can be of, or too few are found.
        CorpusError: a file cannot be read.
    """
    encoder = SentenceEncoder(load_encoder(settings.encoder))
    if encoder.width % settings.bytes:
        raise ConfigError(f"bytes: {settings.bytes} does not divide the width of {encoder.name}, {encoder.width}")
    states = sampled_states(settings, encoder, report)
    held_out, rest = np.split(states, [len(states) // 10])
    if len(rest) < 256:
        raise ConfigError(f"{len(rest)} subwords are too few to train a codec; 256 are needed")
    codec = StateCodec.train(rest, settings.bytes, settings.layer, settings.seed)
    report(f"cosine of {len(held_out):,} other states with their codes: {_fidelity(codec, held_out):.4f} in the mean")
    paths = [output / f"{Path(settings.encoder).name}{kind}.safetensors" for kind in ("", ".means")]
    output.mkdir(parents=True, exist_ok=True)
    codec.save(paths[0])
    language_means(settings, encoder, report).save(paths[1])
    return paths


def language_means(
    settings: CodebookTraining, encoder: SentenceEncoder, report: Callable[[str], None]
) -> LanguageMeans:
    """The mean vector of passages of each language, lines of its files in turn."""
    means = {}
    for language, files in _texts(settings).items():
        lines = (line for line in _in_turn(files) if len(line) >= _SHORTEST_PASSAGE)
        passages = list(islice(lines, settings.passages))
        if passages:
            means[language] = encoder.encode(passages, "passage").mean(0)
        report(f"{language}: {len(passages):,} passages")
    return LanguageMeans(means)


def sampled_states(
    settings: CodebookTraining, encoder: SentenceEncoder, report: Callable[[str], None]
) -> NDArray[np.float32]:
    """Unit states (subwords, width) of text in all languages, in random order."""
    rows = []
    for language, texts in _texts(settings).items():
        rows.append(_states(encoder, texts, settings))
        report(f"{language}: {len(rows[-1]):,} subwords")
    states = np.concatenate(rows)
    np.random.default_rng(settings.seed).shuffle(states)
    return states


def _fidelity(codec: StateCodec, states: NDArray[np.float32]) -> float:
    decoded = codec.decode(codec.encode(states))
    norms = np.linalg.norm(decoded, axis=1) * np.linalg.norm(states, axis=1)
    return float(((decoded * states).sum(1) / np.maximum(norms, 1e-12)).mean())


def _texts(settings: CodebookTraining) -> dict[str, list[Iterator[str]]]:
    """The lines of each language, by file, each file in an order of its own."""
    files = text_files(*([Path(folder) for folder in folders] for folders in (settings.parallel, settings.raw)))
    texts: dict[str, list[Iterator[str]]] = {}
    for file in files:
        for column, language in enumerate(file.languages):
            texts.setdefault(language, []).append(_lines(file, column, Random(f"{settings.seed} {file.path.name}")))
    return dict(sorted(texts.items()))


def _lines(file: TextFile, column: int, random: Random) -> Iterator[str]:
    """Some of the lines of a file: every n-th, with n growing, so that a long file is read in a small part."""
    step, skip = 1.0, 0
    for row in file.rows():
        if skip:
            skip -= 1
            continue
        yield row[column][:_LONGEST_LINE]
        step += 0.05
        skip = math.floor(random.random() * step)


def _states(
    encoder: SentenceEncoder, files: Sequence[Iterator[str]], settings: CodebookTraining
) -> NDArray[np.float32]:
    """Unit states (subwords, width) of a language, from its files in turn."""
    states: list[NDArray[np.float32]] = []
    count, lines = 0, _in_turn(files)
    while count < settings.subwords and (some := list(islice(lines, len(files)))):
        part = encoder.encode_tokens(some, "passage", settings.layer)[1]
        states.extend(sentence.states for sentence in part)
        count += sum(len(sentence.states) for sentence in part)
    empty = np.zeros((0, encoder.width), np.float32)
    return np.concatenate([empty, *states])[: settings.subwords]


def _in_turn(files: Sequence[Iterator[str]]) -> Iterator[str]:
    """A line of each file in turn, until all have ended."""
    unread = list(files)
    while unread:
        for file in list(unread):
            line = next(file, None)
            if line is None:
                unread.remove(file)
            else:
                yield line
