"""A subword vocabulary trained on text files.

A unigram language model (Kudo 2018, arXiv:1804.10959). Text is sampled from each language in proportion to its size to
the power of `smoothing` (Conneau & Lample 2019, arXiv:1901.07291, section 3.1): small languages get pieces too.
A character outside the vocabulary becomes its UTF-8 bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from dragoman.backbone.tokenizer import (
    BYTE_SCORE,
    BYTES,
    SPECIAL_TOKENS,
    Subwords,
    literal,
)
from dragoman_lab.backbone.text_files import TextFile


def train_subwords(
    files: Sequence[TextFile], size: int, *, smoothing: float = 0.5, characters: int = 20_000_000
) -> Subwords:
    """Train `size` subwords on `characters` characters sampled from all languages.

    Special tokens are `SPECIAL_TOKENS` and a decoder start token `<to:xx>` for each language. The sample is
    deterministic, but the result is not: the library counts in random order, which changes scores in the third decimal
    and thus the ids. Keep the file.

    Raises:
        CorpusError: if a file is malformed.
        ValueError: if `size` is too small for the bytes, special tokens and characters of the text.
    """
    sizes = language_sizes(files)
    budgets = {language: characters * share for language, share in smooth_shares(sizes, smoothing).items()}
    specials = [*SPECIAL_TOKENS, *(f"<to:{language}>" for language in sorted(sizes))]
    if size <= len(BYTES) + len(specials):
        raise ValueError(f"{size} is too small for 256 bytes and {len(specials)} special tokens")
    tokenizer = literal(_new_tokenizer(), specials)
    trainer = trainers.UnigramTrainer(
        vocab_size=size - len(BYTES),
        special_tokens=specials,
        unk_token="<unk>",
        show_progress=False,
        max_piece_length=16,
    )
    try:
        tokenizer.train_from_iterator(_sample(files, sizes, budgets), trainer)
    except Exception as error:  # the library raises bare Exception
        if "not large enough" not in str(error):
            raise
        raise ValueError(f"{size} is too small for the characters of this text") from error
    return Subwords(_with_bytes(tokenizer))


def smooth_shares(sizes: Mapping[str, int], exponent: float) -> dict[str, float]:
    """Shares p_l proportional to n_l ** exponent, with sum 1."""
    powers = {name: size**exponent for name, size in sizes.items()}
    total = math.fsum(powers.values())
    return {name: power / total for name, power in powers.items()}


def language_sizes(files: Iterable[TextFile]) -> dict[str, int]:
    """The number of characters of each language in all files."""
    sizes: dict[str, int] = {}
    for file in files:
        for row in file.rows():
            for language, text in zip(file.languages, row, strict=True):
                sizes[language] = sizes.get(language, 0) + len(text)
    return sizes


def _sample(files: Sequence[TextFile], sizes: Mapping[str, int], budgets: Mapping[str, float]) -> Iterator[str]:
    """Lines sampled evenly from all files, up to each language's budget of characters.

    Lines of a language that is smaller than its budget are repeated.
    """
    for file in files:
        due = dict.fromkeys(file.languages, 0.0)
        for row in file.rows():
            for language, text in zip(file.languages, row, strict=True):
                due[language] += budgets[language] / sizes[language]
                for _ in range(int(due[language])):
                    yield text
                due[language] %= 1.0


def _new_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="always")])
    return tokenizer


def _with_bytes(tokenizer: Tokenizer) -> Tokenizer:
    """Add 256 byte pieces: the trainer does not support byte fallback, the model does."""
    form = json.loads(tokenizer.to_str())
    rules = json.loads(_new_tokenizer().to_str())
    form.update(normalizer=rules["normalizer"], pre_tokenizer=rules["pre_tokenizer"])
    form["model"]["vocab"] += [[byte, BYTE_SCORE] for byte in BYTES]
    form["model"]["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(form))
