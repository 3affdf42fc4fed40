"""Tiny checkpoints in the form of the Hugging Face hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertModel,
    MT5Config,
    MT5EncoderModel,
    MT5Model,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from tests.backbone.samples import SENTENCES, raw_lines

SPECIALS = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}


def unigram(folder: Path, told_apart: bool = False) -> int:
    """A Unigram tokenizer in XLM-R's order, <mask> last; returns the size of its vocabulary.

    Pairs are framed as XLM-R does, or with `told_apart` as BERT does, the second text being of type 1.
    """
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    lines = [*(side for pair in SENTENCES for side in pair), *raw_lines("sw"), "</s>"]
    first = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(
        lines, trainers.UnigramTrainer(vocab_size=300, special_tokens=first, unk_token="<unk>", show_progress=False)
    )
    tokenizer.add_special_tokens(["<mask>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B:1 </s>:1" if told_apart else "<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIALS).save_pretrained(folder)
    return int(tokenizer.get_vocab_size())


SIZES: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def write_checkpoints(folder: Path) -> dict[str, Path]:
    """Tiny BERT, XLM-R and mT5, the latter also as its encoder alone, with weights that matter."""
    found = {name: folder / name for name in ("bert", "xlm-roberta", "mt5", "mt5-encoder")}
    sizes = {name: unigram(path, told_apart=name == "bert") for name, path in found.items()}
    torch.manual_seed(0)
    size, t5 = sizes["bert"], {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}
    made = {
        "bert": BertModel(BertConfig(vocab_size=size, max_position_embeddings=40, initializer_range=0.2, **SIZES)),
        "xlm-roberta": XLMRobertaForMaskedLM(
            XLMRobertaConfig(vocab_size=size + 3, max_position_embeddings=42, pad_token_id=1, initializer_range=0.2,
                             type_vocab_size=1, **SIZES)
        ),
        "mt5": MT5Model(MT5Config(vocab_size=size, pad_token_id=1, **t5)),
    }  # fmt: skip
    made["mt5-encoder"] = MT5EncoderModel(MT5Config(vocab_size=size, pad_token_id=1, **t5))
    for name, model in made.items():
        model.eval().save_pretrained(found[name])
    return found


def write_cross_encoders(folder: Path, labels: int = 1) -> dict[str, Path]:
    """Tiny classifiers of pairs, of the classes that rerankers have, with weights that matter."""
    from transformers import (
        BertForSequenceClassification,
        ModernBertConfig,
        ModernBertForSequenceClassification,
        XLMRobertaForSequenceClassification,
    )

    paths = {name: folder / name for name in ("bert", "xlm-roberta", "modernbert")}
    size = max(unigram(path, told_apart=name == "bert") for name, path in paths.items()) + 3
    torch.manual_seed(0)
    common: dict[str, Any] = {"vocab_size": size, "num_labels": labels, "pad_token_id": 1, **SIZES}
    roberta = XLMRobertaConfig(max_position_embeddings=42, initializer_range=0.2, type_vocab_size=1, **common)
    modern = ModernBertConfig(
        max_position_embeddings=40, initializer_range=0.2, local_attention=8, cls_token_id=0, sep_token_id=2,
        bos_token_id=0, eos_token_id=2, **common
    )  # fmt: skip
    made: dict[str, Any] = {
        "bert": BertForSequenceClassification(BertConfig(max_position_embeddings=40, initializer_range=0.2, **common)),
        "xlm-roberta": XLMRobertaForSequenceClassification(roberta),
        "modernbert": ModernBertForSequenceClassification(modern),
    }
    activations = {"bert": "Identity", "xlm-roberta": "Sigmoid"}
    for name, model in made.items():
        if name in activations:  # as sentence-transformers notes it
            path = f"torch.nn.modules.{'linear' if name == 'bert' else 'activation'}.{activations[name]}"
            model.config.sentence_transformers = {"activation_fn": path}
        model.eval().save_pretrained(paths[name])
    file = paths["bert"] / "tokenizer_config.json"
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    file.write_text(json.dumps(json.loads(file.read_text()) | {"model_input_names": inputs}))
    return paths
