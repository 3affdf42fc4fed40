"""Hugging Face checkpoints as encoders, and initialisation of a VECO model from XLM-R.

Only safetensors are read; code in a checkpoint is never run (`trust_remote_code` stays off).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from tokenizers import Tokenizer, decoders, pre_tokenizers
from torch import Tensor, nn

from dragoman.backbone.checkpoints import CheckpointError, fill, read_json, require_safetensors
from dragoman.backbone.encoder import Encoder, Pair
from dragoman.backbone.post_norm import PostNormEncoder, of_bert
from dragoman.backbone.pretrained import e5
from dragoman.backbone.pretrained.hub import require_available
from dragoman.backbone.pretrained.sentence_transformer import read_sentence_files
from dragoman.backbone.tokenizer import SPECIAL_TOKENS, Encoded, Subwords, inner, spelled_out
from dragoman.backbone.veco import Added, Veco, VecoConfig, middle_layer

E5 = re.compile(r"(^|/)(multilingual-)?e5-(small|base|large)(-v2)?/?$")
"""Names of the E5 models (Wang et al. 2024, arXiv:2402.05672), trained on the last layer's mean with these prefixes."""
RELATIVE_LENGTH = 512  # maximal length for models with relative positions, such as T5
ENCODER_ALONE = ("t5", "mt5", "umt5")  # load only the encoder, as a checkpoint may have no decoder


class Frame(NamedTuple):
    """Special tokens next to a text, their token types, and the token type of the text after them."""

    ids: list[int]
    segments: list[int]
    next_segment: int


class HuggingFaceEncoder(Encoder):
    """A transformers model, or the encoder of an encoder-decoder."""

    def __init__(self, model: Any, tokenizer: Any, name: str) -> None:
        super().__init__()
        config = model.config
        self.model, self.tokenizer, self.name = model, tokenizer, name
        self.width, self.layers = int(config.hidden_size), int(config.num_hidden_layers)
        self.max_length = _max_length(model)
        self.sentence_layer = middle_layer(self.layers)
        self.pad, self.mask_id = int(tokenizer.pad_token_id), tokenizer.mask_token_id
        self._before, self._after = _frame(tokenizer)
        backend = tokenizer.backend_tokenizer
        self._tokenizer_checksum = hashlib.sha256(backend.to_str().encode()).hexdigest()
        # "</s>" in a text would be the special token, where that is a piece of the model as in XLM-R and T5.
        spelled_out(backend, sorted({*tokenizer.all_special_tokens, *_added_special_tokens(backend)}))

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        *,
        positions: Tensor | None = None,
        segments: Tensor | None = None,
        added: Mapping[int, Added] | None = None,
    ) -> list[Tensor]:
        optional = {"position_ids": positions, "token_type_ids": segments}
        optional = {name: tensor for name, tensor in optional.items() if tensor is not None}
        with self._adding(added or {}):
            outputs = self.model(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True, **optional)
        states = list(outputs.hidden_states)
        return [*states[:-1], outputs.last_hidden_state]  # of which some models give the norm, and not their last layer

    @contextmanager
    def _adding(self, added: Mapping[int, Added]) -> Iterator[None]:
        """Add to the outputs of the given layers' attention blocks, for one forward pass."""
        layers = getattr(getattr(self.model, "encoder", None), "layer", ())
        if added and not all(hasattr(layer, "attention") for layer in (layers or [None])):
            raise CheckpointError(f"{self.name}: the layers of {self.model.config.model_type} are not BERT's")
        this_pass = object()
        hooks = [
            layers[index].attention.register_forward_hook(_adding_hook(add, this_pass), with_kwargs=True)
            for index, add in added.items()
        ]
        outer = _pass.set(this_pass)
        try:
            yield
        finally:
            _pass.reset(outer)
            for hook in hooks:
                hook.remove()

    def for_inference(
        self, dtype: torch.dtype, *, whole: bool = False, more: Sequence[nn.Linear] | None = None
    ) -> PostNormEncoder | None:
        return of_bert(self.model, dtype, whole=whole, more=more)

    def pair(self, first: Sequence[int], second: Sequence[int]) -> Pair:
        """Both texts with the tokenizer's special tokens for pairs."""
        ids: list[int] = []
        segments: list[int] = []
        starts = []
        for frame, text in zip(self._pair_frame, (first, second, ()), strict=True):
            starts.append(len(ids) + len(frame.ids))
            ids += [*frame.ids, *text]
            segments += [*frame.segments, *[frame.next_segment] * len(text)]
        has_segments = getattr(self.model.config, "type_vocab_size", 0) > 1
        return Pair(ids, starts[0], starts[1], segments=segments if has_segments else None)

    @cached_property
    def _pair_frame(self) -> list[Frame]:
        """The special tokens before the first text, between both, and after the second."""
        plain = [self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("a", "b")]
        framed = self.tokenizer("a", "b", return_token_type_ids=True)
        row, segments = framed["input_ids"], framed["token_type_ids"]
        frames, done = [], 0
        for part in plain:
            start = _find(row, part, done)
            frames.append(Frame(row[done:start], segments[done:start], segments[start]))
            done = start + len(part)
        return [*frames, Frame(row[done:], segments[done:], 0)]

    def subwords(self, texts: Sequence[str]) -> list[Encoded]:
        encoded = []
        for text in texts:
            encoding = self.tokenizer(
                text, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True, verbose=False
            )
            encoded.append(
                Encoded(
                    encoding["input_ids"],
                    [inner(text, span) for span in encoding["offset_mapping"]],
                    encoding.word_ids(0),
                )
            )
        return encoded

    @property
    def tokenizer_checksum(self) -> str:
        return self._tokenizer_checksum

    def frame(self, ids: Sequence[int]) -> list[int]:
        return [*self._before, *ids, *self._after]


