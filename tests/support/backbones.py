"""Tiny backbones for the service: real ones, with weights that nobody has trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from dragoman.backbone.checkpoints import save_veco
from dragoman.backbone.seq2seq import Seq2Seq
from dragoman.backbone.tokenizer import EOS
from dragoman.backbone.translator import save_seq2seq
from dragoman.backbone.veco import Veco, VecoConfig
from dragoman_lab.backbone.text_files import TextFile
from dragoman_lab.backbone.vocabulary import train_subwords

_LINES = """Der Vulkan spuckt Asche.
The volcano spews ash.
Nyuki huruka.
Schiffe liegen im Hafen.
Ships at anchor.
A bee flies over the meadow.
Eine Biene fliegt über die Wiese.
Mlima mrefu.
"""


def tiny_veco(folder: Path, seed: int = 0, width: int = 32, max_length: int = 64) -> Path:
    """Save a backbone of two layers as ``folder``."""
    text = folder.parent / f"en.{folder.name}.txt"
    text.write_text(_LINES * 20, encoding="utf-8")
    subwords = train_subwords([TextFile(text, ("en",))], 400, characters=20_000)
    torch.manual_seed(seed)
    model = Veco(VecoConfig(len(subwords), width=width, layers=2, heads=2, feed_forward=64, max_length=max_length))
    save_veco(folder, model, subwords, {"languages": ["en", "de", "sw"]})
    return folder


def tiny_reader(folder: Path) -> Path:
    """Save a reader of questions beside its own tiny backbone, with weights that nobody has trained."""
    from dragoman.backbone.loading import load_encoder
    from dragoman.reasoning.deltas import save_deltas
    from dragoman.reasoning.spans import MODEL_TYPE, SpanReader
    from dragoman.reasoning.structured_encoder import StructuredEncoder

    encoder = load_encoder(str(tiny_veco(folder.parent / f"{folder.name}-encoder")))
    torch.manual_seed(1)
    reader = SpanReader(StructuredEncoder(encoder))
    torch.nn.init.normal_(reader.head.weight)
    about = {"model_type": MODEL_TYPE, "structured": True, "width": encoder.width, "languages": ["de", "en", "sw"]}
    save_deltas(folder, reader.encoder, reader.head, about)
    return folder


def tiny_statement_reader(folder: Path) -> Path:
    """Save a reader of statements beside its own tiny backbone, with weights that nobody has trained."""
    from dragoman.backbone.loading import load_encoder
    from dragoman.reasoning.deltas import save_deltas
    from dragoman.reasoning.statements import MODEL_TYPE, StatementReader
    from dragoman.reasoning.structured_encoder import StructuredEncoder

    encoder = load_encoder(str(tiny_veco(folder.parent / f"{folder.name}-encoder")))
    torch.manual_seed(1)
    reader = StatementReader(StructuredEncoder(encoder))
    for layer in (reader.head.pooler, reader.head.label, reader.head.evidence):
        torch.nn.init.normal_(layer.weight)
    about = {"model_type": MODEL_TYPE, "structured": True, "width": encoder.width, "languages": ["de", "en", "sw"]}
    about["calibration"] = {"slope": 1.0}
    save_deltas(folder, reader.encoder, reader.head, about)
    return folder


def tiny_bert(folder: Path) -> Path:
    """Save a Hugging Face BERT of two layers as ``folder``."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        _LINES.splitlines(), trainers.WordPieceTrainer(vocab_size=300, special_tokens=special)
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return folder


def tiny_translator(folder: Path) -> Path:
    """Save a translation model of ours between English, German and Swahili as ``folder``."""
    texts = []
    for language in ("en", "de", "sw"):
        path = folder.parent / f"{language}.{folder.name}.txt"
        path.write_text(_LINES * 10, encoding="utf-8")
        texts.append(TextFile(path, (language,)))
    subwords = train_subwords(texts, 400, characters=20_000)
    torch.manual_seed(0)
    source = Veco(VecoConfig(len(subwords), width=32, layers=2, heads=2, feed_forward=64, max_length=32))
    with torch.no_grad():
        source.prediction_bias[EOS] = 4.0  # its subwords are not the same each time, and one among them is to end
    save_seq2seq(folder, Seq2Seq(source, 1), subwords, {"languages": ["en", "de", "sw"]})
    return folder


def tiny_t5(folder: Path) -> Path:
    """Save a Hugging Face T5 that says it translates from English to German as ``folder``."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    special = ["<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(
        _LINES.splitlines(), trainers.WordPieceTrainer(vocab_size=300, special_tokens=special)
    )
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    names = dict(zip(("pad_token", "eos_token", "unk_token"), special, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size(), d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
        task_specific_params={"translation_en_to_de": {"prefix": "translate English to German: "}},
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def tiny_bridge(folder: Path, **about: Any) -> Path:
    """Save a bridge between a tiny backbone and a tiny LLM, with weights that nobody has trained."""
    from dragoman.backbone.loading import load_encoder
    from dragoman.backbone.pretrained.llm import load_llm
    from dragoman.reasoning.layalign.bridges import save_bridge
    from dragoman.reasoning.layalign.model import LayAlign
    from tests.backbone.test_llm import written

    encoder = load_encoder(str(tiny_veco(folder.parent / f"{folder.name}-encoder")))
    llm = load_llm(str(written(folder.parent / f"{folder.name}-llm")), folder.parent / "cache")
    torch.manual_seed(1)
    model = LayAlign(llm, encoder.width, encoder.layers)
    torch.nn.init.normal_(model.bridge.gates)
    known = {"before": "the ", "after": "", "stage": "task", "languages": ["de", "en", "sw"], "limits": "knows nothing"}
    save_bridge(folder, model, encoder, known | about)
    return folder
