import json
from importlib.resources import files
from pathlib import Path

import ir_measures
import pytest

from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from dragoman_lab.evaluation.benchmark import BenchmarkError, load_benchmark
from dragoman_lab.evaluation.evaluation import Evaluation, active_tables, choice, run
from dragoman_lab.evaluation.serving import TableFile

pytestmark = pytest.mark.slow

DEMO = Path(str(files("dragoman") / "demo"))


def test_the_demo_benchmark_over_http(tmp_path: Path) -> None:
    table = TableFile(DEMO / "table.en-de.tsv", "en", "de")
    report = run(DEMO, "en", "de", "document", ["none", "smt", "psq"], tmp_path, [table])
    assert json.loads((tmp_path / "report.json").read_text()) == report
    systems = report["systems"]
    assert systems["psq"]["MAP@100"] > 0.5 > systems["none"]["MAP@100"]
    assert report["p_values"]["none against psq"] < 0.05
    task = load_benchmark(DEMO, "en", "de", "document")
    again = ir_measures.calc_aggregate(
        [ir_measures.AP @ 100], task.qrels, ir_measures.read_trec_run(str(tmp_path / "psq.trec"))
    )
    assert again[ir_measures.AP @ 100] == pytest.approx(systems["psq"]["MAP@100"], abs=1e-4)


def test_the_shipped_reranker_over_http(tmp_path: Path) -> None:
    table = TableFile(DEMO / "table.en-sw.tsv", "en", "sw")
    systems = run(DEMO, "en", "sw", "document", ["psq", "reranked"], tmp_path, [table])["systems"]
    assert list(systems) == ["psq", "reranked", "reranked-alone"]
    assert systems["reranked"]["MAP@100"] > systems["psq"]["MAP@100"] - 0.03
    assert systems["reranked"]["R@100"] == systems["psq"]["R@100"]
    runs = {
        name: {line[:2]: line for line in ir_measures.read_trec_run(str(tmp_path / f"{name}.trec"))}
        for name in ("psq", "reranked", "reranked-alone")
    }
    assert runs["psq"].keys() == runs["reranked"].keys() == runs["reranked-alone"].keys()
    for name in ("reranked", "reranked-alone"):
        assert all(0 < line.score < 1 for line in runs[name].values())


def test_mart_reranks_over_http(tmp_path: Path) -> None:
    table = TableFile(DEMO / "table.en-sw.tsv", "en", "sw")
    systems = run(DEMO, "en", "sw", "document", ["psq", "mart"], tmp_path, [table])["systems"]
    assert list(systems) == ["psq", "mart", "mart-alone"]
    assert systems["mart"]["MAP@100"] > systems["psq"]["MAP@100"] - 0.03
    assert (tmp_path / "mart.trec").read_text() != (tmp_path / "psq.trec").read_text()


def test_unusable_requests_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        BenchmarkError, match="unknown system 'psd'; there are bm25, none, smt, psq, dense, hybrid, reranked, mart"
    ):
        run(DEMO, "en", "de", "document", ["psd"], tmp_path)
    with pytest.raises(BenchmarkError, match="no human translation of its queries into de"):
        run(DEMO, "en", "de", "document", ["bm25"], tmp_path)
    with pytest.raises(BenchmarkError, match="a server has one reranker: reranked and mart need a run each"):
        run(DEMO, "en", "de", "document", ["reranked", "mart"], tmp_path)
    with pytest.raises(BenchmarkError, match="needs FIELD=REGEX"):
        choice("article", None)({"article": "a"})
    assert not list(tmp_path.iterdir())


def test_queries_are_chosen_by_pattern() -> None:
    keep = choice("article=^a", "id=9$")
    assert [keep({"article": a, "id": i}) for a, i in (("a1", "1"), ("b1", "1"), ("a1", "9"))] == [True, False, False]


def test_a_query_without_hits_counts_as_zero() -> None:
    result = Evaluation("psq", {}, 1.0, {"MAP@100": {"1": 1.0}})
    assert result.mean("MAP@100", ["1", "2"]) == 0.5


def test_without_table_files_the_active_tables_of_the_data_directory_are_used(tmp_path: Path) -> None:
    given = Settings.load(data_dir=tmp_path / "data")
    runtime = Runtime(given)
    try:
        upload = Upload(name="mine", source="en", target="de", kind="glossary", weight=0.5, activate=True)
        runtime.tables.upload(upload, iter([b"house\thaus\t0.75\t0.5\nhouse\theim\t0.25\t1\n"]))
        (file,) = active_tables(runtime.tables, "de", "en", tmp_path)
    finally:
        runtime.close()
    assert file == TableFile(tmp_path / "mine.1.tsv", "en", "de", "glossary", 0.5)
    assert file.path.read_text() == "house\thaus\t0.75\t0.5\nhouse\theim\t0.25\t1.0\n"
