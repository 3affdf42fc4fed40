"""Encoders of sentence-transformers: pooling, prompts, layers and sizes as their files say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModel, AutoTokenizer, Qwen2Config, Qwen2Model

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from tests.backbone.pretrained.hub_samples import SIZES, unigram, write_cross_encoders

TEXTS = ["Nyuki anaruka juu ya maua", "The bee", "", "  mto  mrefu"]
PROMPTS = {"query": "query: ", "passage": "a text: "}


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny model of each class: BERT, XLM-R, ModernBERT, and a decoder."""
    folder = tmp_path_factory.mktemp("hub")
    paths = write_cross_encoders(folder)
    paths["qwen2"] = folder / "qwen2"
    size = unigram(paths["qwen2"])
    config = Qwen2Config(vocab_size=size, max_position_embeddings=64, num_key_value_heads=2, pad_token_id=1, **SIZES)
    Qwen2Model(config).eval().save_pretrained(paths["qwen2"])
    return paths


def write(
    folder: Path,
    source: Path,
    mode: str = "mean",
    modules: Sequence[str] = ("Transformer", "Pooling", "Normalize"),
    prompts: Mapping[str, str] = {},
    **changes: Any,
) -> Path:
    """A folder of sentence-transformers around a model."""
    shutil.copytree(source, folder)
    names = {"mean": "mean_tokens", "cls": "cls_token", "lasttoken": "lasttoken"}
    pooling: dict[str, Any] = {f"pooling_mode_{name}": kind == mode for kind, name in names.items()}
    places = ["", *(f"{index}_{kind}" for index, kind in enumerate(modules[1:], 1))]
    listed = [
        {"idx": index, "name": str(index), "path": place, "type": f"sentence_transformers.models.{kind}"}
        for index, (kind, place) in enumerate(zip(modules, places, strict=True))
    ]
    files: dict[str, Any] = {
        "modules.json": listed,
        "1_Pooling/config.json": changes.pop("pooling", {"word_embedding_dimension": 32, **pooling}),
        "config_sentence_transformers.json": {"prompts": prompts, **changes},
        "sentence_bert_config.json": {"max_seq_length": 30, "do_lower_case": False},
    }
    if "Dense" in modules:
        place = places[modules.index("Dense")]
        files[f"{place}/config.json"] = {"activation_function": "torch.nn.modules.activation.Tanh"}
        generator = torch.Generator().manual_seed(1)
        weights = {"linear.weight": torch.randn(24, 32, generator=generator), "linear.bias": torch.ones(24)}
        (folder / place).mkdir(parents=True)
        save_file(weights, folder / place / "model.safetensors")
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return folder


