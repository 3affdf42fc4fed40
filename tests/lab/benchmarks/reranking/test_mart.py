"""The benchmarks of reranking on minimal input."""

from __future__ import annotations

import json
import os
import shutil
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import ttest_1samp, ttest_ind, ttest_rel

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.ranking.about import HybridAbout, RerankerAbout, StandaloneAbout
from dragoman.ranking.checkpoints import load_mart, save_mart
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.scoring import Scorer
from dragoman_lab.benchmarks.reranking.mart_hard_lists import hardest
from dragoman_lab.benchmarks.reranking.mart_paper import comparison_commands, table_commands
from dragoman_lab.benchmarks.reranking.mart_tables import (
    SUFFIXES,
    VARIANTS,
    apply_changes,
    measure_runs,
    p_of_mean,
    summary,
)
from dragoman_lab.ranking.lists import read_lists
from dragoman_lab.ranking.measuring import score_lists
from tests.ranking.samples import config_table, write_encoder, write_lists
from tests.support.forking import run_module

pytestmark = pytest.mark.slow


@pytest.fixture
def lists(tmp_path: Path, subwords: Subwords) -> Path:
    encoder = write_encoder(tmp_path / "encoder", subwords, layers=3)
    for name, seed in (("lists/a", 1), ("tuning/b", 2), ("test/c-en-de", 3), ("test/c-de-en", 4)):
        write_lists(tmp_path / name, encoder, queries=6, seed=seed)
    return tmp_path


def run(module: str, *arguments: object) -> str:
    done = run_module(f"dragoman_lab.benchmarks.reranking.{module}", arguments, os.environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def rows_of(markdown: str) -> list[list[str]]:
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_variant_keeps_what_it_does_not_change() -> None:
    table = {"steps": 9, "model": {"mat_layers": [-3, -2], "start": "zero_gamma"}}
    assert apply_changes(table, VARIANTS["one layer"]) == {
        "steps": 9,
        "model": {"mat_layers": [-2], "start": "zero_gamma"},
    }
    assert apply_changes(table, VARIANTS["placebo"]) == table | {"placebo": True}
    assert apply_changes({"steps": 9}, VARIANTS["mart"]) == {"steps": 9}


def test_the_comparison_of_variants(lists: Path) -> None:
    table = {name: value for name, value in config_table(lists, lists / "encoder").items() if name != "model"}
    config = lists / "tables.toml"
    config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items()))
    options = ["--config", config, "--test", lists / "test", "--output", lists / "out", "--seeds", 2, "--threads", 1]
    printed = run("mart_tables", *options, "--variants", "bert,mart,placebo")
    for order in ("alone", "together with the first stage"):
        tables = printed.split(f"**{order}**\n\n")[1].split("**")[0].split("\n\n")
        rows, by_data_set = map(rows_of, tables[:2])
        assert by_data_set[0] == ["mart, more than", "tasks", "first stage", "bert (2)", "placebo (2)"]
        assert by_data_set[2][:2] == ["c", "2"]
        assert rows[0][1:] == ["queries", "first stage", "bert (2)", "mart (2)", "placebo (2)"]
        assert [row[0] for row in rows[2:]] == ["c-de-en", "c-en-de", "mean", "p against mart", "p against first stage"]
        for first, second, mean in zip(
            *([float(cell.strip("*")) for cell in row[2:]] for row in rows[2:5]), strict=True
        ):
            assert mean == pytest.approx((first + second) / 2, abs=2e-3)
    kept = (lists / "out" / "mart-1" / "report.json").stat().st_mtime_ns
    assert run("mart_tables", *options, "--variants", "bert,mart,placebo") == printed
    assert (lists / "out" / "mart-1" / "report.json").stat().st_mtime_ns == kept
    shutil.copytree(lists / "tuning" / "b", lists / "other" / "test" / "c-en-de")  # called as the lists of the test
    weighed = run("mart_tables", *options, "--variants", "mart", "--tuning", lists / "other" / "test")
    assert "together with the first stage" in weighed
    shutil.rmtree(lists / "other" / "test")
    with pytest.raises(AssertionError, match="--tuning: no lists under"):
        run("mart_tables", *options, "--variants", "mart", "--tuning", lists / "other" / "test")
    with pytest.raises(AssertionError, match="test-dictionary lacks the lists c-de-en"):
        run("mart_tables", *options, "--variants", "dictionary at search")
    with pytest.raises(AssertionError, match="was begun with another unlinked"):
        other = lists / "other.toml"
        other.write_text(config.read_text() + "unlinked = 0.5\n")
        run("mart_tables", *options, "--variants", "mart", "--config", other)
    with pytest.raises(AssertionError, match="remove the file"):  # another depth than the kept scores have
        run("mart_tables", *options, "--variants", "mart", "--depth", 3)
    shutil.copytree(lists / "test", lists / "test-dictionary")  # where a variant looks that reranks by dictionaries
    again = run("mart_tables", *options, "--variants", "mart,dictionary at search")
    pairs = [row[3:] for row in rows_of(again) if row[0].startswith(("c-", "mean")) and len(row) == 5]
    assert len(pairs) == 6 and all(mart == dictionary for mart, dictionary in pairs)  # the same lists


