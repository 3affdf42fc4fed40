"""Search quality over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import ir_measures
import pytest

from dragoman_lab.benchmarks.search import quality
from dragoman_lab.benchmarks.search.measuring import check_complete, means, needs_embeddings, summary, systems
from dragoman_lab.evaluation.benchmark import BenchmarkError
from dragoman_lab.evaluation.search_client import Answers, opaque, open_search_client
from dragoman_lab.evaluation.serving import TableFile, serve_temporarily
from tests.lab.benchmarks.search.conftest import Run
from tests.lab.benchmarks.search.samples import SENTENCES, write_lines, write_table, write_xquad


@pytest.mark.slow
def test_both_directions_and_the_baselines(run: Run, tmp_path: Path) -> None:
    write_xquad(tmp_path)
    write_table(tmp_path / "work")
    report = run(quality, "--work", tmp_path / "work", "--languages", "de", "--rerank", "off")
    assert report["split"] == "tune"
    assert [(row["source"], row["target"], row["queries"]) for row in report["tasks"]] == [
        ("en", "de", 2),
        ("de", "en", 2),
    ]
    assert report["means"] == {"default-rerank-off": 1.0, "psq": 1.0, "human": 1.0}
    folder = tmp_path / "out" / "xquad_r-sentence-en-de"
    hits = list(ir_measures.read_trec_run(str(folder / "psq.trec")))
    assert {hit.query_id for hit in hits} == {"en-q0", "en-q1"}
    assert {hit.doc_id for hit in hits} <= {f"de-a0{number}-p00-s00" for number in ("00", "11", "12")}

    kept = folder / "task.json"
    kept.write_text(kept.read_text().replace('"MAP@100": 1.0', '"MAP@100": 0.25'))
    again = run(quality, "--work", tmp_path / "work", "--languages", "de", "--rerank", "off")
    assert again["tasks"][0]["systems"]["psq"]["MAP@100"] == 0.25, "a task of the output folder is not measured again"


@pytest.mark.slow
def test_a_running_service_and_sentences_whose_translations_are_wanted(run: Run, tmp_path: Path) -> None:
    for language, texts in SENTENCES.items():
        rows = [{"id": f"{number}", "text": text} for number, text in enumerate(texts)]
        write_lines(tmp_path / "flores200" / f"{language}.jsonl.gz", rows)
    with serve_temporarily() as client:
        report = run(
            quality, "--url", client.base_url, "--benchmark", "flores200", "--languages", "de", "--method", "none"
        )
        assert client.get("/v1/collections").json()["collections"] == [], "what was uploaded is deleted"
    assert report["split"] is None
    assert [list(row["systems"]) for row in report["tasks"]] == [["default", "psq", "none"]] * 2


@pytest.mark.slow
def test_a_service_is_sent_texts_and_ids_that_tell_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has the settings of no file: what is in the working directory belongs to another."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DRAGOMAN_CONFIG")
    Path("dragoman.toml").write_text("not = 'settings'\n", encoding="utf-8")
    documents = {"de-a000-p00-s00": "Der Vulkan brach aus.", "de-a001-p00-s00": "Der Hafen war zu."}
    fields = {"method": "none", "query_language": "de", "rerank": False}
    with serve_temporarily() as http, open_search_client(str(http.base_url), ()) as client:
        name = client.collection("Sentences", "de", documents)
        assert client.collection("Sentences", "de", documents) == name
        stored = http.get(f"/v1/collections/{name}/documents/{opaque('de de-a000-p00-s00')}").json()
        assert (stored["text"], stored["title"], stored["metadata"]) == ("Der Vulkan brach aus.", None, None)
        for trec in (False, True):
            answers = client.ask({"q": "Vulkan"}, [name], 10, fields, "", trec=trec)
            assert list(answers.run["q"]) == ["de-a000-p00-s00"]
            assert answers.degraded == {}
        with pytest.raises(BenchmarkError, match="method"):
            client.ask({"q": "Vulkan"}, [name], 10, {"method": "other"}, "")
        assert http.get(f"/v1/collections/{name}").status_code == 200


@pytest.mark.slow
def test_a_data_directory_keeps_tables_and_collections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_RERANK", "never")
    tables = []
    for source, target in (("en", "de"), ("en", "es")):
        path = tmp_path / f"{source}-{target}.tsv"
        path.write_text("volcano\tvulkan\n", encoding="utf-8")
        tables.append(TableFile(path, source, target))
    documents = {"de-a000-p00-s00": "Der Vulkan brach aus."}
    settings, data = {"DRAGOMAN_EMBED": "on_demand"}, tmp_path / "data"
    with open_search_client(None, tables[:1], data_dir=data, settings=settings) as client:
        name = client.collection("sentences", "de", documents)
        before = client.client.get(f"/v1/collections/{name}").json()
    with open_search_client(None, tables, data_dir=data, settings=settings) as client:
        assert client.collection("sentences", "de", documents) == name
        after = client.client.get(f"/v1/collections/{name}").json()
        assert (after["documents"], after["generation"]) == (1, before["generation"]), "it is not uploaded again"
        assert list(client.ask({"q": "volcano"}, [name], 10, {"query_language": "en"}, "").run["q"]) == list(documents)
        assert client.collection("sentences", "de", {"de-a000-p00-s00": "Ein anderer Text."}) != name
        stored = client.client.get("/v1/tables").json()["tables"]
        assert sorted((one["target"], len(one["versions"])) for one in stored) == [("de", 1), ("es", 1)]
    with (
        pytest.raises(BenchmarkError, match="has other tables, such as en-es-statistical-"),
        open_search_client(None, tables[:1], data_dir=data, settings=settings),
    ):
        pass


def test_systems_of_the_command_line() -> None:
    assert [one.name for one in systems("default,psq,human", "hybrid,dense", "20")] == [
        "default-rerank-20", "psq", "human", "hybrid-rerank-20", "dense-rerank-20",
    ]  # fmt: skip
    (default, ablation) = systems("default", "hybrid", "off")
    assert (default.fields, ablation.fields) == ({"rerank": False}, {"method": "hybrid", "rerank": False})
    assert not needs_embeddings([default]) and needs_embeddings([default, ablation])
    with pytest.raises(BenchmarkError, match="unknown system 'bm26'"):
        systems("bm26", None, None)
    with pytest.raises(BenchmarkError, match="off or a depth"):
        systems("default", None, "no")


def test_a_stage_that_did_less_than_asked_ends_the_measurement() -> None:
    answers = Answers()
    answers.degraded.update(["detect: undecided", "translate: no table"])
    check_complete(answers, "en-de default")
    answers.degraded.update(["rerank: too slow"])
    with pytest.raises(BenchmarkError, match="1 answers were degraded: rerank: too slow"):
        check_complete(answers, "en-de default")


def test_means_are_over_tasks_and_p_values_over_questions() -> None:
    def row(target: str, first: list[float], second: list[float] | None) -> dict[str, object]:
        precision = {"default": first} | ({} if second is None else {"human": second})
        scores = {
            name: {"MAP@100": sum(values) / len(values), "p_against_first": None} for name, values in precision.items()
        }
        return {
            "unit": "sentence", "source": "en", "target": target, "queries": len(first), "systems": scores,
            "average_precision": precision,
        }  # fmt: skip

    rows = [row("de", [1.0, 0.5, 0.3], [0.5, 0.5, 0.1]), row("ru", [0.0, 0.5, 0.2], [0.0, 0.5, 0.3])]
    assert means(rows) == {"default": 0.4167, "human": 0.3167}
    assert summary(rows).splitlines()[-1].startswith("|  | mean of 2 |  | 0.4167 | 0.3167 | ")
    rows[1] = row("ru", [0.0, 0.5, 0.2], None)
    assert means(rows) == {"default": 0.4167}
    assert summary(rows).splitlines()[-1] == "|  | mean of 2 |  | 0.4167 | - | - |"
    json.dumps(rows)