def _added_special_tokens(tokenizer: Tokenizer) -> list[str]:
    """The special tokens that were added to a vocabulary."""
    return [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special]


def load_hugging_face_encoder(name_or_path: str) -> HuggingFaceEncoder:
    """Load an encoder by the name or path of its checkpoint, in float32 on the CPU.

    Raises:
        CheckpointError: if the checkpoint is missing, has pickled weights or needs its own code, or its tokenizer has
            no offsets.
    """
    from transformers import AutoModel, AutoModelForTextEncoding

    require_available(name_or_path)
    files = read_sentence_files(name_or_path)
    place = str(Path(name_or_path) / files.transformer) if files is not None and files.transformer else name_or_path
    config, tokenizer = load_config_and_tokenizer(place)
    kind = AutoModelForTextEncoding if config.model_type in ENCODER_ALONE else AutoModel
    model = load_pretrained(kind, place, config)
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    if tokenizer.pad_token_id is None:
        raise CheckpointError(f"{name_or_path}: its tokenizer has no padding token")
    encoder = HuggingFaceEncoder(model, tokenizer, name_or_path)
    if E5.search(name_or_path) or E5.search(str(getattr(config, "_name_or_path", ""))):
        encoder.prefixes, encoder.unrelated_cosine = e5.PREFIXES, e5.UNRELATED_COSINE
        encoder.sentence_layer = encoder.layers
    if files is not None:
        encoder.sentence_layer, encoder.pooling = encoder.layers, files.pooling
        encoder.prefixes = files.prompts or encoder.prefixes
        encoder.max_length = min(encoder.max_length, files.max_length or encoder.max_length, tokenizer.model_max_length)
    return encoder