def test_the_commands_of_the_papers_comparisons_have_these_options() -> None:
    commands = [*table_commands(Path("data")), *comparison_commands(Path("data"), 3, 40)]
    assert {name for name, *_ in commands} == {
        "retrieval.first_stage", "reranking.quality", "reranking.mart_relinked", "reranking.mart_tables",
        "reranking.mart_similarity",
    }  # fmt: skip
    helps = {
        name: run_module(f"dragoman_lab.benchmarks.{name}", ["--help"], os.environ).stdout for name, *_ in commands
    }
    for name, *options in commands:
        assert all(option in helps[name] for option in options if option.startswith("--"))
    (variants,) = (options[options.index("--variants") + 1] for _, *options in commands if "--variants" in options)
    assert {*variants.split(",")} <= {*VARIANTS, *SUFFIXES}


def test_lists_are_linked_by_one_kind_of_table(lists: Path) -> None:
    (lists / "tables").mkdir()
    (lists / "tables" / "en-de.dictionary.tsv").write_text("ship\tschiff\nsalt\tsalz\n", encoding="utf-8")
    options = ["--tables", lists / "tables", "--lists", lists / "test"]
    run("mart_relinked", "--links", "dictionary", *options)
    for name in ("c-de-en", "c-en-de"):
        before, after = (read_lists(lists / folder / name) for folder in ("test", "test-dictionary"))
        assert [before[number] for number in range(len(before))] == [after[number] for number in range(len(after))]
        linked = [
            sum(
                len(links.left)
                for one in (each[number] for number in range(len(each)))
                for links in each.links(one.query, [candidate.text for candidate in one.candidates], "mean")
            )
            for each in (before, after)
        ]
        assert 0 < linked[1] < linked[0]
    run("mart_relinked", "--links", "learned", *options)
    assert not (lists / "test-learned").exists()  # there is no such table


def test_how_hybrid_search_joins_is_the_best_and_calibrated_and_written(lists: Path, subwords: Subwords) -> None:
    encoder = write_encoder(lists / "encoder", subwords, layers=3)
    model = Mart(encoder, MartConfig(mat_layers=[1]))
    alone = StandaloneAbout(10.0, 2.0, 0.5)
    save_mart(lists / "model", model, RerankerAbout("a", standalone=alone, training={"steps": 3}))
    options = ["--model", lists / "model", "--lists", lists / "test", "--questions", 4, "--threads", 1]
    rows = rows_of(run("hybrid_fit", *options))
    maps = {row[0]: float(row[1]) for row in rows[2:]}
    _, about = load_mart(str(lists / "model"))
    assert about.hybrid is not None
    weight = about.hybrid.weight
    assert maps[str(weight or "reranker alone")] == max(maps[one] for one in maps if one != "hybrid alone")
    record = {"lists": ["c-de-en", "c-en-de"], "questions": 4, "depth": 20}
    assert about.training == {"steps": 3, "hybrid": record}
    scored = [
        score_lists(Scorer(model), read_lists(lists / "test" / name), depth=20, queries=4)
        for name in ("c-de-en", "c-en-de")
    ]
    mean = np.mean([one.average_precision(weight, alone) for own in scored for one in own])
    assert mean == pytest.approx(maps[str(weight or "reranker alone")], abs=1e-4)
    every = [one for own in scored for one in own]
    model_scores = np.concatenate([2 * (np.array(one.model) + 10 * np.array(one.shares)) - 0.5 for one in every])
    first, relevant = (np.concatenate([getattr(one, name) for one in every]) for name in ("first_stage", "relevant"))
    chances = expit(about.hybrid.logits(model_scores, first))
    assert (chances[relevant].mean() + chances[~relevant].mean()) / 2 == pytest.approx(0.5, abs=1e-3)
    rows = rows_of(run("hybrid_fit", *options, "--fitted"))
    assert [row[0] for row in rows[2:]] == ["c-de-en", "c-en-de", "mean"]
    assert float(rows[-1][5]) == pytest.approx(mean, abs=1e-4)
    write_lists(lists / "test" / "d-en-de", encoder, queries=3)
    with pytest.raises(AssertionError, match="they have 3 and 4 questions: choose by --languages"):
        run("hybrid_fit", *options)
    shutil.rmtree(lists / "test" / "d-en-de")
    about_lists = lists / "test" / "c-en-de" / "lists.json"
    about_lists.write_text(json.dumps(json.loads(about_lists.read_text()) | {"tokenizer": "of another"}))
    with pytest.raises(AssertionError, match="c-en-de: these lists were tokenized for an encoder with another"):
        run("hybrid_fit", *options)


