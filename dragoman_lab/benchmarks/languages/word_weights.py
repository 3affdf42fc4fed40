"""Train the model of words by which short texts' languages are told, and write its weights.

    python -m dragoman_lab.benchmarks.languages.word_weights --data DATA \
        --output dragoman/engine/query/weights/words.safetensors

It learns from parts of one to eight words of parallel text (`DATA/parallel`) and from entries of dictionaries
(`DATA/dictionaries`), in 23 languages; a text that `short_queries` may draw for tuning or test is left out. One text in
eight gets some English words, as titles of films and songs are in texts of all languages. Takes some minutes on two
cores. The weights are those of :mod:`dragoman.engine.query.word_model`, in a byte each.
"""

from __future__ import annotations

import argparse
import json
import random
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file
from torch import Tensor, nn

from dragoman.engine.query.word_model import UNUSUAL, WORD_CHARS, buckets, text_words
from dragoman_lab.benchmarks.languages.short_queries import lines_of, part

LANGUAGES = tuple("am ar cs de el en es fa fi fr hi id it ja nl pt ru so sw th tr vi zh".split(" "))  # noqa: SIM905
BUCKETS = 1 << 18
SCALE, RATE, BATCH, STEEPEST = 16.0, 0.02, 1_024, 0.03
ENGLISH = LANGUAGES.index("en")
BORROWED = 0.1
"""How usual an English word is taken to be in a text of another language; more was better for real queries alone."""
UNNATURAL = ("python_docs", "osm", "mozilla")
"""Parts of names of files whose texts are mostly code or names."""
CLOSE = ("de", "es", "fr", "it", "nl", "pt")
"""Languages that are easily taken for each other: they have more examples."""


class LabelledText(NamedTuple):
    """A short text and its language."""

    text: str
    language: str


def shorten(text: str, draw: random.Random) -> str:
    """One to seven words of a text in a row; two to eight characters where it has no spaces."""
    words = text.split()
    if len(words) < 2 and len(text) > 6 and not text.isascii():
        size = draw.randint(2, 8)
        start = draw.randrange(max(1, len(text) - size))
        return text[start : start + size]
    size = draw.choice((1, 2, 2, 3, 3, 4, 4, 5, 7))
    start = draw.randrange(max(1, len(words) - size + 1))
    return " ".join(words[start : start + size])


def sentences(data_folder: Path, draw: random.Random) -> Iterator[LabelledText]:
    """Parts of the sentences of parallel text, and of their English sides."""
    for folder in sorted((data_folder / "parallel").glob("*-en")):
        rows = []
        for path in sorted(folder.glob("*.tsv.gz")):
            if not any(name in path.name for name in UNNATURAL):
                pairs = [fields for line in lines_of(path) if len(fields := line.split("\t")) >= 2]
                draw.shuffle(pairs)
                rows += pairs[:30_000]
        draw.shuffle(rows)
        language = folder.name.partition("-")[0]
        yield from (LabelledText(shorten(row[0], draw), language) for row in rows[:60_000])
        yield from (LabelledText(shorten(row[1], draw), "en") for row in rows[:2_500])


def entries(data_folder: Path, draw: random.Random) -> Iterator[LabelledText]:
    """Entries of dictionaries; of English ones a fifth, as many of them explain a word."""
    for path in sorted((data_folder / "dictionaries").glob("*.tsv.gz")):
        if "omw" in path.name:
            continue
        rows = [fields for line in lines_of(path) if len(fields := line.split("\t")) >= 2]
        rows = [row for row in rows if row[0].casefold() != row[1].casefold() and "(" not in row[0] + row[1]]
        draw.shuffle(rows)
        for row in rows[:60_000]:
            for language, text in zip(path.name.split(".")[0].split("-"), row, strict=False):
                if language == "en" and draw.random() > 0.2:
                    continue
                if language in LANGUAGES and len(text) < 60 and part(text) == "learn":
                    yield LabelledText(text, language)


