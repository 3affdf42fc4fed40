"""Small random LLMs and what a small encoder reads, for tests."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

from dragoman.backbone.pretrained.llm import LanguageModel
from dragoman.reasoning.layalign.model import EncoderStates, LayAlign, LayAlignConfig

VOCABULARY, WIDTH, LAYERS = 40, 6, 3
"""Of the LLM, and the width and layers of the encoder."""
KINDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "llama": (LlamaConfig, LlamaForCausalLM, {}),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, {}),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, {"head_dim": 8}),
}


def llm(kind: str = "llama", dtype: torch.dtype = torch.float64) -> LanguageModel:
    """A random LLM of two layers."""
    config, model, more = KINDS[kind]
    sizes = {
        "vocab_size": VOCABULARY, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": 1,
        "eos_token_id": 2, "pad_token_id": 2, "tie_word_embeddings": False,
    }  # fmt: skip
    torch.manual_seed(7)
    made = model(config(**sizes | more)).to(dtype).eval().requires_grad_(False)
    with torch.no_grad():
        for name, value in made.named_parameters():
            value += torch.randn(value.shape, dtype=dtype) * (1.0 if "embed" in name or "head" in name else 0.3)
    words = Tokenizer(models.WordLevel({f"w{number}": number for number in range(VOCABULARY)}, "w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return LanguageModel(made, words, kind, kind, "", "", 1, [2])


def joined(
    model: LanguageModel, config: LayAlignConfig | None = None, gates: float = 0.0, dtype: torch.dtype = torch.float64
) -> LayAlign:
    """A bridge with random weights; the gates are drawn with this deviation."""
    torch.manual_seed(11)
    made = LayAlign(model, WIDTH, LAYERS, config).to(dtype).eval()
    with torch.no_grad():
        made.bridge.separator.normal_()
        if gates and made.bridge.config.fusion != "none":
            made.bridge.gates.normal_(std=gates)
    return made


def read(lengths: list[int], seed: int = 3, dtype: torch.dtype = torch.float64) -> EncoderStates:
    """States of texts of so many subwords; each text's are the same in any batch."""
    longest = max(lengths)
    states = torch.full((LAYERS + 1, len(lengths), longest, WIDTH), 9.0, dtype=dtype)
    mask = torch.zeros(len(lengths), longest, dtype=torch.bool)
    for number, length in enumerate(lengths):
        generator = torch.Generator().manual_seed(seed * 1000 + length)
        states[:, number, :length] = torch.randn(LAYERS + 1, length, WIDTH, generator=generator, dtype=dtype)
        mask[number, :length] = True
    return EncoderStates(states, mask)
