"""Frozen LLMs of the Llama and Qwen families and their like: SmolLM2-135M from its package, or from Hugging Face.

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

from dragoman.backbone.checkpoints import CONFIG, TOKENIZER, CheckpointError, read_json, require_safetensors
from dragoman.backbone.pretrained import smollm2
from dragoman.backbone.pretrained.hub import fetch_folder

_MESSAGE = "{message}"
_SENTENCEPIECE = "tokenizer.model"
_FILES = ("*.json", "*.safetensors", "*.jinja", _SENTENCEPIECE)


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
    chat: tuple[str, str] = ("", "")
    """What the template puts around the first message of a chat, with the system message that it may begin with."""

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
    """Load an LLM, by its name or folder; what comes from a package is written to `cache` once, as a checkpoint.

    Raises:
        CheckpointError: if there is no such checkpoint, or it is pickled, damaged or of another kind.
    """
    if name_or_path in smollm2.NAMES:
        name_or_path, folder = smollm2.NAME, smollm2.convert_checkpoint(cache / smollm2.NAME)
    else:
        folder = fetch_folder(name_or_path, _FILES)
    files = require_safetensors(folder)
    about = read_json(folder / CONFIG)
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer  # takes seconds to import

    from dragoman.backbone.pretrained.huggingface import require_safe_shards

    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        require_safe_shards(str(folder), config)
        model = AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=dtype, local_files_only=True, use_safetensors=True, trust_remote_code=False
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        backend: Tokenizer = tokenizer.backend_tokenizer
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{folder}: not a causal LM with a fast tokenizer: {error}") from error
    chat = _chat(tokenizer)
    ends = model.generation_config.eos_token_id if model.generation_config.eos_token_id is not None else []
    checksum = about.get("source_checksum") or _checksum([*files, *_tokenizer_files(folder)])
    return LanguageModel(
        model.requires_grad_(False).train(False),
        backend,
        name_or_path,
        checksum,
        *_later_turn(tokenizer),
        model.config.bos_token_id,
        [ends] if isinstance(ends, int) else list(ends),
        chat,
    )


def _chat(tokenizer: Any) -> tuple[str, str]:
    """What stands around the first message, without thoughts before the answer where a template has such a switch."""
    if not tokenizer.chat_template:
        return "", ""
    turn = [{"role": "user", "content": _MESSAGE}]
    whole = str(tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True, enable_thinking=False))
    before, _, after = whole.partition(_MESSAGE)
    return before, after


def _later_turn(tokenizer: Any) -> tuple[str, str]:
    """What stands around a user's later message, and so without a system message."""
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


def _tokenizer_files(folder: Path) -> list[Path]:
    """The tokenizer: some checkpoints have that of sentencepiece alone, which transformers converts."""
    files = [folder / TOKENIZER, folder / _SENTENCEPIECE]
    return [file for file in files if file.is_file()][:1]


def _checksum(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
