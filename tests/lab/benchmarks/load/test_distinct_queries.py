"""Queries that no cache answers."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from dragoman_lab.benchmarks.load.distinct_queries import (
    LANGUAGES,
    PASSAGE_WORDS,
    demo_queries,
    distinct_queries,
    draw,
    hundred_word_passages,
)


def test_many_queries_of_the_demo_all_differ_and_are_the_same_each_time() -> None:
    queries = list(islice(distinct_queries(), 20_000))
    assert len(set(queries)) == len(queries) == 20_000
    assert not set(queries) & set(demo_queries())
    assert list(islice(distinct_queries(), 20_000)) == queries


def test_queries_of_files_are_asked_once_and_too_few_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        for row in ({"question": "who"}, {"text": "where"}, {"question": "who"}, {"question": "when"}):
            stream.write(json.dumps(row) + "\n")
    queries = distinct_queries([path])
    assert draw(queries, 2) == ["who", "where"]
    with pytest.raises(SystemExit, match="too few distinct queries"):
        draw(queries, 2)


def test_passages_have_a_hundred_words_and_there_are_more_than_are_reranked() -> None:
    for language in LANGUAGES:
        passages = hundred_word_passages(language)
        assert {len(passage.split()) for passage in passages} == {PASSAGE_WORDS}
        assert len(passages) > 10
