"""Models of Hugging Face by class: each answers a request over HTTP as its reference in transformers does.

What BERT, XLM-R and ModernBERT do as encoders and rerankers is tested in tests/backbone/pretrained and tests/ranking.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient
from huggingface_hub import constants
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    Gemma3TextModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MarianConfig,
    MarianMTModel,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3Model,
    T5Config,
    T5ForConditionalGeneration,
)

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.pretrained import translator as pretrained_translator
from dragoman.backbone.pretrained.llm import load_llm
from dragoman.engine.checking import translations
from dragoman.engine.checking.choosing import choose_draft
from dragoman.engine.settings import Settings
from dragoman.reasoning.layalign.plain import PlainReasoner
from dragoman.service.app import create_app
from tests.backbone.pretrained.hub_samples import SIZES, unigram, write_cross_encoders
from tests.backbone.pretrained.test_sentence_transformer import reference, units, write
from tests.backbone.samples import SENTENCES
from tests.backbone.test_translator import tiny_m2m
from tests.ranking.test_cross_encoder import reference as pair_logits

pytestmark = pytest.mark.slow

MOST = 12
"""Tokens of a translation: nothing ever ended one of these."""
TEXTS = ["Nyuki anaruka juu ya maua", "The bee"]
QUESTION = "the bee finds honey in the flower?"
TEMPLATE = (
    "{% if messages[0]['role'] != 'system' %}<|s|>be brief<|e|>{% endif %}{% for m in messages %}<|u|>"
    "{{ m['content'] }}<|e|>{% endfor %}{% if add_generation_prompt %}<|a|>"
    "{% if enable_thinking is defined and not enable_thinking %}\n{% endif %}{% endif %}"
)
CAUSAL: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "llama": (LlamaConfig, LlamaForCausalLM, {}),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, {}),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, {"head_dim": 16}),
    "gemma2": (Gemma2Config, Gemma2ForCausalLM, {"head_dim": 16, "sliding_window": 96, "final_logit_softcapping": 2.0}),
    "gemma3": (Gemma3TextConfig, Gemma3ForCausalLM, {"head_dim": 16, "sliding_window": 96}),
    "mistral": (MistralConfig, MistralForCausalLM, {"sliding_window": 96}),
}


def causal(folder: Path, kind: str, template: str | None = TEMPLATE) -> Path:
    """A tiny random LLM with a tokenizer of bytes, and a chat that begins with a system message."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|e|>", "<|s|>", "<|u|>", "<|a|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator([side for pair in SENTENCES for side in pair], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|e|>", pad_token="<|e|>")
    fast.chat_template = template
    fast.save_pretrained(folder)
    config, model, more = CAUSAL[kind]
    ids = {"eos_token_id": 0, "pad_token_id": 0, "bos_token_id": None}
    sizes = {"num_key_value_heads": 1, "max_position_embeddings": 512, "initializer_range": 0.3, **SIZES}
    torch.manual_seed(3)
    model(config(vocab_size=tokenizer.get_vocab_size(), **ids, **sizes, **more)).save_pretrained(folder)
    return folder


def decoder_encoder(folder: Path, kind: str) -> Path:
    """A tiny Qwen3 or Gemma 3 that reads both ways, as Qwen3-Embedding and EmbeddingGemma are, with its modules."""
    source = folder / f"{kind}-transformer"
    size = unigram(source)
    common: dict[str, Any] = {"vocab_size": size, "num_key_value_heads": 1, "head_dim": 16, "pad_token_id": 1, **SIZES}
    common |= {"max_position_embeddings": 64, "initializer_range": 0.3}
    torch.manual_seed(1)
    if kind == "qwen3":
        model: Any = Qwen3Model(Qwen3Config(**common))
    else:
        model = Gemma3TextModel(Gemma3TextConfig(use_bidirectional_attention=True, sliding_window=96, **common))
    model.eval().save_pretrained(source)
    return write(folder / kind, source, "lasttoken" if kind == "qwen3" else "mean")


def classifier(folder: Path, kind: str) -> Path:
    """A tiny XLM-R or ModernBERT, as a classifier of pairs."""
    return write_cross_encoders(folder / "classifiers")[kind]


