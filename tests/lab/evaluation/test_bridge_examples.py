"""What a bridge learns from: which pairs are taken, and what is held out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman_lab.backbone.config import ConfigError, read_config
from dragoman_lab.backbone.small import SMALL
from dragoman_lab.evaluation.bridge_examples import BridgeSources, is_held_out, prepare_bridge
from dragoman_lab.reasoning.examples import Completion, read_completions
from dragoman_lab.reasoning.layalign import LayAlignTraining
from tests.backbone.test_llm import written
from tests.support.serving import dragoman

pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Short and long pairs of two languages in two files each; the English side of half of them is the same."""
    for language, said in (("de", "Satz"), ("fr", "phrase")):
        folder = tmp_path / "parallel" / f"{language}-en"
        folder.mkdir(parents=True)
        spoken = [f"{said} {n} hier\tSentence {n} is here" for n in range(200)]
        (folder / "spoken.tsv").write_text("\n".join([*spoken, "lang\t" + "very " * 20, "ein\tone"]) + "\n")
        menus = "".join(f"{said} Menü {language} {n}\tMenu {language} number {n}\n" for n in range(200))
        (folder / "menus.tsv").write_text(menus)
    return tmp_path


def prepared(data: Path, name: str = "out", **changes: Any) -> tuple[dict[str, list[Completion]], ...]:
    given: dict[str, Any] = {"parallel": "parallel", "languages": ["de", "fr"], "pairs": 100, "tuning_pairs": 3}
    folders = data / name / "learn", data / name / "tune"
    prepare_bridge(BridgeSources.parse_below(given | changes, data), *folders, lambda: None)
    return tuple(
        {one: list(read_completions(folder / f"{one}.jsonl.gz")) for one in ("de", "fr", "en")} for folder in folders
    )


def test_each_language_has_its_share_of_short_pairs_and_english_is_repeated(data: Path) -> None:
    learned, tuned = prepared(data, english=0.2)
    assert [len(learned[one]) for one in ("de", "fr", "en")] == [50, 50, 20]
    assert all(one.language == "de" and one.text.startswith("Satz") for one in learned["de"])
    assert all(2 <= len(one.answer.split()) <= 12 for part in learned.values() for one in part)
    assert all(one.text == one.answer and one.language == "en" for one in learned["en"])
    assert len({one.answer for one in learned["de"]}) == 50
    assert {one.answer.split()[0] for one in learned["de"]} == {"Menu", "Sentence"}
    assert all(len(part) == 3 for part in tuned.values())


def test_pairs_have_as_many_words_as_said(data: Path) -> None:
    learned, tuned = prepared(data, least_words=4, words=4, pairs=600)
    found = [one for folder in (learned, tuned) for part in folder.values() for one in part]
    assert found and {len(one.answer.split()) for one in found} == {4}


def test_no_english_sentence_is_in_both(data: Path) -> None:
    learned, tuned = prepared(data, pairs=2000, tuning_pairs=100)
    answers = {one.answer for part in learned.values() for one in part}
    held = {one.answer for part in tuned.values() for one in part}
    assert held and not answers & held and all(is_held_out(one) for one in held)


def test_preferred_files_are_used_up_first_and_others_not_at_all(data: Path) -> None:
    learned, _ = prepared(data, preferred=["spo"])
    assert {one.answer.split()[0] for one in learned["fr"]} == {"Sentence"}
    learned, _ = prepared(data, "other", pairs=600, preferred=["spo"])
    assert {one.answer.split()[0] for one in learned["fr"]} == {"Sentence", "Menu"}
    learned, _ = prepared(data, "third", pairs=600, without=["spo"])
    assert {one.answer.split()[0] for one in learned["fr"]} == {"Menu"}


def test_problems_are_of_all_sets_and_those_for_tuning_are_others(tmp_path: Path) -> None:
    with (tmp_path / "mawps.jsonl").open("w") as file:
        for n in range(2, 52):
            record = {"question": f"{n} and {n} ?", "equation_prefix": f"+ {n} {n}", "answer": str(2 * n)}
            file.write(json.dumps(record) + "\n")
    solved = "2+2=<<2+2=4>>4\n#### 4"
    (tmp_path / "gsm8k.jsonl").write_text(json.dumps({"question": "A hen?", "answer": solved}) + "\n")
    sources = {"problems": 300, "mawps": "mawps.jsonl", "gsm8k": "gsm8k.jsonl", "tuning_pairs": 20}
    prepare_bridge(BridgeSources.parse_below(sources, tmp_path), tmp_path / "learn", tmp_path / "tune", lambda: None)
    learn, tune = (list(read_completions(tmp_path / name / "problems.jsonl.gz")) for name in ("learn", "tune"))
    texts = {one.text for one in learn}
    assert 330 < len(learn) < 351 and "A hen?" in texts  # a fifth of MAWPS is held out
    assert len(tune) == 20 and not texts & {one.text for one in tune}
    assert all(one.language == "en" and "The answer is" in one.answer for one in [*learn, *tune])


def test_what_is_complete_stays_and_other_sources_are_refused(data: Path) -> None:
    learned, _ = prepared(data)
    path = data / "out" / "learn" / "de.jsonl.gz"
    before = path.stat().st_mtime_ns
    assert prepared(data)[0] == learned and path.stat().st_mtime_ns == before
    with pytest.raises(ConfigError, match="made from other sources"):
        prepared(data, words=8)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"languages": []}, "languages is a list"),
        ({"parallel": ""}, "parallel is a folder"),
        ({"parallel": "", "languages": []}, "neither parallel text nor a problem"),
        ({"problems": -1}, r"sources: problems: .* greater than or equal to 0, not -1"),
        ({"words": 1}, "words must be at least 2"),
        ({"words": 5, "least_words": 6}, "words must be at least 6"),
        ({"least_words": 1}, r"sources: least_words: .* greater than or equal to 2, not 1"),
        ({"languages": ["el"]}, "has no text of el and en"),
        ({"colour": 1}, "sources: unknown field colour"),
    ],
)
def test_sources_that_cannot_be_are_refused(data: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        prepared(data, **changes)


def test_the_command_prepares_and_trains(data: Path) -> None:
    written(data / "llm")
    config = data / "bridge.toml"
    config.write_text(
        f'''
encoder = "{SMALL}"
llm = "{data}/llm"
examples = "{data}/out/learn"
tuning = "{data}/out/tune"
length = 48
tokens = 96
steps = 2
warm_up = 1
checkpoint_every = 1
report_every = 1

[sources]
parallel = "parallel"
languages = ["de", "fr"]
pairs = 20
tuning_pairs = 2
''',
        encoding="utf-8",
    )
    given = ("train", "layalign", "--config", str(config), "--data", str(data), "--output", str(data / "output"))
    done = dragoman(*given, "--stage", "task")
    assert done.returncode == 0, done.stderr
    about = json.loads((data / "output" / "model" / "config.json").read_text())
    assert about["model_type"] == "layalign" and about["stage"] == "task"
    assert about["languages"] == ["de", "en", "fr"]
    refused = dragoman(*given, "--stage", "third")
    assert refused.returncode == 2 and "stage" in refused.stderr


def test_the_shipped_configurations_are_some(tmp_path: Path) -> None:
    paths = list((Path(__file__).parents[3] / "dragoman_lab" / "configs").glob("layalign*.toml"))
    assert len(paths) == 3
    for path in paths:
        table = read_config(path, tmp_path)
        BridgeSources.parse_below(table.pop("sources"), tmp_path)
        LayAlignTraining.parse(table)
