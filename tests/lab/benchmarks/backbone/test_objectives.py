"""The benchmarks of the backbone run end to end on a small text, and resume."""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path

import pytest

from dragoman_lab.benchmarks.backbone import objectives as backbone_objectives
from dragoman_lab.benchmarks.backbone import tasks as backbone_tasks

pytestmark = pytest.mark.slow

WORDS = {
    "en": ["the", "house", "river", "old", "sees", "woman", "bread", "eats", "small", "bird", "sings", "bridge"],
    "de": ["die", "haus", "fluss", "alt", "sieht", "frau", "brot", "isst", "klein", "vogel", "singt", "bruecke"],
    "es": ["la", "casa", "rio", "viejo", "ve", "mujer", "pan", "come", "poco", "ave", "canta", "puente"],
    "fr": ["le", "maison", "fleuve", "vieux", "voit", "femme", "pain", "mange", "petit", "oiseau", "chante", "pont"],
    "pt": ["a", "casa", "rio", "velho", "vê", "mulher", "pão", "come", "pouco", "pássaro", "canta", "ponte"],
    "ru": ["этот", "дом", "река", "старый", "видит", "женщина", "хлеб", "ест", "малый", "птица", "поёт", "мост"],
}
TAGS = ["DET", "NOUN", "NOUN", "ADJ", "VERB", "NOUN", "NOUN", "VERB", "ADJ", "NOUN", "VERB", "NOUN"]


def sentences(count: int, seed: int) -> list[list[int]]:
    draw = random.Random(seed)
    return [[draw.randrange(12) for _ in range(draw.randint(4, 9))] for _ in range(count)]


def text(language: str, sentence: list[int]) -> str:
    return " ".join(WORDS[language][word] for word in sentence)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    for language in WORDS:
        (root / "flores200").mkdir(exist_ok=True)
        with gzip.open(root / "flores200" / f"{language}.jsonl.gz", "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps({"text": text(language, one)}) + "\n" for one in sentences(20, 1))
        folder = root / "tagging" / "ud_pos" / language
        folder.mkdir(parents=True)
        for part, seed in (("train", 2), ("test", 3)):
            with gzip.open(folder / f"{part}.conllu.gz", "wt", encoding="utf-8") as lines:
                for sentence in sentences(40, seed):
                    rows = [f"{n}\t{WORDS[language][w]}\t_\t{TAGS[w]}\t_" for n, w in enumerate(sentence, start=1)]
                    lines.write("\n".join(rows) + "\n\n")
        if language != "en":
            folder = root / "parallel" / f"{language}-en"
            folder.mkdir(parents=True)
            with gzip.open(folder / "made.tsv.gz", "wt", encoding="utf-8") as lines:
                lines.writelines(f"{text(language, one)}\t{text('en', one)}\n" for one in sentences(120, 4))
    return root


def test_the_objectives_are_compared_and_what_is_done_is_kept(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"seeds": 1, "steps": 4, "tokens": 128, "layers": 2, "width": 64, "vocabulary": 420,
             "tagging-steps": 3, "translation-steps": 3, "sentences": 4}  # fmt: skip
    arguments = [part for name, value in sizes.items() for part in (f"--{name}", str(value))]
    monkeypatch.setattr(sys, "argv", ["objectives", "--data", str(data), "--output", str(tmp_path), *arguments])
    backbone_objectives.main()
    table = capsys.readouterr().out
    assert [line.split(" | ")[0] for line in table.strip().splitlines()[2:]] == [
        f"| {row}" for row in backbone_objectives.ROWS
    ]
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") in table
    measures = json.loads((tmp_path / backbone_objectives.FULL / "1" / "measures.json").read_text())
    assert {"BLEU last k", "BLEU first k", "BLEU random", "loss random", "retrieval en to X"} <= set(measures)
    curves = tmp_path / "MLM" / "1" / "backbone" / "curves.jsonl"
    before = curves.stat().st_mtime_ns
    backbone_objectives.main()
    assert curves.stat().st_mtime_ns == before
    assert capsys.readouterr().out == table


def test_a_tagger_trained_on_english_tags_every_word_once(data: Path, tmp_path: Path) -> None:
    class Characters:
        """An encoder's part that cuts texts: here into characters."""

        room = 60

        def subwords(self, texts: list[str]) -> list[object]:
            return [type("Encoded", (), {"ids": list(map(ord, one))}) for one in texts]

    tags: dict[str, int] = {}
    path = data / "tagging" / "ud_pos" / "de" / "test.conllu.gz"
    read = backbone_tasks.read_tagged(Characters(), path, tags)  # type: ignore[arg-type]
    assert set(tags) == set(TAGS)
    for one, sentence in zip(read, sentences(40, 3), strict=True):
        assert len(one.firsts) == len(one.tags) == len(sentence)
        assert [chr(one.ids[first]) for first in one.firsts] == [WORDS["de"][word][0] for word in sentence]
        assert [list(tags)[tag] for tag in one.tags] == [TAGS[word] for word in sentence]
