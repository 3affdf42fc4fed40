"""multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672) from the package's file, behind the encoder interface.

A BERT of 12 layers with XLM-R's vocabulary; a sentence is the mean of the last layer over all tokens of
`query: text` or `passage: text`. The embeddings stay in the mapped file and are not trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import NativeEncoder, Pair
from dragoman.backbone.pretrained.e5_file import E5File, dequantise
from dragoman.backbone.pretrained.packages import E5_SMALL
from dragoman.backbone.tokenizer import Subwords
from dragoman.backbone.veco import BertEncoder, VecoConfig

NAME = "e5-small"
MASK = "<mask>"
"""XLM-R's mask, which the file has as a piece like any other."""
PREFIXES = {"query": "query: ", "passage": "passage: "}
UNRELATED_COSINE = 0.7


class MappedEmbedding(nn.Module):
    """Embeddings that are dequantised as they are looked up; on another device than the CPU, all at once."""

    def __init__(self, file: E5File, width: int) -> None:
        super().__init__()
        self._blocks = file.blocks("emb.word", width)
        self._tables: dict[torch.device, Tensor] = {}

    def forward(self, ids: Tensor) -> Tensor:
        """The embeddings (..., width) of ids, in float32 on a CPU."""
        if ids.device.type != "cpu":
            if ids.device not in self._tables:
                self._tables[ids.device] = torch.from_numpy(dequantise(self._blocks)).to(ids.device)
            return nn.functional.embedding(ids, self._tables[ids.device])
        different, places = torch.unique(ids, return_inverse=True)
        return torch.from_numpy(dequantise(self._blocks[different.numpy()]))[places]


class E5Encoder(NativeEncoder):
    """multilingual-e5-small."""

    precisions = (torch.float32, torch.bfloat16, torch.int8)

    def __init__(self, model: BertEncoder, vocabulary: Subwords, file: E5File) -> None:
        super().__init__(model, vocabulary, NAME, sentence_layer=model.config.layers)
        self.pad, self._bos, self._eos = file.pad, file.bos, file.eos
        self.mask_id = next(piece_id for piece_id, (piece, _) in enumerate(file.pieces) if piece == "<mask>")
        self.prefixes, self.unrelated_cosine = PREFIXES, UNRELATED_COSINE
        self.checksum = file.checksum
        self._surprisals = _surprisals(file)

    def surprisals(self) -> NDArray[np.float64]:
        return self._surprisals

    def frame(self, ids: Sequence[int]) -> list[int]:
        return [self._bos, *ids, self._eos]

    def pair(self, first: Sequence[int], second: Sequence[int]) -> Pair:
        """`<s> first </s></s> second </s>` as in XLM-R."""
        return Pair([*self.frame(first), self._eos, *second, self._eos], 1, len(first) + 3)

    def room_beside(self, first: int) -> int:
        return self.max_length - 4 - first


class _Uninitialised(TorchFunctionMode):
    """Modules are made without initial values: on the device `meta` these would load torch's compiler, 70 MB."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"] if kwargs and "tensor" in kwargs else args[0]
        return func(*args, **(kwargs or {}))


def load_e5(path: Path | None = None) -> E5Encoder:
    """Load the encoder from the installed package, or from a file.

    Raises:
        CheckpointError: if the package is not installed, or the file is damaged or another one.
    """
    file = E5File(path or E5_SMALL.require())
    sizes = file.sizes
    config = VecoConfig(
        vocabulary=sizes.vocabulary,
        width=sizes.width,
        layers=sizes.layers,
        heads=sizes.heads,
        feed_forward=sizes.feed_forward,
        max_length=sizes.positions,
        cross_attention=False,
        norm_epsilon=file.epsilon,
    )
    with torch.device("meta"), _Uninitialised():
        model = BertEncoder(config, MappedEmbedding(file, sizes.width))
    model.load_state_dict(_weights(file), assign=True)
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    encoder = E5Encoder(model, _vocabulary(file), file)
    file.release()
    return encoder


_vocabularies: WeakValueDictionary[str, Subwords] = WeakValueDictionary()
_loading = Lock()


def _vocabulary(file: E5File) -> Subwords:
    """The file's vocabulary, one for all encoders of a process: it takes 270 MB, three times as much as the weights."""
    with _loading:
        vocabulary = _vocabularies.get(file.checksum)
        if vocabulary is None:
            vocabulary = _vocabularies[file.checksum] = Subwords(_tokenizer(file), [MASK])
        return vocabulary


def _surprisals(file: E5File) -> NDArray[np.float64]:
    """-log p of each subword; the maximum for special tokens, which have no probability."""
    logs = np.array([score for _, score in file.pieces])
    return np.where(logs < 0, -logs, -logs.min())


def _weights(file: E5File) -> dict[str, Tensor]:
    """The file's tensors by the names of `BertEncoder`; BERT's only token type is merged into the positions."""
    width, inner = file.sizes.width, file.sizes.feed_forward

    def tensor(name: str, *shape: int) -> Tensor:
        return torch.from_numpy(file.tensor(name, *shape))

    weights_by_name = {
        "positions.weight": tensor("emb.pos", file.sizes.positions, width)
        + tensor("emb.type", file.sizes.segments, width)[0],
        "embedding_norm.weight": tensor("emb.ln.w", width),
        "embedding_norm.bias": tensor("emb.ln.b", width),
    }
    for index in range(file.sizes.layers):
        ours, theirs = f"layers.{index}.", f"l{index}."
        heads = (theirs + part for part in "qkv")
        weights, biases = zip(*((tensor(f"{h}.w", width, width), tensor(f"{h}.b", width)) for h in heads), strict=True)
        weights_by_name[f"{ours}attention.in_projection.weight"] = torch.cat(weights)
        weights_by_name[f"{ours}attention.in_projection.bias"] = torch.cat(biases)
        for name, short, outputs, inputs in (
            ("attention.out_projection", "ao", width, width),
            ("feed_forward.inner", "fi", inner, width),
            ("feed_forward.outer", "fo", width, inner),
        ):
            weights_by_name[f"{ours}{name}.weight"] = tensor(f"{theirs}{short}.w", outputs, inputs)
            weights_by_name[f"{ours}{name}.bias"] = tensor(f"{theirs}{short}.b", outputs)
        for name, short in (("attention_norm", "aln"), ("feed_forward_norm", "oln")):
            weights_by_name[f"{ours}{name}.weight"] = tensor(f"{theirs}{short}.w", width)
            weights_by_name[f"{ours}{name}.bias"] = tensor(f"{theirs}{short}.b", width)
    return weights_by_name


def _tokenizer(file: E5File) -> Tokenizer:
    """XLM-R's tokenizer: a unigram model of words that begin with "▁", after normalisation by Nmt and NFKC."""
    try:
        tokenizer = Tokenizer(models.Unigram(file.pieces, unk_id=file.unknown, byte_fallback=False))
    except Exception as error:  # the library raises this very class
        raise CheckpointError(f"{file.path}: its vocabulary is damaged: {error}") from error
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    specials = [file.pieces[piece_id][0] for piece_id in (file.bos, file.pad, file.eos, file.unknown)]
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in specials])
    return tokenizer
