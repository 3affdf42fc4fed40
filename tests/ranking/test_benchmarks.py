"""The benchmarks of reranking on the smallest input: they run, and say what they should."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from benchmarks.mart_tables import _p, searched
from dragoman.backbone.encoder import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.ranking.about import LateInteractionAbout, MartAbout
from dragoman.ranking.checkpoints import load_mart, save_mart
from dragoman.ranking.lists import read_lists
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


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def rows_of(markdown: str) -> list[list[str]]:
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_comparison_of_variants(lists: Path) -> None:
    table = {name: value for name, value in config_table(lists, lists / "encoder").items() if name != "model"}
    config = lists / "tables.toml"
    config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items()))
    options = ["--config", config, "--test", lists / "test", "--output", lists / "out", "--seeds", 2, "--threads", 1]
    printed = run("mart_tables", *options, "--variants", "bert,mart,placebo")
    for order in ("alone", "interpolated"):
        rows = rows_of(printed.split(f"**{order}**")[1].split("**")[0])
        assert rows[0][1:] == ["queries", "psq", "bert (2)", "mart (2)", "placebo (2)"]
        assert [row[0] for row in rows[2:]] == ["c-de-en", "c-en-de", "mean", "p against mart", "p against psq"]
        for first, second, mean in zip(
            *([float(cell.strip("*")) for cell in row[2:]] for row in rows[2:5]), strict=True
        ):
            assert mean == pytest.approx((first + second) / 2, abs=2e-3)
    kept = (lists / "out" / "mart-1" / "report.json").stat().st_mtime_ns
    assert run("mart_tables", *options, "--variants", "bert,mart,placebo") == printed
    assert (lists / "out" / "mart-1" / "report.json").stat().st_mtime_ns == kept
    with pytest.raises(AssertionError, match="remove the file"):  # another depth than the kept scores have
        run("mart_tables", *options, "--variants", "mart", "--depth", 3)
    shutil.copytree(lists / "test", lists / "test-dictionary")  # where a variant looks that reranks by dictionaries
    again = run("mart_tables", *options, "--variants", "mart,dictionary at search")
    pairs = [row[3:] for row in rows_of(again) if row[0].startswith(("c-", "mean"))]
    assert len(pairs) == 6 and all(mart == dictionary for mart, dictionary in pairs)  # the same lists


def test_p_values_are_of_queries_whatever_languages_ask_them() -> None:
    random = np.random.default_rng(1)
    names = ["x-sentence-en-de", "x-sentence-de-en", "y-sentence-en-de"]
    other = {name: random.random(size) for name, size in zip(names, (30, 30, 20), strict=True)}
    own = {name: values + random.random(len(values)) - 0.3 for name, values in other.items()}
    differences = [own[name] - other[name] for name in names]
    queries = np.concatenate([(differences[0] + differences[1]) / 2, differences[2]])
    assert _p(own, other) == f"{ttest_1samp(queries, 0).pvalue:.2g}"
    assert _p(own, own) == ""
    some = {name: values for name, values in other.items() if name != names[2]}
    assert _p(own, some) == f"{ttest_1samp(queries[:30], 0).pvalue:.2g}"


def test_first_stage_runs_stand_beside_the_variants(tmp_path: Path, subwords: Subwords) -> None:
    data, name = tmp_path / "xquad_r", "xquad_r-sentence-en-de"
    encoder = write_encoder(tmp_path / "encoder", subwords, layers=3)
    write_lists(tmp_path / "lists" / name, encoder, queries=4, seed=1)
    queries = [read_lists(tmp_path / "lists" / name)[number].name for number in range(4)]
    write_rows(data / "corpus" / "sentence.de.jsonl", [{"id": f"d{number}", "text": "x"} for number in range(8)])
    write_rows(data / "queries" / "en.jsonl", [{"id": query, "text": "x"} for query in queries])
    judged = "".join(f"{query} 0 d{number} 1\n" for number, query in enumerate(queries))
    (data / "qrels").mkdir()
    (data / "qrels" / "sentence.en.trec").write_text(judged)
    run = tmp_path / "runs" / name / "smt.trec"
    run.parent.mkdir(parents=True)
    ranked = [(queries[0], ["d0"]), (queries[1], ["d7", "d1"]), (queries[2], ["d7", "d6", "d5", "d2"])]
    lines = [(query, key, rank) for query, keys in ranked for rank, key in enumerate(keys, 1)]
    run.write_text("".join(f"{query} Q0 {key} {rank} {1 / rank} smt\n" for query, key, rank in lines))
    arguments = Namespace(data=tmp_path, test=tmp_path / "lists", first_stage=tmp_path / "runs", queries=None, depth=3)
    found = searched(arguments)
    assert found["smt"][name].tolist() == [1.0, 0.5, 0.0, 0.0]  # the third's answer is below the depth
    assert found["human translation"] == {}


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
    assert means[4] >= means[5]  # all together have those weights to choose from that do without the first stage
    about = load_mart(str(lists / "mart"))[1]
    assert about.training == {"steps": 3}
    _, weight, _, share = map(float, printed.split("all: (")[1].split(")")[0].split(", "))
    expected = LateInteractionAbout(str(lists / "encoder"), 1, weight) if weight else None
    assert about.late_interaction == expected
    assert about.not_for == ([] if means[4] > means[0] else ["en-de"])
    assert about.standalone is not None and about.standalone.weight == share