def madlad(folder: Path) -> Path:
    """A tiny T5 whose vocabulary names target languages."""
    special = ["<pad>", "</s>", "<unk>", "<2de>", "<2en>"]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    lines = [side for pair in SENTENCES for side in pair]
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=200, special_tokens=special))
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    names = dict(zip(("pad_token", "eos_token", "unk_token"), special, strict=False))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size(), d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def pieces(folder: Path, *names: str) -> list[str]:
    """The pieces of a SentencePiece model that is written to each of these names."""
    training = pytest.importorskip("sentencepiece").SentencePieceTrainer
    processor = pytest.importorskip("sentencepiece").SentencePieceProcessor
    folder.mkdir(exist_ok=True)
    lines = iter([side for pair in SENTENCES for side in pair] * 4)
    training.train(sentence_iterator=lines, model_prefix=str(folder / "spm"), vocab_size=120, hard_vocab_limit=False)
    content = (folder / "spm.model").read_bytes()
    for name in names:
        (folder / name).write_bytes(content)
    model = processor(model_proto=content)
    return [model.id_to_piece(place) for place in range(model.get_piece_size())]


def marian(folder: Path) -> Path:
    """A tiny opus-mt from English into German."""
    words = [piece for piece in pieces(folder, "source.spm", "target.spm") if piece not in ("<s>", "</s>", "<unk>")]
    vocabulary = {piece: place for place, piece in enumerate(["</s>", "<unk>", *words, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    about = {"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    pad = len(vocabulary) - 1
    config = MarianConfig(
        vocab_size=len(vocabulary), d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64,
        pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=0, init_std=0.3,
    )  # fmt: skip
    torch.manual_seed(2)
    MarianMTModel(config).save_pretrained(folder)
    return folder


def m2m(folder: Path) -> Path:
    """A tiny M2M100, whose languages are named by two letters."""
    words = pieces(folder, "sentencepiece.bpe.model")
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    vocabulary = {piece: place for place, piece in enumerate([*special, *(w for w in words if w not in special)])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "M2M100Tokenizer"}))
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    config = M2M100Config(
        vocab_size=len(vocabulary) + 108, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, init_std=0.3,
    )  # fmt: skip
    torch.manual_seed(4)
    M2M100ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def answer(folder: Path, question: str, most: int) -> str:
    """What transformers generates within the chat."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = tokenizer.apply_chat_template(
        [{"role": "user", "content": question}], add_generation_prompt=True, enable_thinking=False, return_tensors="pt"
    )["input_ids"]
    with torch.inference_mode():
        written = model.generate(ids, max_new_tokens=most, do_sample=False, pad_token_id=0)
    return str(tokenizer.decode(written[0, ids.shape[1] :], skip_special_tokens=True))


def translation(folder: Path, text: str, source: str | None, start: str | None) -> str:
    """What transformers translates."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if source is not None:
        tokenizer.src_lang = source
    forced = {} if start is None else {"forced_bos_token_id": tokenizer.convert_tokens_to_ids(start)}
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        ids = model.generate(
            **tokenizer(text, return_tensors="pt"), num_beams=5, max_new_tokens=MOST, max_length=None, **forced
        )
    return str(tokenizer.batch_decode(ids, skip_special_tokens=True)[0]).strip()


TRANSLATORS: dict[str, tuple[Callable[[Path], Path], str, str | None, str | None]] = {
    "madlad": (madlad, "<2de> ", None, None),
    "nllb": (tiny_m2m, "", "eng_Latn", "deu_Latn"),
    "marian": (marian, "", None, None),
    "m2m100": (m2m, "", "en", "__de__"),
}


@pytest.mark.parametrize(
    ("llm", "encoder", "other"),
    [
        ("llama", "qwen3", "madlad"),
        ("qwen2", "gemma3", "nllb"),
        ("qwen3", "qwen3", "marian"),
        ("gemma2", "gemma3", "m2m100"),
        ("gemma3", "xlm-roberta", "bert"),
        ("mistral", "modernbert", "modernbert"),
    ],
)
def test_each_class_answers_as_its_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, llm: str, encoder: str, other: str
) -> None:
    """`other` is a translator or a reranker."""
    chosen: dict[str, Any] = {"bridge": str(causal(tmp_path / f"tiny-{llm}", llm))}
    if other in TRANSLATORS:
        transformer = tmp_path / f"{encoder}-transformer"
        chosen["encoder"] = str(decoder_encoder(tmp_path, encoder))
        build, prefix, source, start = TRANSLATORS[other]
        chosen["translator"] = str(build(tmp_path / other))
    else:
        transformer = classifier(tmp_path, encoder)
        chosen["encoder"] = str(write(tmp_path / encoder, transformer, "mean"))
        chosen["reranker"] = str(transformer.with_name(other))
    settings = Settings.load(data_dir=tmp_path / "data", encoder_precision="float32", embed="on_demand", **chosen)
    with TestClient(create_app(settings)) as client:
        body = {"question": QUESTION, "language": "en", "max_tokens": 24}
        reasoned = client.post("/v1/reason", json=body).json()
        expected = answer(tmp_path / f"tiny-{llm}", QUESTION, 24)
        assert " ".join(filter(None, (reasoned["reasoning"], reasoned["answer"]))).split() == expected.split()
        assert reasoned["model"] == f"tiny-{llm}" and expected.strip()
        assert client.get("/v1/reason").json()["model"] == f"tiny-{llm}"
        embedded = client.post("/embed", json={"inputs": TEXTS}).json()
        vectors = units(reference(transformer, TEXTS, "lasttoken" if encoder == "qwen3" else "mean"))
        np.testing.assert_allclose(embedded, vectors, atol=1e-4)
        if other not in TRANSLATORS:
            ranked = client.post("/rerank", json={"query": "bee", "texts": TEXTS, "raw_scores": True}).json()
            logits = [item["score"] for item in sorted(ranked, key=lambda item: item["index"])]
            assert logits == pytest.approx(pair_logits(transformer.with_name(other), "bee", TEXTS), abs=1e-4)
        else:
            drafts: list[str] = []
            monkeypatch.setattr(pretrained_translator, "MAX_NEW_TOKENS", MOST)
            monkeypatch.setattr(translations, "choose_draft", lambda made: noted(made, drafts))
            text = "the bee finds honey"
            answered = client.post("/v1/translate", json={"text": text, "source": "en", "target": "de"})
            assert answered.status_code == 200 and answered.json()["model"] == other
            assert drafts[0] == translation(tmp_path / other, prefix + text, source, start) != ""


def test_an_llm_without_a_chat_reads_the_question_as_it_is_and_no_more_than_its_window(tmp_path: Path) -> None:
    folder = causal(tmp_path / "plain", "mistral", None)
    reasoner = PlainReasoner(str(folder), tmp_path)
    stream = reasoner.stream(QUESTION, " <|e|>", 8, 0.0, 0)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokenizer(f"{QUESTION} <|e|>", return_tensors="pt", split_special_tokens=True)["input_ids"]
    reasoner.decoder.advance([stream], 8)
    with torch.inference_mode():
        expected = model.generate(ids, max_new_tokens=8, do_sample=False, pad_token_id=0)[0, ids.shape[1] :].tolist()
    assert stream.tokens == expected[: len(stream.tokens)] and stream.size == ids.shape[1]
    with pytest.raises(ValueError, match="95 in all"):
        reasoner.stream(QUESTION * 8, "", 8, 0.0, 0)
    GPT2LMHeadModel(GPT2Config(vocab_size=320, n_embd=16, n_layer=1, n_head=2)).save_pretrained(folder)
    with pytest.raises(CheckpointError, match="is no LLM that can be used: GPT2LMHeadModel: its layers lack"):
        PlainReasoner(str(folder), tmp_path)


def test_an_llm_by_its_name_is_taken_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    repository, revision = tmp_path / "models--some--tiny", 40 * "a"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(revision)
    folder = causal(repository / "snapshots" / revision, "qwen3")
    named, placed = load_llm("some/tiny", tmp_path), load_llm(str(folder), tmp_path)
    assert (named.name, named.checksum, named.chat) == ("some/tiny", placed.checksum, placed.chat)
    with pytest.raises(CheckpointError, match=r"some/other: .*not in the cache.*hf download"):
        load_llm("some/other", tmp_path)


def noted(made: Any, drafts: list[str]) -> Any:
    """The draft that is chosen of a sentence's; all of them, before any check, are noted."""
    drafts += [draft.text for draft, _ in made]
    return choose_draft(made)
