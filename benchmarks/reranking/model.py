"""Data of `benchmarks/reranking/throughput.py`: a BERT with random weights, texts of random words, a table."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification

from dragoman.backbone.loading import load_encoder
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import words
from dragoman.ranking.attention import NO_LINKS, TranslationReference, Words
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.passages import Passage, read
from dragoman.ranking.scoring import Scorer

SYLLABLES = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SHAPES = {
    "tiny": {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2, "intermediate_size": 128},
    "minilm": {"num_hidden_layers": 6, "hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536},
    "bert-base": {"num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
}
TRANSLATIONS = 10


def write_model(folder: Path, shape: str) -> None:
    """Write a cross-encoder for transformers, with weights large enough for distinct scores."""
    torch.manual_seed(1)
    vocabulary = [*SPECIAL, *SYLLABLES, *("##" + one for one in SYLLABLES), *map("".join, product(SYLLABLES, repeat=2))]
    config = BertConfig(
        vocab_size=len(vocabulary), num_labels=1, pad_token_id=0, initializer_range=0.04, **SHAPES[shape]
    )
    model = BertForSequenceClassification(config)
    torch.nn.init.normal_(model.classifier.weight, std=0.5)
    model.save_pretrained(folder)
    tokenizer = Tokenizer(models.WordPiece({one: number for number, one in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {f"{one[1:-1].lower()}_token": one for one in SPECIAL}
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512} | named
    about["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    (folder / "tokenizer_config.json").write_text(json.dumps(about))


def make_lists(queries: int, documents: int, shortest: int, longest: int) -> list[dict[str, Any]]:
    """Queries of 3 to 8 words with documents of log-uniform length in subwords; 5% of words are translations."""
    random = np.random.default_rng(1)
    lists = []
    for _ in range(queries):
        query = [_word(random) for _ in range(random.integers(3, 9))]
        table = {word: [_word(random) for _ in range(TRANSLATIONS)] for word in query}
        likely = [one for found in table.values() for one in found]
        sizes = np.exp(random.uniform(np.log(shortest), np.log(longest + 1), documents)).astype(int)
        texts = [_text(random, int(size), likely) for size in sizes]
        lists.append({"query": " ".join(query), "documents": texts, "table": table})
    return lists


def _word(random: np.random.Generator) -> str:
    """One to three syllables."""
    return "".join(random.choice(SYLLABLES, random.integers(1, 4)))


def _text(random: np.random.Generator, subwords: int, likely: list[str]) -> str:
    found: list[str] = []
    while subwords:
        word = str(random.choice(likely)) if random.random() < 0.05 else _word(random)
        if (size := 2 if len(word) == 6 else 1) <= subwords:
            found.append(word)
            subwords -= size
    return " ".join(found)


def mart_of(folder: Path, mat: bool, device: str) -> Mart:
    """A MART with the same weights: BERT's pooler and its classifier of one label correspond to MART's."""
    layers = [-3, -2] if json.loads((folder / "config.json").read_text())["num_hidden_layers"] > 2 else [-1]
    config = MartConfig(mat_layers=layers if mat else [], start="official", sides=mat)
    model = Mart(load_encoder(str(folder)), config)
    weights = load_file(folder / "model.safetensors")
    own = {"pool": "bert.pooler.dense", "score": "classifier"}
    for ours, theirs in own.items():
        model.get_submodule(ours).load_state_dict({part: weights[f"{theirs}.{part}"] for part in ("weight", "bias")})
    return model.to(device)


def read_list(scorer: Scorer, one: dict[str, Any], mat: bool) -> list[list[Passage]]:
    """A query's documents as rows; with `mat` including their words and table links."""
    texts = [one["query"], *one["documents"]]
    split = [_words(text) if mat else Words([], []) for text in texts]
    links = [NO_LINKS] * len(one["documents"])
    if mat:
        reference = TranslationReference(split[0], _table(json.dumps(one["table"])))
        links = [reference.links(document) for document in split[1:]]
    query, *documents = read(scorer.encoder, texts, [each.spans for each in split])
    return scorer.rows(query, documents, links)


def _words(text: str) -> Words:
    found = words(text, "en")
    return Words([one.term for one in found], [(one.start, one.end) for one in found])


@cache
def _table(given: str) -> Table:
    weight = 1 / TRANSLATIONS
    entries = [(word, other, weight, weight) for word, found in json.loads(given).items() for other in set(found)]
    return Table.from_entries("en", "de", entries)