SIZES = st.lists(st.integers(2, 40), min_size=2, max_size=2)


def drawn(seed: int, *sizes: int) -> list[np.ndarray]:
    """Differences of so many questions for each task, of another spread and mean in each."""
    random = np.random.default_rng(seed)
    return [random.normal(random.normal(0, 0.3), random.uniform(0.1, 2), size) for size in sizes]


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 4))
def test_p_of_one_data_set_is_that_of_the_paired_t_test_of_its_questions(seed: int, size: int, tasks: int) -> None:
    own, other = (drawn(seed + more, *[size] * tasks) for more in (0, 1))
    found = p_of_mean({f"x-sentence-en-{task}": own[task] - other[task] for task in range(tasks)})
    assert found == pytest.approx(ttest_rel(np.mean(own, 0), np.mean(other, 0)).pvalue, rel=1e-6, abs=1e-12)


@given(st.integers(0, 10**6), SIZES)
def test_p_of_two_data_sets_of_one_task_each_is_that_of_welchs_test(seed: int, sizes: list[int]) -> None:
    first, second = drawn(seed, *sizes)
    found = p_of_mean({"x-sentence-en-de": first, "y-passage-sw-en": second})
    assert found == pytest.approx(ttest_ind(first, -second, equal_var=False).pvalue, rel=1e-6, abs=1e-12)


@given(st.integers(0, 10**6), SIZES)
def test_p_does_not_depend_on_order_scale_or_sign(seed: int, sizes: list[int]) -> None:
    differences = dict(zip(("x-s-en-de", "x-s-de-en", "y-s-en-sw"), drawn(seed, sizes[0], *sizes), strict=True))
    found = p_of_mean(differences)
    turned = {name: -3 * differences[name] for name in reversed(differences)}
    assert found == pytest.approx(p_of_mean(turned), rel=1e-6, abs=1e-12)
    assert 0 <= found <= 1


def test_p_by_hand() -> None:
    first, second = np.array([1.0, 2.0, 3.0, 2.0]), np.array([0.0, 1.0, 0.0, -1.0])
    # Means 2 and 0, variances 2/3 and 2/3: the mean of tasks is 1, its variance (2/3 / 4 + 2/3 / 4) / 2^2 = 1 / 12, and
    # degrees of freedom (1/6 + 1/6)^2 / (2 (1/6)^2 / 3) = 6. Two-tailed p of t = sqrt(12) with 6.
    assert p_of_mean({"x-s-en-de": first, "y-s-en-de": second}) == pytest.approx(0.0134, abs=1e-5)
    # A second task of the first data set that is the first again: no more observations, but two tasks of three. The
    # mean is 4/3, its variance (4 * 1/6 + 1/6) / 9 = 5 / 54, degrees of freedom (5/6)^2 / ((4/9 + 1/36) / 3) = 75 / 17.
    three = p_of_mean({"x-s-en-de": first, "x-s-de-en": first, "y-s-en-de": second})
    assert three == pytest.approx(0.009516, abs=1e-6)
    assert p_of_mean({"x-s-en-de": np.zeros(4)}) == 1.0


