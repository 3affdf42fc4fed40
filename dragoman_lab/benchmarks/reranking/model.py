"""Data of `benchmarks/reranking/throughput.py`: a BERT with random weights or e5's, texts of random words, a table."""

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
from torch import Tensor
from transformers import BertConfig, BertForSequenceClassification

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.pretrained import e5
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import words
from dragoman.ranking.attention import NO_LINKS, TranslationReference, Words
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.passages import Passage, tokenize_texts
from dragoman.ranking.scoring import Scorer

SYLLABLES = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SHAPES = {
    "tiny": {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2, "intermediate_size": 128},
    "minilm": {"num_hidden_layers": 6, "hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536},
    e5.NAME: {"num_hidden_layers": 12, "hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536},
    "bert-base": {"num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
}
TRANSLATIONS = 10


def write_model(folder: Path, shape: str) -> None:
    """Write a cross-encoder for transformers, with weights large enough for distinct scores, or e5's."""
    torch.manual_seed(1)
    if shape == e5.NAME:
        write_e5(folder)
        return
    vocabulary = [
        *SPECIAL,
        *SYLLABLES,
        *("##" + syllable for syllable in SYLLABLES),
        *map("".join, product(SYLLABLES, repeat=2)),
    ]
    config = BertConfig(
        vocab_size=len(vocabulary), num_labels=1, pad_token_id=0, initializer_range=0.04, **SHAPES[shape]
    )
    save_with_classifier(BertForSequenceClassification(config), folder)
    tokenizer = Tokenizer(models.WordPiece({token: index for index, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {f"{token[1:-1].lower()}_token": token for token in SPECIAL}
    write_tokenizer_config(folder, named, ["input_ids", "token_type_ids", "attention_mask"])


def write_e5(folder: Path) -> None:
    """Write multilingual-e5-small as a cross-encoder: its weights and tokenizer, and a random pooler and classifier."""
    encoder = e5.load_e5()
    state = encoder.model.state_dict()
    sizes = {"vocab_size": len(encoder.vocabulary), "type_vocab_size": 1, "pad_token_id": encoder.pad}
    shape, epsilon = SHAPES[e5.NAME], encoder.model.config.norm_epsilon
    config = BertConfig(num_labels=1, encoder=e5.NAME, layer_norm_eps=epsilon, **sizes, **shape)
    model = BertForSequenceClassification(config)
    words = encoder.model.tokens(torch.arange(len(encoder.vocabulary)))
    weights = {"word_embeddings.weight": words, "position_embeddings.weight": state["positions.weight"]}
    weights |= {f"LayerNorm.{part}": state[f"embedding_norm.{part}"] for part in ("weight", "bias")}
    weights["token_type_embeddings.weight"] = torch.zeros(1, shape["hidden_size"])  # the positions have it
    model.bert.embeddings.load_state_dict(weights, strict=False)
    for index, layer in enumerate(model.bert.encoder.layer):
        layer.load_state_dict(_bert_layer(state, f"layers.{index}."))
    save_with_classifier(model, folder)
    encoder.vocabulary.save(folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    first, end = (tokenizer.id_to_token(subword) for subword in encoder.frame([]))
    tokenizer.post_processor = processors.RobertaProcessing(
        (end, tokenizer.token_to_id(end)), (first, tokenizer.token_to_id(first)), trim_offsets=False
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"bos_token": first, "cls_token": first, "eos_token": end, "sep_token": end}
    named |= {"pad_token": tokenizer.id_to_token(encoder.pad), "mask_token": e5.MASK}
    write_tokenizer_config(folder, named, ["input_ids", "attention_mask"])


def _bert_layer(state: dict[str, Tensor], ours: str) -> dict[str, Tensor]:
    """The weights of one of e5's layers by transformers' names."""
    names = {"attention.out_projection": "attention.output.dense", "attention_norm": "attention.output.LayerNorm"}
    names |= {"feed_forward.inner": "intermediate.dense", "feed_forward.outer": "output.dense"}
    names |= {"feed_forward_norm": "output.LayerNorm"}
    weights = {}
    for part in ("weight", "bias"):
        heads = zip(("query", "key", "value"), state[f"{ours}attention.in_projection.{part}"].chunk(3), strict=True)
        weights |= {f"attention.self.{name}.{part}": head for name, head in heads}
        weights |= {f"{theirs}.{part}": state[f"{ours}{name}.{part}"] for name, theirs in names.items()}
    return weights


def save_with_classifier(model: BertForSequenceClassification, folder: Path) -> None:
    """Write a model with a random classifier that gives distinct scores."""
    torch.nn.init.normal_(model.classifier.weight, std=0.5)
    model.save_pretrained(folder)


def write_tokenizer_config(folder: Path, special: dict[str, str], inputs: list[str]) -> None:
    """What transformers needs to know of the tokenizer beside its file."""
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "model_input_names": inputs}
    (folder / "tokenizer_config.json").write_text(json.dumps(about | special))


def make_lists(queries: int, documents: int, shortest: int, longest: int) -> list[dict[str, Any]]:
    """Queries of 3 to 8 words with documents of log-uniform length in subwords; 5% of words are translations."""
    random = np.random.default_rng(1)
    lists = []
    for _ in range(queries):
        query = [_word(random) for _ in range(random.integers(3, 9))]
        table = {word: [_word(random) for _ in range(TRANSLATIONS)] for word in query}
        likely = [translation for translations in table.values() for translation in translations]
        sizes = np.exp(random.uniform(np.log(shortest), np.log(longest + 1), documents)).astype(int)
        texts = [_text(random, int(size), likely) for size in sizes]
        lists.append({"query": " ".join(query), "documents": texts, "table": table})
    return lists


def _word(random: np.random.Generator) -> str:
    """One to three syllables."""
    return "".join(random.choice(SYLLABLES, random.integers(1, 4)))


def _text(random: np.random.Generator, subwords: int, likely: list[str]) -> str:
    text_words: list[str] = []
    while subwords:
        word = str(random.choice(likely)) if random.random() < 0.05 else _word(random)
        if (size := 2 if len(word) == 6 else 1) <= subwords:
            text_words.append(word)
            subwords -= size
    return " ".join(text_words)


def mart_of(folder: Path, mat: bool, device: str) -> Mart:
    """A MART with the same weights: BERT's pooler and its classifier of one label correspond to MART's."""
    about = json.loads((folder / "config.json").read_text())
    layers = [-3, -2] if about["num_hidden_layers"] > 2 else [-1]
    config = MartConfig(mat_layers=layers if mat else [], start="official", sides=mat)
    model = Mart(load_encoder(about.get("encoder", str(folder))), config)
    weights = load_file(folder / "model.safetensors")
    modules = {"pool": "bert.pooler.dense", "score": "classifier"}
    for ours, theirs in modules.items():
        model.get_submodule(ours).load_state_dict({part: weights[f"{theirs}.{part}"] for part in ("weight", "bias")})
    return model.to(device)


def read_list(scorer: Scorer, candidate_list: dict[str, Any], mat: bool) -> list[list[Passage]]:
    """A query's documents as rows; with `mat` including their words and table links."""
    texts = [candidate_list["query"], *candidate_list["documents"]]
    split = [_words(text) if mat else Words([], []) for text in texts]
    links = [NO_LINKS] * len(candidate_list["documents"])
    if mat:
        reference = TranslationReference(split[0], _table(json.dumps(candidate_list["table"])))
        links = [reference.links(document) for document in split[1:]]
    query, *documents = tokenize_texts(scorer.encoder, texts, [each.spans for each in split])
    return scorer.rows(query, documents, links)


def _words(text: str) -> Words:
    spans = words(text, "en")
    return Words([word.term for word in spans], [(word.start, word.end) for word in spans])


@cache
def _table(entries_json: str) -> Table:
    weight = 1 / TRANSLATIONS
    entries = [
        (word, other, weight, weight)
        for word, translations in json.loads(entries_json).items()
        for other in set(translations)
    ]
    return Table.from_entries("en", "de", entries)
