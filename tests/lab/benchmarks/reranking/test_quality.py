"""The measures of a reranker, from saved scores."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.ranking.about import RerankerAbout, StandaloneAbout
from dragoman.ranking.checkpoints import save_mart
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.scoring import load_scorer
from dragoman_lab.benchmarks.reranking import late_fit
from dragoman_lab.benchmarks.reranking import quality as reranking
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
    about = RerankerAbout(
        "tiny",
        first_stage_weight=3.0,
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


def test_the_weights_of_late_are_fitted_and_written(folder: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    encoder = load_encoder(str(folder / "encoder"))
    (folder / "late").mkdir()
    late = {"encoder": str(folder / "encoder"), "layer": 1, "cosine": 9.0}
    config = {
        "model_type": "late",
        "name": "mine",
        "late": late,
        "hybrid": {"weight": 9.0, "scale": 1.0, "offset": 0.0},
    }
    (folder / "late" / "config.json").write_text(json.dumps(config))
    for seed, pair in enumerate(PAIRS):
        lists = folder / "lists" / encoder.tokenizer_checksum[:12] / f"xquad_r-sentence-{pair}"
        write_lists(lists, encoder, queries=12, seed=seed)
    monkeypatch.setattr(late_fit, "prepare", lambda *_: None)
    options = ["--data", folder, "--work", folder, "--languages", "de,ru", "--questions", 9]
    rows = run(late_fit, *options, "--model", folder / "late")
    means = dict(zip(rows[0], rows[-1], strict=True))
    assert [row[0] for row in rows[2:]] == ["en-de", "de-en", "en-ru", "ru-en", "mean"]
    about = load_scorer(str(folder / "late"))[1]
    assert about.name == "mine" and about.late is not None and about.standalone is not None
    assert about.hybrid is None  # it was fitted to other scores
    assert about.late.cosine in late_fit.COSINE_WEIGHTS
    assert about.training["measures"]["standalone"] == pytest.approx(float(means["standalone"]), abs=1e-3)
    compared = run(late_fit, *options, "--model", folder / "late", "--compare", folder / "late")
    assert compared[0] == ["", "psq", "standalone", "together"]
    assert compared[-1] == ["mean", means["first stage"], means["standalone"], means["all"]]
    assert load_scorer(str(folder / "late"))[1] == about  # a comparison writes nothing
    with pytest.raises(SystemExit):
        run(late_fit, *options, "--model", folder / "mart")
