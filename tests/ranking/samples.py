"""Small lists of candidates, built without Java."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import torch

from dragoman.backbone.checkpoints import save_veco
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import words
from dragoman.ranking.attention import Words
from dragoman.ranking.passages import tokenize_texts
from dragoman_lab.ranking.lists import Candidate, CandidateList, ListsWriter
from tests.backbone.samples import SENTENCES, tiny

WORDS = [
    ("bee", "biene"), ("ship", "schiff"), ("volcano", "vulkan"), ("cat", "katze"), ("finds", "findet"),
    ("carries", "trägt"), ("sees", "sieht"), ("loves", "liebt"), ("honey", "honig"), ("harbour", "hafen"),
    ("ash", "asche"), ("salt", "salz"),
]  # fmt: skip
TABLE = Table.from_entries("en", "de", [(english, german, 0.9, 0.8) for english, german in WORDS])


def split(text: str, language: str) -> Words:
    found = words(text, language)
    return Words([token.term for token in found], [(token.start, token.end) for token in found])


def write_encoder(folder: Path, subwords: Subwords, **sizes: Any) -> Encoder:
    """A tiny encoder as a folder, opened."""
    save_veco(folder, tiny(len(subwords), **sizes), subwords)
    return load_encoder(str(folder))


def cipher(text: str) -> str:
    """A language that nobody has read: German with every word turned round."""
    return " ".join(word[::-1] for word in text.lower().split())


def write_lists(folder: Path, encoder: Encoder, *, queries: int = 30, seed: int = 1, relevant: bool = True) -> Path:
    """Lists of five German sentences for an English one, of which its translation answers it, scored at random."""
    noise = random.Random(seed)
    lists = _Lists(encoder)
    for _ in range(queries):
        chosen = noise.sample(SENTENCES, 5)
        answer = noise.randrange(5)
        lists.add(chosen[answer][0], [german for _, german in chosen], answer if relevant else -1, noise)
    lists.writer.write(folder, TABLE)
    return folder


def write_unread(folder: Path, encoder: Encoder, *, queries: int, seed: int) -> Path:
    """Lists of words that nobody knows, each its own: only the table tells which sentence translates the query."""
    noise = random.Random(seed)
    lists, entries = _Lists(encoder), {}

    def word() -> str:
        return "".join(noise.choices("abdefghiklmnoprstuvz", k=4))

    for _ in range(queries):
        query, others = [word() for _ in range(2)], [word() for _ in range(8)]
        translated = [word() for _ in query]
        entries |= dict(zip(query, translated, strict=True))
        answer = noise.randrange(4)
        documents = [others[2 * place : 2 * place + 2] for place in range(4)]
        documents[answer] = translated
        lists.add(" ".join(query), [" ".join(words) for words in documents], answer, noise)
    lists.writer.write(folder, Table.from_entries("en", "de", [(*pair, 0.9, 0.8) for pair in entries.items()]))
    return folder


class _Lists:
    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.writer, self.number = encoder, ListsWriter("en", "de", encoder.tokenizer_checksum), 0

    def add(self, query: str, documents: list[str], answer: int, noise: random.Random) -> None:
        scores = sorted((noise.random() for _ in documents), reverse=True)
        candidates = [
            Candidate(self._text(document, "de"), score, place == answer)
            for place, (document, score) in enumerate(zip(documents, scores, strict=True))
        ]
        self.writer.list(CandidateList(f"q{self.number}", self._text(query, "en"), candidates, 1))
        self.number += 1

    def _text(self, text: str, language: str) -> int:
        found = split(text, language)
        return self.writer.text(tokenize_texts(self.encoder, [text], [found.spans])[0], found.terms)


def config_table(folder: Path, encoder: Path, **changes: Any) -> dict[str, Any]:
    """A training of seconds on the lists in `folder`."""
    table: dict[str, Any] = {
        "encoder": str(encoder),
        "lists": str(folder / "lists"),
        "tuning": str(folder / "tuning"),
        "steps": 6,
        "queries": 4,
        "documents": 3,
        "tokens": 256,
        "warm_up": 2,
        "report_every": 1,
        "checkpoint_every": 2,
        "bf16": False,
        "device": "cpu",
        "model": {"mat_layers": [0, 1], "dropout": 0.1},
    }
    return table | changes


def randomised(model: torch.nn.Module, seed: int = 3) -> torch.nn.Module:
    """The model with weights that make every difference show."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3, generator=torch.Generator().manual_seed(seed))
    return model