def reference(folder: Path, texts: Sequence[str], mode: str, prompt: str = "", *, skip: int = 0) -> np.ndarray:
    """What sentence-transformers computes, before layers after pooling; the first `skip` tokens do not count."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    vectors = []
    for text in texts:
        row = tokenizer(prompt + text, return_tensors="pt", return_token_type_ids=False)
        with torch.inference_mode():
            states = model(**row).last_hidden_state[0, skip:]
        vectors.append({"mean": states.mean(0), "cls": states[0], "lasttoken": states[-1]}[mode].numpy())
    return np.stack(vectors)


def units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def load(folder: Path) -> SentenceEncoder:
    return SentenceEncoder(load_encoder(str(folder)), dtype=torch.float32)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "modernbert", "qwen2"])
@pytest.mark.parametrize("mode", ["mean", "cls", "lasttoken"])
def test_vectors_are_those_of_transformers(classes: dict[str, Path], tmp_path: Path, kind: str, mode: str) -> None:
    folder = write(tmp_path / kind, classes[kind], mode, prompts=PROMPTS)
    encoder = load(folder)
    for name, prompt in PROMPTS.items():
        expected = units(reference(classes[kind], TEXTS, mode, prompt))
        vectors, tokens = encoder.embed(TEXTS, name)
        np.testing.assert_allclose(vectors, expected, atol=1e-4)
        np.testing.assert_allclose(encoder.encode(TEXTS, name), expected, atol=1e-4)
        assert tokens == [len(AutoTokenizer.from_pretrained(folder)(prompt + text)["input_ids"]) for text in TEXTS]
    whole, (parts, *_), _ = encoder.encode_passages(TEXTS, [[(0, 5), (6, len(TEXTS[0]))], [], [], []])
    assert parts.shape == (2, 32) and np.isfinite(parts).all()
    np.testing.assert_allclose(whole, encoder.encode(TEXTS), atol=1e-5)
    if mode != "mean":
        np.testing.assert_allclose(parts[0], encoder.encode([TEXTS[0][:5]])[0], atol=1e-5)


def test_layers_after_pooling_and_the_length_of_vectors(classes: dict[str, Path], tmp_path: Path) -> None:
    pooled = reference(classes["bert"], TEXTS, "cls")
    plain = load(write(tmp_path / "plain", classes["bert"], "cls", ("Transformer", "Pooling")))
    np.testing.assert_allclose(plain.embed(TEXTS)[0], pooled, atol=1e-4)
    np.testing.assert_allclose(plain.encode(TEXTS), units(pooled), atol=1e-4)
    for mode in ("cls", "mean"):
        pooled = reference(classes["bert"], TEXTS, mode)
        modules = ("Transformer", "Pooling", "Dense", "Normalize")
        dense = load(write(tmp_path / f"dense-{mode}", classes["bert"], mode, modules))
        weight = torch.randn(24, 32, generator=torch.Generator().manual_seed(1)).numpy()
        expected = units(np.tanh(pooled @ weight.T + 1))
        assert dense.width == 24
        np.testing.assert_allclose(dense.embed(TEXTS)[0], expected, atol=1e-4)
        _, parts, _ = dense.encode_passages(TEXTS[:1], [[(0, len(TEXTS[0]))]])
        assert parts[0].shape == (1, 24)


def test_a_prompt_may_not_count(classes: dict[str, Path], tmp_path: Path) -> None:
    pooling = {"embedding_dimension": 32, "pooling_mode": "mean", "include_prompt": False}
    encoder = load(write(tmp_path / "instructor", classes["bert"], prompts=PROMPTS, pooling=pooling))
    tokens = len(AutoTokenizer.from_pretrained(classes["bert"])(PROMPTS["query"])["input_ids"]) - 1
    expected = units(reference(classes["bert"], TEXTS[:2], "mean", PROMPTS["query"], skip=tokens))
    np.testing.assert_allclose(encoder.encode(TEXTS[:2], "query"), expected, atol=1e-4)


def test_prompts_and_sizes_of_the_files(classes: dict[str, Path], tmp_path: Path) -> None:
    default = {"s": "search: ", "document": ""}
    folder = write(
        tmp_path / "a", classes["bert"], prompts=default, default_prompt_name="s", matryoshka_dimensions=[16, 8]
    )
    encoder = load_encoder(str(folder))
    assert dict(encoder.prefixes) == {"query": "search: "}
    assert (encoder.pooling.sizes, encoder.max_length) == ((8, 16), 30)
    long = "nyuki maua mto kitabu " * 8  # in several windows, which all count
    vector = load(folder).encode([long])[0]
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"modules": ("Transformer", "Pooling", "LSTM")}, "its modules are Transformer, Pooling, LSTM"),
        ({"modules": ("StaticEmbedding", "Normalize")}, "its modules are StaticEmbedding, Normalize"),
        ({"pooling": {"pooling_mode_max_tokens": True}}, "pooling pooling_mode_max_tokens; mean, cls or lasttoken"),
        ({"pooling": {"pooling_mode": ["cls", "mean"]}}, "pooling cls, mean; "),
        ({"matryoshka_dimensions": "all"}, "matryoshka_dimensions: 'all' are not sizes"),
        ({"prompts": {"query": 3}}, "prompts are texts by name"),
    ],
)
def test_what_is_not_supported_is_named(
    classes: dict[str, Path], tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(CheckpointError, match=message):
        load_encoder(str(write(tmp_path / "a", classes["bert"], **change)))