def load_config_and_tokenizer(name_or_path: str, *, offsets: bool = True) -> tuple[Any, Any]:
    """Load the configuration and tokenizer of a checkpoint; with `offsets` one that tells where its subwords are.

    Raises:
        CheckpointError: as for `load_hugging_face_encoder`.
    """
    from transformers import AutoConfig, AutoTokenizer

    require_available(name_or_path)
    if Path(name_or_path).exists():
        require_safetensors(Path(name_or_path))
    try:
        config = AutoConfig.from_pretrained(name_or_path, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(name_or_path, trust_remote_code=False, use_fast=True)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise CheckpointError(f"{name_or_path}: {first_line(error)}") from error
    if offsets and not tokenizer.is_fast:
        raise CheckpointError(f"{name_or_path}: no tokenizer.json, which is needed for subword offsets")
    return config, tokenizer


def load_pretrained(kind: Any, name_or_path: str, config: Any, *, optional: str | None = "pooler") -> Any:
    """Load a model of an Auto class, from safetensors only; weights with `optional` in their names may be missing.

    Raises:
        CheckpointError: if there are no safetensors, or weights are damaged or incomplete.
    """
    require_safe_shards(name_or_path, config)
    try:
        model, report = kind.from_pretrained(
            name_or_path,
            config=config,
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        raise CheckpointError(f"{name_or_path}: no usable safetensors weights: {first_line(error)}") from error
    missing = sorted(name for name in report["missing_keys"] if optional is None or optional not in name)
    if missing:
        raise CheckpointError(f"{name_or_path}: missing weights: {', '.join(missing[:3])} ({len(missing)} in all)")
    return model.eval()


def require_safe_shards(name_or_path: str, config: Any) -> None:
    """Check that the index of shards names only safetensors: transformers would unpickle other files.

    Raises:
        CheckpointError: if it names another file.
    """
    from transformers.utils import SAFE_WEIGHTS_INDEX_NAME
    from transformers.utils.hub import cached_file

    if getattr(config, "transformers_weights", None) is not None:
        raise CheckpointError(f"{name_or_path}: its config names a file of weights of its own, which is not supported")
    index = cached_file(name_or_path, SAFE_WEIGHTS_INDEX_NAME, _raise_exceptions_for_missing_entries=False)
    if index is None:
        return
    shards = read_json(Path(index)).get("weight_map")
    names = sorted(set(shards.values())) if isinstance(shards, dict) else []
    unsafe = [name for name in names if not (isinstance(name, str) and name.endswith(".safetensors"))]
    if not names or unsafe:
        raise CheckpointError(
            f"{name_or_path}: {SAFE_WEIGHTS_INDEX_NAME} names {unsafe[0] if unsafe else 'no file'}, which is not "
            "safetensors; loading a pickle can run any code"
        )


def from_xlm_roberta(name_or_path: str) -> tuple[Veco, Subwords, list[str]]:
    """A VECO model with XLM-R's weights, its vocabulary, and the names of the cross-attention parameters.

    XLM-R has no cross-attention; it starts as a copy of the layer's self-attention. Train cross-attention alone first
    (`cross_attention_only_steps`), then everything.

    Raises:
        CheckpointError: as for `load_hugging_face_encoder`, and for another architecture.
    """
    from transformers import AutoModelForMaskedLM

    config, tokenizer = load_config_and_tokenizer(name_or_path)
    if config.model_type not in ("xlm-roberta", "roberta"):
        raise CheckpointError(f"{name_or_path}: model_type is {config.model_type!r}, not xlm-roberta")
    source = load_pretrained(AutoModelForMaskedLM, name_or_path, config).state_dict()
    offset = int(config.pad_token_id) + 1
    ours = Veco(
        VecoConfig(
            vocabulary=config.vocab_size,
            width=config.hidden_size,
            layers=config.num_hidden_layers,
            heads=config.num_attention_heads,
            feed_forward=config.intermediate_size,
            max_length=config.max_position_embeddings - offset,
            dropout=config.hidden_dropout_prob,
            norm_epsilon=config.layer_norm_eps,
            position_offset=offset,
        )
    )
    subwords, order = _our_order(tokenizer, config.vocab_size)
    fill(ours, _rename_tensors(source, config.num_hidden_layers, order), Path(name_or_path))
    return ours, subwords, [name for name, _ in ours.named_parameters() if ".cross" in name]


def _rename_tensors(source: dict[str, Tensor], layers: int, order: Tensor) -> dict[str, Tensor]:
    embeddings = "roberta.embeddings."
    tokens = source[embeddings + "word_embeddings.weight"]
    # XLM-R always adds the same token-type embedding; here it is merged into the positions.
    renamed = {
        "tokens.weight": tokens[order],
        "positions.weight": source[embeddings + "position_embeddings.weight"]
        + source[embeddings + "token_type_embeddings.weight"][0],
        "prediction_bias": source["lm_head.bias"][order],
    }
    for ours, theirs in (
        ("embedding_norm", embeddings + "LayerNorm"),
        ("prediction", "lm_head.dense"),
        ("prediction_norm", "lm_head.layer_norm"),
    ):
        _copy(renamed, ours, source, theirs)
    for index in range(layers):
        layer, theirs = f"layers.{index}.", f"roberta.encoder.layer.{index}."
        for part in ("weight", "bias"):
            query, key, value = (
                source[f"{theirs}attention.self.{projection}.{part}"] for projection in ("query", "key", "value")
            )
            renamed[f"{layer}attention.in_projection.{part}"] = torch.cat((query, key, value))
            renamed[f"{layer}cross.query.{part}"] = query.clone()
            renamed[f"{layer}cross.key_value.{part}"] = torch.cat((key, value))
        for ours, name in (
            ("attention.out_projection", "attention.output.dense"),
            ("attention_norm", "attention.output.LayerNorm"),
            ("cross.out_projection", "attention.output.dense"),
            ("cross_norm", "attention.output.LayerNorm"),
            ("feed_forward.inner", "intermediate.dense"),
            ("feed_forward.outer", "output.dense"),
            ("feed_forward_norm", "output.LayerNorm"),
        ):
            _copy(renamed, layer + ours, source, theirs + name)
    return renamed


def _copy(target: dict[str, Tensor], ours: str, source: dict[str, Tensor], theirs: str) -> None:
    for part in ("weight", "bias"):
        target[f"{ours}.{part}"] = source[f"{theirs}.{part}"].clone()


def _our_order(tokenizer: Any, size: int) -> tuple[Subwords, Tensor]:
    """The vocabulary with our special tokens first, and the XLM-R row of each of our ids."""
    form = json.loads(tokenizer.backend_tokenizer.to_str())
    theirs = {
        "<pad>": tokenizer.pad_token,
        "<s>": tokenizer.bos_token,
        "</s>": tokenizer.eos_token,
        "<mask>": tokenizer.mask_token,
        "<unk>": tokenizer.unk_token,
    }
    if form["model"]["type"] != "Unigram":
        raise CheckpointError(f"its tokenizer is {form['model']['type']}, not Unigram as in XLM-R")
    first = [int(tokenizer.convert_tokens_to_ids(theirs[token])) for token in SPECIAL_TOKENS]
    order = first + [row for row in range(size) if row not in set(first)]
    vocabulary = form["model"]["vocab"]
    pieces = [vocabulary[row] if row < len(vocabulary) else [f"<unused:{row}>", -100.0] for row in order]
    pieces[: len(SPECIAL_TOKENS)] = [[token, 0.0] for token in SPECIAL_TOKENS]
    form["model"].update(vocab=pieces, unk_id=SPECIAL_TOKENS.index("<unk>"))
    form["added_tokens"] = [
        {
            "id": piece_id,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for piece_id, token in enumerate(SPECIAL_TOKENS)
    ]
    form["post_processor"] = None
    backend = Tokenizer.from_str(json.dumps(form))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    backend.decoder = decoders.Metaspace(prepend_scheme="always")
    return Subwords(backend), torch.tensor(order)


def _max_length(model: Any) -> int:
    rows = getattr(model.config, "max_position_embeddings", None)
    if rows is None:
        return RELATIVE_LENGTH
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(rows) - int(module.padding_idx) - 1  # RoBERTa models count positions from the row after padding
    return int(rows)


_pass: ContextVar[object] = ContextVar("dragoman_adding_pass", default=None)
"""The forward pass that this thread computes: the hooks of others, on the same layers, add nothing to it."""


def _adding_hook(add: Added, this_pass: object) -> Callable[..., tuple[Tensor, ...] | None]:
    def hook(_block: Any, args: tuple[Tensor, ...], kwargs: dict[str, Any], out: tuple[Tensor, ...]) -> Any:
        if _pass.get() is not this_pass:
            return None
        x = args[0] if args else kwargs["hidden_states"]
        return (out[0] + add(x), *out[1:])

    return hook


def _find(row: list[int], part: list[int], start: int) -> int:
    return next(i for i in range(start, len(row)) if row[i : i + len(part)] == part)


def _frame(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special ids that the tokenizer adds before and after a text."""
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    framed = tokenizer("a")["input_ids"]
    start = _find(framed, plain, 0)
    return framed[:start], framed[start + len(plain) :]


def first_line(error: BaseException) -> str:
    """The first line of an error message."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
