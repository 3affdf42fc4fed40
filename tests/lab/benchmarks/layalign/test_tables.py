from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman_lab.benchmarks.layalign import measuring, pictures, tables
from dragoman_lab.benchmarks.layalign.measuring import Questions, answer_of, restrict_to_solved, sets_of, solve
from dragoman_lab.reasoning.problems import languages
from tests.backbone.test_llm import written
from tests.support.backbones import tiny_veco

SYSTEMS = "translate,layalign,mindmerger,no-adapter,no-translation,no-task"
SIZES = "--steps 2 --task-steps 2 --word-steps 3 --pairs 60 --problems 20 --tuning-examples 4 --tokens 1024 --limit 3"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Parallel text, and problems of the forms of MAWPS, GSM8K and MGSM."""
    (tmp_path / "parallel" / "de-en").mkdir(parents=True)
    pairs = "".join(f"Biene {n} fliegt hier\tBee {n} flies here\n" for n in range(300))
    (tmp_path / "parallel" / "de-en" / "tatoeba.tsv").write_text(pairs)
    _write(
        tmp_path / "reasoning" / "mawps.jsonl.gz",
        [{"question": f"Bee {n} and {n} ?", "equation_prefix": f"+ {n} {n}", "answer": 2 * n} for n in range(60)],
    )
    _write(
        tmp_path / "reasoning" / "gsm8k_train.jsonl.gz",
        [{"question": f"{n} bees and one?", "answer": f"<<{n}+1={n + 1}>>{n + 1}.\n#### {n + 1}"} for n in range(9)],
    )
    for language in ("en", "de"):
        lines = [json.dumps({"question": f"{n} {language}?", "answer": str(n)}) + "\n" for n in range(4)]
        (tmp_path / "mgsm").mkdir(exist_ok=True)
        (tmp_path / "mgsm" / f"{language}.jsonl").write_text("".join(lines))
    return tmp_path


def _write(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(one) + "\n" for one in records).encode()))


def test_methods_are_trained_measured_and_drawn(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    encoder, llm = tiny_veco(data / "encoder", max_length=512), written(data / "llm")
    options = f"--data {data} --output {data / 'out'} --split test --count 2 --threads 1 --languages de"
    given = [*options.split(), *SIZES.split(), "--encoder", str(encoder), "--llm", str(llm)]
    tables.main([*given, "--systems", SYSTEMS])
    report = json.loads((data / "out" / "measured" / "test" / "report.json").read_text())
    assert set(report) == {"base", *SYSTEMS.split(",")}
    assert set(report["layalign"]["accuracy"]["templates"]) == set(languages())
    assert set(report["layalign"]["accuracy"]["mawps"]) == {"en"}
    assert set(report["layalign"]["averages"]) == {"average", "low", "high"}
    first = {one.name for one in (data / "out" / "translation").iterdir()}
    assert first == {"mlp-layers-1", "mlp-none-1", "none-layers-1"}
    capsys.readouterr()
    tables.main([*given, "--systems", "layalign", "--bridge", f"mine={data / 'out' / 'task' / 'layalign-1' / 'model'}"])
    shown = capsys.readouterr().out
    assert "mine: templates" in shown and "layalign-1: " not in shown  # what is known is not measured again
    again = json.loads((data / "out" / "measured" / "test" / "report.json").read_text())
    assert again["mine"]["accuracy"] == again["layalign"]["accuracy"]
    tables.main([*given, "--output", str(data / "english"), "--systems", "", "--english"])
    english = json.loads((data / "english" / "measured" / "test" / "report.json").read_text())["base"]
    assert {kind: set(found) for kind, found in english["accuracy"].items()} == {
        "templates": {"en"}, "mawps": {"en"}, "mgsm": {"en"},
    }  # fmt: skip
    assert english["averages"] == {}
    task = data / "out" / "task"
    bridges = [f"--bridge={name}={task / f'{name}-1' / 'model'}" for name in ("layalign", "mindmerger")]
    pictures.main([*bridges, "--work", str(data), "--count", "2", "--output", str(data / "pictures")])
    assert {one.name for one in (data / "pictures").iterdir()} == {
        "similarity.png", "pca.png", "gates.png", "layers.png", "report.json",
    }  # fmt: skip
    drawn = json.loads((data / "pictures" / "report.json").read_text())
    assert list(drawn["gates"]) == ["layalign"] and len(drawn["layers"]["layalign"][0]) == 2


@pytest.mark.parametrize(
    ("text", "number"),
    [("3 + 4 = 7. The answer is 7.", 7), ("1,200 euros", 1200), ("It is -2.50", -2.5), ("none", None), ("", None)],
)
def test_an_answer_is_the_last_number(text: str, number: float | None) -> None:
    assert answer_of(text) == number


def test_of_mgsm_only_what_is_solved_in_english_is_kept(data: Path) -> None:
    sets = restrict_to_solved(sets_of(data, "test", 3), [True, False, False, True])
    assert sets["mgsm"]["de"] == Questions(["0 de?", "3 de?"], [0, 3])
    good, said = solve(lambda texts: [f"{text} 3" for text in texts], sets["mgsm"]["en"])
    assert (good, said) == ([False, True], ["0 en? 3", "3 en? 3"])


def test_what_is_tuned_by_is_not_what_is_reported(data: Path) -> None:
    tuned, tested = (sets_of(data, split, 20)["templates"]["de"] for split in ("tune", "test"))
    assert not set(tuned.texts) & set(tested.texts)
    assert list(measuring.sets_of(data, "tune", 2)) == ["templates"]
