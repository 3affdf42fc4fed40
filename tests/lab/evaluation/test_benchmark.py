import gzip
import json
from pathlib import Path

import pytest

from dragoman_lab.evaluation.benchmark import SPLITS, BenchmarkError, load_benchmark


def write(path: Path, *rows: dict[str, str] | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    write(
        tmp_path / "queries" / "en.jsonl.gz",
        {"id": "en-1", "qid": "1", "text": "Who built it?", "article": "a"},
        {"id": "en-2", "qid": "2", "text": "When?", "article": "b"},
        {"id": "en-3", "qid": "3", "text": "Never judged", "article": "b"},
    )
    write(tmp_path / "queries" / "de.jsonl", {"id": "de-1", "qid": "1", "text": "Wer hat es gebaut?"})
    write(
        tmp_path / "corpus" / "sentence.de.jsonl",
        {"id": "de-s1", "text": "Er baute es.", "title": "Builder"},
        {"id": "de-s2", "text": "1901."},
    )
    write(
        tmp_path / "qrels" / "sentence.en.trec", "en-1 0 de-s1 1", "en-1 0 ru-s1 1", "en-2 0 de-s2 1", "en-2 0 de-s1 0"
    )
    return tmp_path


def test_judged_folders_keep_the_judgements_of_the_chosen_corpus_and_leave_titles_out(judged: Path) -> None:
    task = load_benchmark(judged, "en", "de", "sentence")
    assert task.queries == {"en-1": "Who built it?", "en-2": "When?"}
    assert task.translated_queries == {"en-1": "Wer hat es gebaut?"}
    assert task.documents == {"de-s1": "Er baute es.", "de-s2": "1901."}
    assert task.qrels == {"en-1": {"de-s1": 1}, "en-2": {"de-s2": 1}}


def test_queries_are_chosen_by_their_fields(judged: Path) -> None:
    assert list(load_benchmark(judged, "en", "de", "sentence", keep=lambda row: row["article"] == "b").queries) == [
        "en-2"
    ]


def test_the_parts_of_xquad_r_are_told_by_the_article(tmp_path: Path) -> None:
    places = {"1": "a000", "2": "a011", "3": "a012", "4": "a047"}
    rows = [{"id": f"en-{key}", "qid": key, "text": "Who?", "para": f"en-{place}-p00"} for key, place in places.items()]
    write(tmp_path / "queries" / "en.jsonl", *rows)
    write(tmp_path / "corpus" / "sentence.de.jsonl", {"id": "de-s", "text": "Er."})
    write(tmp_path / "qrels" / "sentence.en.trec", *(f"en-{key} 0 de-s 1" for key in places))
    parts = {split: load_benchmark(tmp_path, "en", "de", "sentence", split=split) for split in SPLITS}
    assert {split: list(task.queries) for split, task in parts.items()} == {
        "tune": ["en-1", "en-2"],
        "test": ["en-3", "en-4"],
        "all": ["en-1", "en-2", "en-3", "en-4"],
    }
    assert [task.split for task in parts.values()] == list(SPLITS)


def test_other_benchmarks_have_no_parts(judged: Path) -> None:
    for split in SPLITS:
        task = load_benchmark(judged, "en", "de", "sentence", split=split)
        assert (len(task.queries), task.split) == (2, None)


def test_a_pivot_text_is_the_human_translation(tmp_path: Path) -> None:
    write(tmp_path / "queries" / "sw.open.jsonl", {"id": "sw-1", "text": "Nani?", "text_pivot": "Who?", "pivot": "en"})
    write(tmp_path / "corpus" / "passage.en.jsonl", {"id": "p", "text": "He did."})
    write(tmp_path / "qrels" / "sw.open.trec", "sw-1 0 p 1")
    task = load_benchmark(tmp_path, "sw", "en", "passage", queries="sw.open")
    assert task.translated_queries == {"sw-1": "Who?"}


def test_parallel_folders_make_each_sentence_the_query_for_its_translation(tmp_path: Path) -> None:
    write(tmp_path / "en.jsonl", {"id": "1", "text": "one"}, {"id": "2", "text": "two"})
    write(tmp_path / "sw.jsonl.gz", {"id": "1", "text": "moja"}, {"id": "3", "text": "tatu"})
    task = load_benchmark(tmp_path, "en", "sw", "sentence")
    assert (task.queries, task.qrels) == ({"1": "one"}, {"1": {"1": 1}})
    assert task.documents == {"1": "moja", "3": "tatu"}


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("corpus/sentence.de.jsonl", "{", r"sentence\.de\.jsonl:1: not JSON"),
        ("corpus/sentence.de.jsonl", '{"id": 3, "text": "x"}', r'de\.jsonl:1: needs the strings "id" and "text"'),
        ("qrels/sentence.en.trec", "en-1 de-s1 1", r"trec:1: needs `query 0 document relevance`"),
        ("qrels/sentence.en.trec", "en-1 0 ru-s9 1", "no query of en has a relevant sentence in de"),
    ],
)
def test_faults_name_the_file_and_line(judged: Path, name: str, line: str, message: str) -> None:
    write(judged / name, line)
    with pytest.raises(BenchmarkError, match=message):
        load_benchmark(judged, "en", "de", "sentence")


def test_a_missing_file_is_named(judged: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"neither corpus/paragraph\.de\.jsonl nor"):
        load_benchmark(judged, "en", "de", "paragraph")
