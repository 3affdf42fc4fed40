"""The measures of the reranker and its parts, from saved scores."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel

from benchmarks.reranking import parts as reranking_parts
from benchmarks.reranking import quality as reranking
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.ranking.about import LateInteractionAbout, MartAbout, StandaloneAbout
from dragoman.ranking.checkpoints import save_mart
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.training.fitting import WEIGHTS, Weights
from tests.ranking.samples import randomised, write_encoder, write_lists

pytestmark = pytest.mark.slow

PAIRS = ("en-de", "de-en", "en-ru", "ru-en")
Run = Callable[..., list[list[str]]]


def rows_of(markdown: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown.splitlines() if line[:1] == "|"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a benchmark's `main` with arguments, and reads the rows that it prints."""

    def main(benchmark: object, *arguments: object) -> list[list[str]]:
        monkeypatch.setattr(sys, "argv", ["benchmark", *map(str, arguments)])
        benchmark.main()  # type: ignore[attr-defined]
        return rows_of(capsys.readouterr().out)

    return main


@pytest.fixture
def folder(tmp_path: Path, subwords: Subwords) -> Path:
    """A model with all parts, lists to test and to tune on."""
    encoder = write_encoder(tmp_path / "encoder", subwords, layers=3)
    model = randomised(Mart(load_encoder(str(tmp_path / "encoder")), MartConfig([0, 1])))
    about = MartAbout(
        "tiny",
        first_stage_weight=3.0,
        late_interaction=LateInteractionAbout(str(tmp_path / "encoder"), 1, 10.0),
        standalone=StandaloneAbout(20.0, 0.5, 1.0),
    )
    save_mart(tmp_path / "mart", model, about)
    for seed, pair in enumerate(PAIRS):
        write_lists(tmp_path / "out" / "lists" / f"xquad_r-sentence-{pair}", encoder, queries=6, seed=seed)
        write_lists(tmp_path / "tuning" / f"xquad_r-sentence-{pair}", encoder, queries=5, seed=seed + 10)
    return tmp_path


def keep_scores(folder: Path, monkeypatch: pytest.MonkeyPatch, run: Run, language: str) -> list[list[str]]:
    """Measure one language's directions, whose lists are there."""
    monkeypatch.setattr(reranking, "prepare", lambda *_: None)
    options = ["--data", folder, "--tables", folder, "--output", folder / "out", "--model", folder / "mart"]
    return run(reranking, *options, "--languages", language, "--units", "sentence")


def test_the_summary_has_means_of_languages_and_of_both_ways() -> None:
    random = np.random.default_rng(1)
    found = {
        f"xquad_r-sentence-{pair}": {order: random.random(20).tolist() for order in reranking.ORDERS[:3]}
        for pair in PAIRS
    }
    rows = {row[1]: row for row in rows_of(reranking.summary(found))[2:]}
    assert list(rows) == [*PAIRS, "de, both", "ru, both", "from English", "into English", "all 4"]
    chosen = {"ru, both": PAIRS[2:], "from English": PAIRS[::2], "into English": PAIRS[1::2], "all 4": PAIRS}
    for title, pairs in chosen.items():
        psq, together = (
            np.mean([found[f"xquad_r-sentence-{pair}"][order] for pair in pairs], 0) for order in ("psq", "together")
        )
        assert rows[title][2:4] == ["20", f"{psq.mean():.3f}"]
        assert rows[title][6] == f"**{together.mean():.3f}**"
        assert rows[title][8] == f"{ttest_rel(together, psq).pvalue:.2g}"


def test_the_summary_combines_saved_scores_of_several_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    first = keep_scores(folder, monkeypatch, run, "de")
    assert [row[1] for row in first[2:]] == ["en-de", "de-en", "de, both"]
    whole = keep_scores(folder, monkeypatch, run, "ru")
    assert [row[1] for row in whole[2:]][-3:] == ["from English", "into English", "all 4"]
    assert run(reranking, "--output", folder / "out", "--model", folder / "mart", "--kept") == whole
    assert rows_of((folder / "out" / "summary.md").read_text()) == whole


def test_parts_add_up_to_the_saved_scores(folder: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    for language in ("de", "ru"):
        whole = keep_scores(folder, monkeypatch, run, language)[-1]
    options = ["--kept", folder / "out", "--tuning", folder / "tuning", "--output", folder / "parts"]
    options += ["--model", folder / "mart", "--questions", 5, "--mart-questions", 3]
    rows = run(reranking_parts, *options)
    by_name = {row[0]: row for row in rows}
    assert f"{float(by_name['psq'][1]):.3f}" == whole[3]
    assert float(by_name[reranking_parts.SHIPPED["with psq"]][1]) == pytest.approx(float(whole[6].strip("*")), abs=6e-4)
    assert float(by_name[reranking_parts.SHIPPED["alone"]][1]) == pytest.approx(float(whole[4]), abs=6e-4)
    assert by_name[reranking_parts.SHIPPED["with psq"]][-1] == "1, 10, 6, 20"
    before = {path: path.stat().st_mtime_ns for path in (folder / "parts").glob("*.json")}
    assert len(before) == 3 * len(PAIRS)
    assert run(reranking_parts, *options) == rows
    assert {path: path.stat().st_mtime_ns for path in before} == before
    with pytest.raises(SystemExit, match="remove it"):
        run(reranking_parts, *options[:-1], 2)


def test_each_combination_has_weights_of_its_parts_only(folder: Path) -> None:
    parts = reranking_parts.Parts(str(folder / "mart"), folder)
    path = folder / "tuning" / "xquad_r-sentence-en-de"
    cheap, dear = ({"en-de": parts.tuned(path, 5, by_mart)} for by_mart in (False, True))
    assert not any(one.model.any() for one in cheap["en-de"]) and all(one.model.any() for one in dear["en-de"])
    for plain, scored in zip(cheap["en-de"], dear["en-de"], strict=True):
        assert plain.match.tolist() == scored.match.tolist() and plain.shares.tolist() == scored.shares.tolist()
    found = reranking_parts.combinations(Weights(1.0, 10.0, 6.0, 20.0), cheap, dear)
    assert found["with psq"]["psq + late interaction + structured query"].mart == 0.0
    assert found["with psq"]["psq + MART"].first_stage in WEIGHTS
    assert found["alone"]["late interaction + structured query"].first_stage == 0.0
    assert found["alone"]["MART"] == Weights(mart=1.0)
