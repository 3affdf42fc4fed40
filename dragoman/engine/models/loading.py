"""What loads the neural models of the service: the configured ones, or those that come as packages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.backbone.pretrained.packages import E5_SMALL
from dragoman.engine.core.errors import NotInstalled
from dragoman.engine.core.names import model_name
from dragoman.engine.models.encoding import EncoderInfo, SentenceEncoder
from dragoman.engine.models.generation import ReasonerInfo, describe_reasoner, load_reasoner
from dragoman.engine.models.readers import ReaderInfo, load_reader, load_statement_reader
from dragoman.engine.models.tagging import TaggerInfo, TaggerTask, load_tagger
from dragoman.engine.models.translating import load_translator
from dragoman.engine.settings import Settings
from dragoman.ranking.about import LATE, RerankerAbout
from dragoman.ranking.maxsim import MAX_RARITY

if TYPE_CHECKING:
    from dragoman.backbone.encoder import Encoder
    from dragoman.ranking.scoring import AnyScorer
    from dragoman.reasoning.inference import PackedReader
    from dragoman.reasoning.layalign.reasoner import Reasoner
    from dragoman.tagging.tagger import Tagger

ENCODER = E5_SMALL.name
"""The default encoder."""


@dataclass(frozen=True, slots=True)
class RerankerInfo:
    """A reranker's description, and its scorer, which prepares texts on any thread."""

    about: RerankerAbout
    scorer: AnyScorer


def _load_encoder(settings: Settings, shared: Shared) -> tuple[SentenceEncoder, EncoderInfo]:
    from dragoman.indexes.dense.language_means import shipped_means
    from dragoman.indexes.dense.state_codec import shipped_codec

    place = settings.models.encoder or ENCODER
    encoder, loaded = shared(place)
    identity = _identity(encoder.name, place, loaded.checksum)
    codec, surprisals = shipped_codec(place), encoder.surprisals()
    info = EncoderInfo(
        f"{identity} {encoder.precision}",
        encoder.width,
        encoder.unrelated_cosine,
        means=shipped_means(place),
        earlier=(identity, encoder.name),
        sizes=tuple(size for size in encoder.pooling.sizes if size <= encoder.width),
        pooling=encoder.pooling.mode,
        normalized=encoder.pooling.normalized,
        max_length=loaded.max_length,
    )
    if codec is None or surprisals is None:
        return encoder, info
    identity = f"{identity} {codec.checksum[:16]}"  # or codes of another codec would be decoded with this one
    rarities = np.minimum(surprisals, MAX_RARITY)
    with_precision = f"{identity} {encoder.precision}"
    return encoder, replace(info, identity=with_precision, codec=codec, surprisals=rarities, earlier=(identity,))


def may_be_of_encoder(settings: Settings, identity: str) -> bool:
    """Whether vectors of this identity may be of the configured encoder, as far as its name alone says."""
    place = settings.models.encoder or ENCODER
    return identity.startswith(place) and identity[len(place) :][:1] in ("", " ", "@")


def encoder_name(settings: Settings) -> str:
    """The name of the sentence encoder, for callers."""
    return model_name(settings.models.encoder or ENCODER)


def has_encoder(settings: Settings) -> bool:
    """Whether there is a sentence encoder: a configured one, or the one that comes as a package."""
    return settings.models.encoder is not None or E5_SMALL.find([settings.store.models_dir]) is not None


def has_reranker(settings: Settings) -> bool:
    """Whether there is a reranker: a configured one, one in a worker process, or one shipped."""
    return (
        settings.models.reranker is not None
        or settings.worker.worker_url is not None
        or E5_SMALL.find([settings.store.models_dir]) is not None
    )


def reranker_place(settings: Settings) -> str:
    """The name or folder of the reranker: `late`, unless another is configured."""
    return settings.models.reranker or LATE


def _load_reranker(settings: Settings, shared: Shared) -> tuple[AnyScorer, RerankerInfo]:
    import torch

    from dragoman.backbone.products import fastest
    from dragoman.ranking.scoring import load_scorer

    if not has_reranker(settings):
        raise NotInstalled(f"the reranker needs {ENCODER}: {E5_SMALL.install}; or DRAGOMAN_RERANKER names another one")
    precisions = (torch.float32, torch.bfloat16)
    chosen = settings.models.rerank_precision
    dtype = fastest(settings.models.device or "cpu", precisions) if chosen == "auto" else getattr(torch, chosen)
    scorer, about = load_scorer(reranker_place(settings), settings.models.device, dtype, lambda name: shared(name)[0])
    return scorer, RerankerInfo(about, scorer)


Shared = Callable[[str], tuple[Any, "Encoder"]]
"""Gives the sentence encoder of a name or folder, loaded now if necessary."""
LOADERS: dict[str, Callable[[Settings, Shared], tuple[Any, Any]]] = {
    "encoder": _load_encoder,
    "translator": lambda settings, shared: load_translator(settings),
    "reranker": _load_reranker,
    "reader": lambda settings, shared: _with_info(load_reader(settings)),
    "statement_reader": lambda settings, shared: _with_info(load_statement_reader(settings)),
    "reasoner": lambda settings, shared: _load_reasoner(settings),
    "ner_tagger": lambda settings, shared: _load_tagger(settings, "ner", shared),
    "pos_tagger": lambda settings, shared: _load_tagger(settings, "pos", shared),
}
"""By name, what loads a model, and gives it with its description."""


def _with_info(reader: PackedReader) -> tuple[PackedReader, ReaderInfo]:
    return reader, ReaderInfo(reader.name, reader.languages)


def _load_reasoner(settings: Settings) -> tuple[Reasoner, ReasonerInfo]:
    reasoner = load_reasoner(settings)
    return reasoner, describe_reasoner(reasoner)


def _load_tagger(settings: Settings, task: TaggerTask, shared: Shared) -> tuple[Tagger, TaggerInfo]:
    tagger = load_tagger(settings, task, shared)
    return tagger, TaggerInfo(tagger.name, frozenset(tagger.languages))


def _identity(name: str, place: str, checksum: str | None) -> str:
    """The encoder's name and a checksum of its weights or files: they can change under the same name."""
    if checksum is not None:
        return f"{name} {checksum[:16]}"
    folder = Path(place)
    digest = hashlib.sha256()
    several = (folder / "modules.json").is_file()  # of sentence-transformers: some modules are in folders of their own
    for path in sorted(folder.rglob("*") if several else folder.iterdir()):
        if path.suffix in (".safetensors", ".json"):
            digest.update(str(path.relative_to(folder)).encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"{name} {digest.hexdigest()[:16]}"
