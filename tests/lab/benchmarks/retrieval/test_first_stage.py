"""Tables of parallel text and of dictionaries, together and apart."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman_lab.benchmarks.retrieval.first_stage import Knowledge, make_tables


@pytest.mark.parametrize(
    ("knowledge", "names", "learned"),
    [
        ("both", ["en-de.dictionary.tsv", "en-de.tsv"], True),
        ("parallel", ["en-de.tsv"], False),
        ("dictionaries", ["en-de.dictionary.tsv"], False),
    ],
)
def test_tables_are_made_of_what_they_should_know(
    tmp_path: Path, knowledge: Knowledge, names: list[str], learned: bool
) -> None:
    for name, text in (
        ("parallel/de-en/a.tsv.gz", "die Biene fliegt\tthe bee flies\ndie Biene summt\tthe bee hums\n" * 20),
        ("dictionaries/en-de.tsv.gz", "volcano\tVulkan\tsome\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    made = make_tables(tmp_path, "de", tmp_path / "tables", True, knowledge)
    assert sorted(one.path.name for one in made) == sorted(path.name for path in (tmp_path / "tables").glob("*.tsv"))
    assert sorted(one.path.name for one in made) == names
    trained = tmp_path / "tables" / "en-de.tsv"
    assert not trained.exists() or ("volcano" in trained.read_text(encoding="utf-8")) is learned