def test_every_task_has_the_same_weight_in_the_test_and_the_mean() -> None:
    """A difference in the one task of a data set is not significant in the mean with ten that nobody can tell apart."""
    noise = np.random.default_rng(3)
    psq = {f"x-s-en-{number}": noise.random(80) for number in range(10)} | {"y-p-sw-en": noise.random(80)}
    same, other = noise.normal(0, 0.3, 80), noise.normal(0.2, 0.3, 80)
    mart = {name: values + (other if name.startswith("y") else same) for name, values in psq.items()}
    runs = [{name: {"first stage": psq[name], "alone": mart[name], "interpolated": mart[name]} for name in psq}]
    rows = {row[0]: row[-1] for row in rows_of(summary({"mart": runs}, {}).split("**together")[0])}
    assert float(rows["p against first stage"]) > 0.2
    assert ttest_1samp(other, 0).pvalue < 1e-4
    assert ttest_1samp(np.concatenate([same, other]), 0).pvalue < 0.01  # as if both data sets had as many tasks


def test_first_stage_runs_are_compared_with_the_variants(tmp_path: Path, subwords: Subwords) -> None:
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
    found = measure_runs(arguments)
    assert found["smt"][name].tolist() == [1.0, 0.5, 0.0, 0.0]  # the third's answer is below the depth
    assert found["human translation"] == {}


def test_hard_lists_keep_what_is_relevant_and_the_best_of_the_others(lists: Path) -> None:
    model = Mart(load_encoder(str(lists / "encoder")), MartConfig([0, 1]))
    read, scorer = read_lists(lists / "test" / "c-en-de"), Scorer(model)
    scored = {one.name: one.model for one in score_lists(scorer, read, depth=1000)}
    found = hardest(scorer, read, queries=4, candidates=3)
    assert len(found) == 4
    for one in found:
        (before,) = [two for two in map(read.__getitem__, range(len(read))) if two.name == one.name]
        values = dict(zip((two.text for two in before.candidates), scored[one.name], strict=True))
        kept = {two.text for two in one.candidates}
        assert len(kept) == min(3, len(before.candidates))
        assert {two.text for two in before.candidates if two.relevant} <= kept
        left = [values[two.text] for two in before.candidates if two.text not in kept]
        others = [values[two.text] for two in one.candidates if not two.relevant]
        assert not left or not others or min(others) >= max(left)
        expected = [np.exp(20 * (values[two.text] - max(values.values()))) for two in one.candidates]
        assert [two.score for two in one.candidates] == pytest.approx(expected)
        assert expected == sorted(expected, reverse=True)


def test_the_similarity_of_translations(lists: Path) -> None:
    model = Mart(load_encoder(str(lists / "encoder")), MartConfig([0, 1]))
    save_mart(lists / "mart", model, RerankerAbout("tiny"))
    run("mart_similarity", "--lists", lists / "test" / "c-en-de", "--output", lists / "out", "--model", lists / "mart")
    report = json.loads((lists / "out" / "similarity.json").read_text())
    assert report["queries"] > 0
    for kind in ("translations", "random pairs"):
        assert report[f"{kind}, with table"] == report[f"{kind}, without"]  # it starts as its encoder
        assert len(report[f"{kind}, without"]) == 4
    assert (lists / "out" / "similarity.png").stat().st_size > 1000


def test_weights_are_fitted_and_written(lists: Path) -> None:
    model = Mart(load_encoder(str(lists / "encoder")), MartConfig([0, 1]))
    save_mart(lists / "mart", model, RerankerAbout("tiny", training={"steps": 3}, hybrid=HybridAbout(8.0, 1.0, 0.0)))
    options = ["--model", lists / "mart", "--tuning", lists / "tuning"]
    printed = run("mart_fit", *options)
    titles = [cell.strip() for cell in printed.splitlines()[0].strip(" |").split("|")]
    means = [float(cell) for cell in printed.split("| mean |")[1].split("\n")[0].strip(" |").split("|")]
    maps = dict(zip(titles, means, strict=True))
    assert maps["all"] >= maps["standalone"]  # it has those weights to choose from that do without the first stage
    about = load_mart(str(lists / "mart"))[1]
    assert about.training == {"steps": 3}
    assert about.hybrid is None  # it was fitted to other scores
    _, _, share = map(float, printed.split("all: (")[1].split(")")[0].split(", "))
    assert about.not_for == ([] if maps["all"] > maps["first stage"] else ["en-de"])
    assert about.standalone is not None and about.standalone.weight == share
