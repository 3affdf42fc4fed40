"""Subword tokenization: one vocabulary for all languages, with offsets and byte fallback.

A unigram language model (Kudo 2018, arXiv:1804.10959) over text sampled from each language in proportion to
its size to the power of `smoothing` (Conneau & Lample 2019, arXiv:1901.07291, section 3.1), so that small
languages get pieces too. A character outside the vocabulary becomes its UTF-8 bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers

PAD, BOS, EOS, MASK, UNKNOWN = 0, 1, 2, 3, 4
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<mask>", "<unk>")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
BYTE_SCORE = -100.0  # far below any piece: bytes are the last resort
WORD_START = "▁"
SEPARATORS = "\x1c\x1d\x1e\x1f"  # white space to Python, but not to Unicode, nor to the tokenizer


@dataclass(frozen=True)
class Encoded:
    """The subwords of a text: their `ids`, `offsets` (start, end) and the index of the word of each (`words`)."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    words: list[int]


class Subwords:
    """A trained subword vocabulary. Texts are encoded without special tokens; batches add them.

    Texts are always literal: `<mask>` or `<0x41>` in a text is encoded as characters. "▁", the word-start marker of
    pieces, is treated as white space.
    """

    def __init__(self, tokenizer: Tokenizer, unlisted: Sequence[str] = ()) -> None:
        """Takes ownership of `tokenizer` and modifies it; `unlisted` are special tokens that it has as mere pieces."""
        self._form = tokenizer.to_str().encode()  # bytes: a quarter of the memory of a string of all scripts
        listed = tokenizer.get_added_tokens_decoder()
        pieces = [tokenizer.token_to_id(name) for name in unlisted]
        self._special_ids = sorted({*listed, *(piece_id for piece_id in pieces if piece_id is not None)})
        self._tokenizer = literal(tokenizer, [*(token.content for token in listed.values()), *unlisted])

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """The subwords of each text. Offsets do not include the space before a word."""
        encoded = []
        for text, encoding in zip(
            texts, self._tokenizer.encode_batch(list(texts), add_special_tokens=False), strict=True
        ):
            encoded.append(
                Encoded(
                    encoding.ids,
                    [inner(text, span) for span in encoding.offsets],
                    _words(encoding.tokens),
                )
            )
        return encoded

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The subword ids of each text; faster than `encode`, without offsets."""
        return [e.ids for e in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of subword ids, without special tokens."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True)).strip(" ")

    def piece(self, identifier: int) -> str:
        return str(self._tokenizer.id_to_token(identifier))

    def surprisals(self) -> NDArray[np.float64]:
        """-log p of each subword, from the vocabulary's training; the maximum for one without a probability."""
        logs = np.array([log for _, log in json.loads(self._form)["model"]["vocab"]])
        learned = (logs < 0) & (logs > BYTE_SCORE)
        return np.where(learned, -logs, -logs[learned].min())

    def special(self, token: str) -> int:
        """The id of a special token such as `<to:de>`.

        Raises:
            KeyError: if the vocabulary has no such token.
        """
        identifier = self._tokenizer.token_to_id(token)
        if identifier is None:
            raise KeyError(token)
        return int(identifier)

    @property
    def special_ids(self) -> list[int]:
        """The ids of all special tokens; no text is encoded with them."""
        return list(self._special_ids)

    @property
    def checksum(self) -> str:
        """SHA-256 of the vocabulary and its settings."""
        return hashlib.sha256(self._form).hexdigest()

    def save(self, path: Path) -> None:
        path.write_bytes(self._form)

    @classmethod
    def load(cls, path: Path) -> Subwords:
        return cls(Tokenizer.from_file(str(path)))


def _words(pieces: Sequence[str]) -> list[int]:
    """The word index of each piece; the tokenizer's own indices count a word that is split at "<" twice."""
    return [max(0, starts - 1) for starts in accumulate(piece.startswith(WORD_START) for piece in pieces)]


def cut_evenly(ids: Sequence[int], room: int) -> list[list[int]]:
    """Split into parts of nearly equal length with at most `room` subwords; no subwords give one empty part."""
    count = max(1, -(-len(ids) // room))
    size = -(-len(ids) // count)
    return [list(ids[part * size : (part + 1) * size]) for part in range(count)]


def inner(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """The span without leading white space."""
    start, end = span
    while start < end and text[start].isspace() and text[start] not in SEPARATORS:
        start += 1
    return start, end


def literal(tokenizer: Tokenizer, specials: Sequence[str]) -> Tokenizer:
    """Make the tokenizer encode special tokens and bytes spelled in a text as plain characters.

    "▁" becomes white space.
    """
    tokenizer.normalizer = normalizers.Sequence([*_parts(tokenizer.normalizer), normalizers.Replace(WORD_START, " ")])
    return spelled_out(tokenizer, specials, ["<(?=0x[0-9A-F]{2}>)"])


def spelled_out(tokenizer: Tokenizer, specials: Sequence[str], patterns: Sequence[str] = ()) -> Tokenizer:
    """Make the tokenizer encode special tokens spelled in a text as plain characters.

    They may be pieces of the model, so words are split after their first characters, and after what `patterns` match:
    no piece can match across the split.
    """
    firsts = [f"{re.escape(name[0])}(?={re.escape(name[1:])})" for name in specials if len(name) > 1]
    split = pre_tokenizers.Split(Regex("|".join([*firsts, *patterns])), "merged_with_previous")
    tokenizer.encode_special_tokens = True
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*_parts(tokenizer.pre_tokenizer), split])
    return tokenizer


def _parts(step: Any) -> list[Any]:
    return [] if step is None else [step]
