"""Hugging Face cross-encoders as rerankers: a model with one label reads query and document in one row.

    score = the logit of the label

These are the logits of sentence-transformers' CrossEncoder with the identity as its activation (Reimers and Gurevych
2019, arXiv:1908.10084): a row that is too long is cut as transformers does, from the longer of both texts. A document's
subwords beyond the limit of all rerankers are cut before. It reads no translation tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.padding import batches, pad_rows
from dragoman.backbone.pretrained.huggingface import HuggingFaceEncoder, load_config_and_tokenizer, load_pretrained
from dragoman.ranking.about import RerankerAbout
from dragoman.ranking.attention import Links
from dragoman.ranking.limits import DOCUMENT_SUBWORDS
from dragoman.ranking.memory import DECIMALS, TOKENS_AT_ONCE, TOKENS_AT_ONCE_ON_GPU, while_memory_lasts
from dragoman.ranking.mixed_attention import PassageRow
from dragoman.ranking.passages import Passage, ReadPart, TokenizedText

_CLASS = "ForSequenceClassification"


class CrossEncoderScorer:
    """Scores documents in the calling thread; tokenization is thread-safe. It has the methods of `scoring.Scorer`."""

    def __init__(self, encoder: HuggingFaceEncoder, tokens_at_once: int | None = None) -> None:
        """`encoder` has the classifier as its model, and its longest row as `max_length`."""
        self.encoder: Encoder = encoder
        self._model = encoder.model
        self._has_segments = "token_type_ids" in encoder.tokenizer.model_input_names
        self._device = next(encoder.parameters()).device
        on_gpu = self._device.type != "cpu"
        self._tokens = tokens_at_once or (TOKENS_AT_ONCE_ON_GPU if on_gpu else TOKENS_AT_ONCE)

    def read_part(self, query: TokenizedText, documents: Sequence[TokenizedText]) -> ReadPart:
        """The query whole, as how much of it is read depends on the document; and the documents that are cut."""
        lengths = [self._lengths(query, document) for document in documents]
        cut = [index for index, (_, read) in enumerate(lengths) if read < len(documents[index].ids)]
        return ReadPart(query, any(read < len(query.ids) for read, _ in lengths), cut)

    def rows(
        self, query: TokenizedText, documents: Sequence[TokenizedText], links: Sequence[Links]
    ) -> list[list[Passage]]:
        """Each document as one passage."""
        passages = []
        for index, (document, linked) in enumerate(zip(documents, links, strict=True)):
            first, second = self._lengths(query, document)
            pair = self.encoder.pair(query.ids[:first], document.ids[:second])
            row = PassageRow(pair.first, query.pieces[:first], pair.second, document.pieces[:second], linked)
            passages.append([Passage(index, pair, row)])
        return passages

    def shares(self, documents: Sequence[Sequence[Passage]]) -> list[float]:
        """0 for each: no table links its words to the query's."""
        return [0.0] * len(documents)

    def scores(self, documents: Sequence[Sequence[Passage]]) -> list[float]:
        """The logits of documents, each given as its one passage."""
        passages = [passage for document in documents for passage in document]
        if not passages:
            return []
        logits = while_memory_lasts(lambda tokens: self._logits(passages, tokens), self._tokens)
        return [round(logit, DECIMALS) for logit in logits]

    def _logits(self, passages: Sequence[Passage], tokens: int) -> list[float]:
        logits = [0.0] * len(passages)
        with torch.inference_mode(), torch.autocast(self._device.type, enabled=False):
            for batch in batches([len(passage.pair.ids) for passage in passages], tokens):
                computed = self._classify([passages[index] for index in batch])
                for index, logit in zip(batch, computed, strict=True):
                    logits[index] = logit
        return logits

    def _classify(self, passages: Sequence[Passage]) -> list[float]:
        ids, mask = pad_rows([passage.pair.ids for passage in passages], self._device, self.encoder.pad)
        segments = [passage.pair.segments for passage in passages if passage.pair.segments is not None]
        told_apart = bool(segments) and self._has_segments
        optional = {"token_type_ids": pad_rows(segments, self._device, 0)[0]} if told_apart else {}
        outputs = self._model(input_ids=ids, attention_mask=mask.long(), **optional)
        logits: list[float] = outputs.logits[:, 0].tolist()
        return logits

    def _lengths(self, query: TokenizedText, document: TokenizedText) -> tuple[int, int]:
        """How many subwords of both are read: the longer one is cut, or both to halves (`longest_first`)."""
        first, second = len(query.ids), min(len(document.ids), DOCUMENT_SUBWORDS)
        room = self.encoder.room_beside(0)
        shorter = min(first, second)
        if first + second <= room:
            return first, second
        if shorter > room // 2:
            halves = room // 2, room - room // 2
            return halves if first <= second else halves[::-1]
        return (first, room - first) if first <= second else (room - second, second)


def check_kind(name_or_path: str, config: Mapping[str, Any]) -> None:
    """
    Raises:
        CheckpointError: the configuration is of no classifier.
    """
    named = config.get("architectures")
    kinds = [str(kind) for kind in named] if isinstance(named, list) else []
    if not any(_CLASS in kind for kind in kinds):
        raise CheckpointError(
            f"{name_or_path}: is no reranker: model_type is {config.get('model_type')!r}, not 'mart' or 'late', and"
            f" its architecture is {', '.join(kinds) or 'not named'}, not one {_CLASS}"
        )


def load_cross_encoder(name_or_path: str, device: str = "cpu") -> tuple[CrossEncoderScorer, RerankerAbout]:
    """Load a classifier of pairs with one label, in float32, by the name or path of its checkpoint.

    Raises:
        CheckpointError: if it is missing, pickled, incomplete or needs its own code, or is no such classifier.
    """
    from transformers import AutoModelForSequenceClassification

    config, tokenizer = load_config_and_tokenizer(name_or_path)
    check_kind(name_or_path, config.to_dict())
    if config.num_labels != 1:
        raise CheckpointError(f"{name_or_path}: has {config.num_labels} labels; a reranker has one")
    model: Any = load_pretrained(AutoModelForSequenceClassification, name_or_path, config, optional=None)
    if tokenizer.pad_token_id is None:
        raise CheckpointError(f"{name_or_path}: its tokenizer has no padding token")
    encoder = HuggingFaceEncoder(model, tokenizer, name_or_path)
    encoder.max_length = min(encoder.max_length, tokenizer.model_max_length)
    name = Path(name_or_path).resolve().name if Path(name_or_path).is_dir() else name_or_path
    return CrossEncoderScorer(encoder.to(device).eval()), RerankerAbout(name=name, placebo=True)
