"""The comparison of taggers on small files: what it trains, measures and keeps."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from dragoman.backbone.tokenizer import Subwords
from dragoman_lab.benchmarks.tagging import tables
from dragoman_lab.benchmarks.tagging.runs import training_digest
from dragoman_lab.benchmarks.tagging.scoring import PROPER, SLOTS, gazetteer, proper_nouns, score_test, slot_names
from dragoman_lab.benchmarks.tagging.tables import MEAN, differences, of_test
from dragoman_lab.benchmarks.tagging.tasks import TASKS, FilePart, Plan
from dragoman_lab.tagging.sentences import Sentence
from tests.ranking.samples import write_encoder

pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path: Path, subwords: Subwords) -> Path:
    """A few sentences in every file that the slots need."""
    noise = np.random.default_rng(1)
    task = TASKS["slots"]
    names = {task.labelled.path, task.tuning.path, task.held.path, *task.tests.values()}
    more = {one.replace(".test.", f".{half}.") for one in task.tests.values() for half in ("train", "dev")}
    for name in sorted(names | more):
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


def test_one_command_trains_measures_and_goes_on(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "--data", str(data), "--output", str(data / "out"),
        "--tasks", "slots", "--methods", "oit,fine-tuned-fixed-positions", "--seeds", "1",
        "--encoder", str(data / "encoder"), "--layer", "1", "--steps", "0.01", "--threads", "1",
    ]  # fmt: skip

    def run(*arguments: str) -> tuple[str, int]:
        """What it prints, and how many trainings it says it does."""
        monkeypatch.setattr(sys, "argv", ["tables", *arguments])
        tables.main()
        printed = capsys.readouterr()
        return printed.out, printed.err.count("training")

    first, trainings = run(*command)
    report = json.loads((data / "out" / "report.json").read_text())
    cells = report["cells"]["slots"]
    assert set(cells) == {"oit", "fine-tuned-fixed-positions"}
    assert set(cells["oit"]) == {"en", "es", "th", "en k=0", "en k=1", "en k=2"} and len(cells["oit"]["es"]) == 1
    assert all(0 <= value <= 1 for method in cells.values() for values in method.values() for value in values)
    assert set(report["few"]["th"]["oit"]) == {"0", "0.01", "0.05", "0.3"}
    assert (data / "out" / "few-shot.png").stat().st_size > 1000
    assert trainings == 2 + 2 * 3
    assert run(*command) == (first, 0) and "slots" in first
    path = data / TASKS["slots"].tests["es"]
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"wake", b"fetch")))
    assert run(*command, "--no-few")[1] == 0  # measured anew, by the same taggers
    measured = json.loads((data / "out" / "slots" / "oit-1" / "cells.json").read_text())
    assert run(*command[:-4], "--steps", "0.02", "--no-few")[1] == 2
    assert json.loads((data / "out" / "slots" / "oit-1" / "cells.json").read_text())["training"] != measured["training"]


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
    assert score_test(f"pt {PROPER}", [gold], found, of_spans=True) == 1.0
    assert (
        score_test(f"pt {PROPER}", [gold], [["B-LOC", "I-LOC", "I-LOC", "O", "B-PER", "I-PER"]], of_spans=True) == 0.4
    )
    assert score_test("pt", [gold], found, of_spans=True) == 0.0


def test_parts_of_a_file_share_no_sentence(data: Path) -> None:
    plan, path = Plan(data, data / "out"), TASKS["slots"].tuning.path
    parts = [plan.file(FilePart(path, places, 3)).read_text().split("\n\n") for places in ((0, 2), (1,))]
    assert [len(one) for one in parts] == [8, 4]
    assert len(plan.file(FilePart(path, (0,), 2), 3).read_text().split("\n\n")) == 3
    assert plan.file(FilePart(path)) == data / path
    assert len(plan.draw_share(path, 0.5, 1).read_text().split("\n\n")) == 6
    other = TASKS["slots"].labelled.path
    (data / other).write_bytes(gzip.compress(b"1\tWake\ta\tO\n2\tup\ta\tO\n\n1\tgo\ta\tO\n"))
    (data / path).write_bytes(gzip.compress(b"# text\n1\twake\ta\tO\n2\tup\ta\tO\n"))
    assert plan.file(FilePart(other, (0,), 1, without=path)).read_text() == "1\tgo\ta\tO\n"


def test_a_training_is_known_by_its_files_as_well(data: Path) -> None:
    plan = Plan(data, data / "out")
    before = training_digest(plan.training("slots", "oit", 1))
    assert before == training_digest(plan.training("slots", "oit", 1))
    assert before != training_digest(plan.training("slots", "oit", 2))
    path = data / TASKS["slots"].labelled.path
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"wake", b"fetch")))
    assert before != training_digest(plan.training("slots", "oit", 1))


def test_names_in_slots_that_may_be_of_any_kind_do_not_count() -> None:
    labels = ("O", "B-location", "B-movie_name", "I-movie_name", "B-artist", "B-datetime")
    gold = slot_names(Sentence(("in", "Rome", "Ben", "Hur", "Prince", "today"), labels, (True,) * 6))
    found = [["O", "B-LOC", "B-PER", "I-PER", "B-PER", "O"]]
    assert score_test(f"it {SLOTS}", [gold], found, of_spans=True) == 1.0
    assert score_test(f"it {SLOTS}", [gold], [["B-ORG", *found[0][1:]]], of_spans=True) == 0.8
    assert score_test(f"it {SLOTS}", [gold], [["O"] * 6], of_spans=True) == 0.0


def test_the_mean_is_over_languages_and_differences_are_by_seed() -> None:
    oit = {"de a": [0.2, 0.4], "de b": [0.4, 0.6], "es": [0.9, 0.5], "en": [1.0, 1.0], f"fr {PROPER}": [0.0, 0.0]}
    assert of_test(oit, MEAN) == pytest.approx([0.6, 0.5])
    methods = {"oit": oit, "transformer": {name: [0.1, 0.1] for name in oit}}
    assert differences(methods, MEAN) == pytest.approx([0.5, 0.4])
    assert differences({"oit": oit}, MEAN) == []
