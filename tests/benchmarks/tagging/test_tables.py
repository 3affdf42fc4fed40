"""The comparison of taggers on small files: what it trains, measures and keeps."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.tagging.runs import PROPER, TASKS, gazetteer, proper_nouns, scored
from dragoman.backbone.tokenizer import Subwords
from dragoman.tagging.sentences import Sentence
from tests.ranking.samples import write_encoder

pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path: Path, subwords: Subwords) -> Path:
    """A few sentences in every file that the slots need."""
    noise = np.random.default_rng(1)
    task = TASKS["slots"]
    names = [*task.labelled, *task.tuning, *task.tests.values()]
    for name in [*names, *(one.replace(".test.", ".train.") for one in task.tests.values())]:
        rows = []
        for _ in range(12):
            hour = str(noise.integers(1, 9))
            words = [("wake", "O"), ("me", "O"), ("at", "B-datetime"), (hour, "I-datetime")]
            rows.append("\n".join(f"{n}\t{word}\talarm\t{label}" for n, (word, label) in enumerate(words, 1)))
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress("\n\n".join(rows).encode()))
    write_encoder(tmp_path / "encoder", subwords)
    return tmp_path


def test_one_command_trains_measures_and_goes_on(data: Path) -> None:
    command = [
        sys.executable, "-m", "benchmarks.tagging.tables", "--data", str(data), "--output", str(data / "out"),
        "--tasks", "slots", "--methods", "oit,fine-tuned-fixed-positions", "--seeds", "1",
        "--encoder", str(data / "encoder"), "--layer", "1", "--steps", "0.01", "--threads", "1",
    ]  # fmt: skip
    first = subprocess.run(command, capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stderr
    report = json.loads((data / "out" / "report.json").read_text())
    cells = report["cells"]["slots"]
    assert set(cells) == {"oit", "fine-tuned-fixed-positions"}
    assert set(cells["oit"]) == {"es", "th", "en k=1", "en k=2"} and len(cells["oit"]["es"]) == 1
    assert all(0 <= value <= 1 for method in cells.values() for values in method.values() for value in values)
    assert set(report["few"]["th"]["oit"]) == {"0", "0.01", "0.03", "0.05", "0.1", "0.3"}
    assert (data / "out" / "few-shot.png").stat().st_size > 1000
    assert first.stderr.count("training") == 2 + 2 * 5
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "training" not in again.stderr and again.stdout == first.stdout and "slots" in again.stdout


def test_a_gazetteer_takes_the_longest_name_with_its_usual_kind() -> None:
    def sentence(*words: tuple[str, str]) -> Sentence:
        return Sentence(tuple(word for word, _ in words), tuple(label for _, label in words), (True,) * len(words))

    learned = [
        sentence(("New", "B-LOC"), ("York", "I-LOC")),
        sentence(("New", "B-ORG"), ("York", "I-ORG"), ("Times", "I-ORG")),
        sentence(("york", "B-PER")),
        sentence(("York", "B-LOC")),
        sentence(("York", "B-LOC")),
    ]
    given = [sentence(("the", "O"), ("NEW", "O"), ("York", "O"), ("Times", "O"), ("of", "O"), ("York", "O"))]
    assert gazetteer(learned, given) == [["O", "B-ORG", "I-ORG", "I-ORG", "O", "B-LOC"]]
    assert gazetteer([], given) == [["O"] * 6]


def test_runs_of_proper_nouns_are_names_of_any_kind() -> None:
    words, parts = ("Rio", "de", "Janeiro", "ama", "Ana", "Lima"), ("PROPN", "ADP", "PROPN", "VERB", "PROPN", "PROPN")
    (gold,) = [proper_nouns(Sentence(words, parts, (True,) * 6))]
    assert gold.labels == ("B-NAME", "O", "B-NAME", "O", "B-NAME", "I-NAME")
    found = [["B-LOC", "O", "B-LOC", "O", "B-PER", "I-PER"]]
    assert scored(f"pt {PROPER}", [gold], found, of_spans=True) == 1.0
    assert scored(f"pt {PROPER}", [gold], [["B-LOC", "I-LOC", "I-LOC", "O", "B-PER", "I-PER"]], of_spans=True) == 0.4
    assert scored("pt", [gold], found, of_spans=True) == 0.0