def examples(data_folder: Path, seed: int = 1) -> list[LabelledText]:
    """All texts to learn from, at most 44,000 of a language and more of those that are easily confused."""
    draw = random.Random(seed)
    texts = [*sentences(data_folder, draw), *entries(data_folder, draw)]
    draw.shuffle(texts)
    left = {
        language: 110_000 if language == "en" else 90_000 if language in CLOSE else 44_000 for language in LANGUAGES
    }
    selected = []
    for example in texts:
        if left[example.language] > 0:
            left[example.language] -= 1
            selected.append(example)
    english = [example.text.split() for example in selected if example.language == "en"]
    return [_with_english(example, english, draw) for example in selected]


def _with_english(example: LabelledText, english: Sequence[Sequence[str]], draw: random.Random) -> LabelledText:
    """One text in eight of those of several words, with English words written as in titles somewhere in it."""
    words = example.text.split()
    if example.language == "en" or len(words) < 2 or draw.random() >= 0.12:
        return example
    title = [word.capitalize() for word in draw.choice(english)[: draw.randint(1, 4)]]
    place = draw.randint(0, len(words))
    return example._replace(text=" ".join([*words[:place], *title, *words[place:]]))


class Trained(nn.Module):
    """The model of words with weights that are learned."""

    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.EmbeddingBag(BUCKETS, len(LANGUAGES), mode="mean")
        nn.init.zeros_(self.bags.weight)

    def forward(self, texts: Sequence[Sequence[int]], word_buckets: Sequence[NDArray[np.int64]]) -> Tensor:
        """The log odds of the languages (texts, languages); a text is the places of its words in ``word_buckets``."""
        used, places = np.unique([word for text in texts for word in text], return_inverse=True)
        bags = [word_buckets[word] for word in used]
        starts = np.cumsum([0] + [len(bag) for bag in bags[:-1]])
        logits: Tensor = self.bags(torch.from_numpy(np.concatenate(bags)), torch.from_numpy(starts)) * SCALE
        usual = logits.softmax(1)
        scores = (usual + BORROWED * usual[:, ENGLISH : ENGLISH + 1] + UNUSUAL).log()[torch.from_numpy(places)]
        owners = torch.from_numpy(np.repeat(np.arange(len(texts)), [len(text) for text in texts]))
        return torch.zeros(len(texts), len(LANGUAGES)).index_add(0, owners, scores)


def train(texts: Sequence[LabelledText], epochs: int = 2) -> NDArray[np.float32]:
    """The weights (buckets, languages), learned from texts."""
    word_places: dict[str, int] = {}
    parts: list[NDArray[np.int64]] = []
    encoded = []
    for example in texts:
        words = [word[:WORD_CHARS] for word in text_words(unicodedata.normalize("NFC", example.text))]
        for word in words:
            if word not in word_places:
                word_places[word] = len(parts)
                parts.append(np.array(buckets(word, BUCKETS), dtype=np.int64))
        if words:
            encoded.append(([word_places[word] for word in words], LANGUAGES.index(example.language)))
    model = Trained()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    steps = epochs * (len(encoded) // BATCH + 1)
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(STEEPEST, 1 - step / steps))
    for epoch in range(epochs):
        order = np.random.RandomState(epoch).permutation(len(encoded))
        for start in range(0, len(encoded), BATCH):
            batch = [encoded[place] for place in order[start : start + BATCH]]
            scores = model([words for words, _ in batch], parts)
            loss = nn.functional.cross_entropy(scores, torch.tensor([language for _, language in batch]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            falling.step()
    return model.bags.weight.detach().numpy() * SCALE


def write(path: Path, weights: NDArray[np.float32]) -> None:
    """Write the weights, a byte each; the largest are cut so that the others keep more of their digits."""
    scale = float(np.quantile(np.abs(weights[weights != 0]), 0.9995)) / 127
    rounded = np.clip(np.rint(weights / scale), -127, 127).astype(np.int8)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({"weights": rounded}, path, {"languages": json.dumps(LANGUAGES), "scale": repr(scale)})


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    arguments = parser.parse_args()
    write(arguments.output, train(examples(arguments.data), arguments.epochs))


if __name__ == "__main__":
    main()
