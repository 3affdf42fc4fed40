"""Frozen English LLMs of the Llama and Qwen families: SmolLM2-135M from its package, or a folder of Hugging Face.

Only safetensors are read, and code in a checkpoint is never run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from dragoman.backbone.checkpoints import CONFIG, CheckpointError, read_json, require_safetensors
from dragoman.backbone.pretrained import smollm2

_MESSAGE = "{message}"


@dataclass(frozen=True)
class LanguageModel:
    """A decoder, its tokenizer, and the text around a user's message."""

    model: Any
    """A causal LM of transformers, in evaluation mode and frozen."""
    tokenizer: Tokenizer
    name: str
    checksum: str
    """Identifies weights and tokenizer."""
    before: str
    """What precedes a user's message in a chat, without a system message; empty for a model without a chat."""
    after: str
    """What follows a user's message and begins the answer."""
    bos: int | None
    ends: Sequence[int]
    """The tokens that end an answer."""

    @property
    def width(self) -> int:
        """The width of the model's states."""
        return int(self.model.config.hidden_size)

    def ids(self, text: str) -> list[int]:
        """The tokens of a text in which names of special tokens are those tokens, as in `before` and `after`."""
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def plain_ids(self, text: str) -> list[int]:
        """The tokens of a text in which names of special tokens are text as any other."""
        ids: list[int] = self.plain.encode(text, add_special_tokens=False).ids
        return ids

    @cached_property
    def plain(self) -> Tokenizer:
        """The tokenizer, without special tokens in texts."""
        tokenizer = Tokenizer.from_str(self.tokenizer.to_str())
        tokenizer.encode_special_tokens = True
        return tokenizer

    def text(self, ids: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text


def load_llm(name_or_path: str, cache: Path, *, dtype: torch.dtype = torch.float32) -> LanguageModel:
    """Load an LLM; what comes from a package is written to `cache` once, as a checkpoint.

    Raises:
        CheckpointError: if there is no such checkpoint, or it is pickled, damaged or of another kind.
    """
    folder = smollm2.convert_checkpoint(cache / smollm2.NAME) if name_or_path == smollm2.NAME else Path(name_or_path)
    files = require_safetensors(folder)
    about = read_json(folder / CONFIG)
    from transformers import AutoModelForCausalLM, AutoTokenizer  # takes seconds to import

    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, local_files_only=True, use_safetensors=True, trust_remote_code=False
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        backend: Tokenizer = tokenizer.backend_tokenizer
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{folder}: not a causal LM with a fast tokenizer: {error}") from error
    before, after = _chat(tokenizer)
    ends = model.generation_config.eos_token_id if model.generation_config.eos_token_id is not None else []
    checksum = about.get("source_checksum") or _checksum([*files, folder / "tokenizer.json"])
    return LanguageModel(
        model.requires_grad_(False).train(False),
        backend,
        name_or_path,
        checksum,
        before,
        after,
        model.config.bos_token_id,
        [ends] if isinstance(ends, int) else list(ends),
    )


def _chat(tokenizer: Any) -> tuple[str, str]:
    """What stands around a user's message. It is read off a later turn, since templates begin with a system message."""
    if not tokenizer.chat_template:
        return "", ""
    turns = [
        {"role": role, "content": text} for role, text in (("user", "Yes?"), ("assistant", "Yes."), ("user", _MESSAGE))
    ]
    whole, start = (
        str(tokenizer.apply_chat_template(turns[:count], tokenize=False, add_generation_prompt=count == 3))
        for count in (3, 2)
    )
    before, _, after = whole.removeprefix(start).partition(_MESSAGE)
    return before, after


def _checksum(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
