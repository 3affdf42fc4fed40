from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from dragoman.engine.query.word_model import WordModel, buckets, text_words
from dragoman_lab.benchmarks.languages.short_queries import draw_queries, part, summary
from dragoman_lab.benchmarks.languages.word_weights import LANGUAGES, LabelledText, train

GERMAN = [f"{noun} {verb}" for noun in ("Vulkan", "Hafen", "Brücke", "Asche") for verb in ("bricht aus", "ist offen")]
ENGLISH = [f"the {noun} {verb}" for noun in ("volcano", "harbour", "bridge") for verb in ("is open", "has gone")]


def write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(line + "\n" for line in lines)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(tmp_path / "tagging/slots/en/xsid07.valid.conll.gz", [f"# text = {text}" for text in ENGLISH])
    write(tmp_path / "dictionaries/en-de.tsv.gz", [f"volcano {n}\t{text}\tx" for n, text in enumerate(GERMAN)])
    rows = [
        {"qid": str(n), "text": "Wer fand Penicillin zuerst und wo?", "para": f"de-a{n:03}-p00"}
        for n in range(0, 24, 3)
    ]
    write(tmp_path / "xquad_r/queries/de.jsonl.gz", [json.dumps(row) for row in rows])
    write(tmp_path / "xquad_r/queries/en.jsonl.gz", [json.dumps(row | {"text": "Who?"}) for row in rows])
    return tmp_path


def test_a_list_is_the_same_every_time_and_the_splits_share_no_text(data: Path) -> None:
    tune, test = (draw_queries(data, split, 20, ("de", "en")) for split in ("tune", "test"))
    assert tune == draw_queries(data, "tune", 20, ("de", "en"))
    assert tune and test and not {one.text for one in tune} & {one.text for one in test}
    assert {part(one.text) for one in tune} == {"tune"}
    assert {one.source for one in [*tune, *test]} == {"XQuAD-R", "xSID", "dictionaries"}
    assert all(2 <= len(one.text.split()) <= 4 for one in [*tune, *test] if one.source != "xSID")


def test_the_summary_counts_what_is_right(data: Path) -> None:
    shown = summary(draw_queries(data, "tune", 20, ("de", "en")), ("de", "en"))
    assert "| all |" in shown and "100.0%" in shown


def test_weights_are_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman_lab.benchmarks.languages.word_weights.BUCKETS", 4096)
    texts = [LabelledText(text, "de") for text in GERMAN] + [LabelledText(text, "en") for text in ENGLISH]
    weights = train(texts, epochs=20)
    model = WordModel(LANGUAGES, np.clip(weights, -127, 127).astype(np.int8), 1.0)
    assert LANGUAGES[int(model.usual("vulkan").argmax())] == "de"
    assert LANGUAGES[int(model.usual("harbour").argmax())] == "en"


def test_words_and_their_buckets() -> None:
    assert text_words("L'été, 12 O’Neill's ÉTÉ!") == ["l'été", "o’neill's", "été"]
    assert len(text_words("a " * 100)) == 32
    assert buckets("a" * 1000, 64) == buckets("a" * 20, 64)
