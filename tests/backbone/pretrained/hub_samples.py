"""Tiny checkpoints in the form of the Hugging Face hub."""

from __future__ import annotations

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
