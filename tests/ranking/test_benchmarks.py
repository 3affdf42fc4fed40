"""The benchmarks of reranking on the smallest input: they run, and say what they should."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from benchmarks.mart_tables import _p
from dragoman.backbone.encoder import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.ranking.about import MartAbout
from dragoman.ranking.checkpoints import load_mart, save_mart
from dragoman.ranking.mart import Mart, MartConfig
from tests.ranking.samples import config_table, write_encoder, write_lists

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lists(tmp_path: Path, subwords: Subwords) -> Path:
    encoder = write_encoder(tmp_path / "encoder", subwords, layers=3)
    for name, seed in (("lists/a", 1), ("tuning/b", 2), ("test/c-en-de", 3), ("test/c-de-en", 4)):
        write_lists(tmp_path / name, encoder, queries=6, seed=seed)
    return tmp_path


def run(module: str, *arguments: object) -> str:
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_comparison_of_variants(lists: Path) -> None:
    table = {name: value for name, value in config_table(lists, lists / "encoder").items() if name != "model"}
    config = lists / "tables.toml"
    config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items()))
    options = ["--config", config, "--test", lists / "test", "--output", lists / "out", "--seeds", 2, "--threads", 1]
    printed = run("mart_tables", *options, "--variants", "bert,mart,placebo")
    for order in ("alone", "interpolated"):
        part = printed.split(f"**{order}**")[1].split("**")[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.strip().splitlines()]
        assert rows[0][1:3] == ["c-de-en", "c-en-de"]
        assert [row[0] for row in rows[2:]] == ["psq", "bert (2)", "mart (2)", "placebo (2)"]
        for row in rows[2:]:
            assert float(row[3]) == pytest.approx((float(row[1]) + float(row[2])) / 2, abs=2e-3)
    kept = (lists / "out" / "mart-1" / "report.json").stat().st_mtime_ns
    assert run("mart_tables", *options, "--variants", "bert,mart,placebo") == printed
    assert (lists / "out" / "mart-1" / "report.json").stat().st_mtime_ns == kept
    shutil.copytree(lists / "test", lists / "test-dictionary")  # where a variant looks that reranks by dictionaries
    again = run("mart_tables", *options, "--variants", "mart,dictionary at search")
    rows = [line.split("|")[2:5] for line in again.splitlines() if line.startswith(("| mart", "| dictionary"))]
    assert len(rows) == 4 and rows[0] == rows[1] and rows[2] == rows[3]  # the same lists


def test_p_values_are_of_queries_whatever_languages_ask_them() -> None:
    random = np.random.default_rng(1)
    names = ["x-sentence-en-de", "x-sentence-de-en", "y-sentence-en-de"]
    other = [random.random(30), random.random(30), random.random(20)]
    own = [other[0] + random.random(30) - 0.3, other[1] - 0.1, other[2] + random.random(20) - 0.4]
    queries = np.concatenate([(own[0] + own[1] - other[0] - other[1]) / 2, own[2] - other[2]])
    assert _p(names, own, other) == f"{ttest_1samp(queries, 0).pvalue:.2g}"
    assert _p(names, own, own) == ""


def test_the_similarity_of_translations(lists: Path) -> None:
    model = Mart(load_encoder(str(lists / "encoder")), MartConfig([0, 1]))
    save_mart(lists / "mart", model, MartAbout("tiny"))
    run("mart_similarity", "--lists", lists / "test" / "c-en-de", "--output", lists / "out", "--model", lists / "mart")
    report = json.loads((lists / "out" / "similarity.json").read_text())
    assert report["queries"] > 0
    for kind in ("translations", "random pairs"):
        assert report[f"{kind}, with table"] == report[f"{kind}, without"]  # it starts as its encoder
        assert len(report[f"{kind}, without"]) == 4
    assert (lists / "out" / "similarity.png").stat().st_size > 1000


def test_weights_are_fitted_and_written(lists: Path) -> None:
    model = Mart(load_encoder(str(lists / "encoder")), MartConfig([0, 1]))
    save_mart(lists / "mart", model, MartAbout("tiny", training={"steps": 3}))
    options = ["--model", lists / "mart", "--tuning", lists / "tuning", "--encoder", lists / "encoder", "--layer", 1]
    printed = run("mart_fit", *options)
    means = [float(cell) for cell in printed.split("| mean |")[1].split("\n")[0].strip(" |").split("|")]
    assert means[3] == max(means[:4])  # all three have the others' weights to choose from, but for MART's
    assert means[5] >= means[4]
    about = load_mart(str(lists / "mart"))[1]
    assert about.training == {"steps": 3}
    assert about.late_interaction is not None
    assert (about.late_interaction.encoder, about.late_interaction.layer) == (str(lists / "encoder"), 1)
    assert about.not_for == ([] if means[3] > means[0] else ["en-de"])
    assert about.standalone is not None
