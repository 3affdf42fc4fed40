"""The model that the throughput benchmark compares systems by."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, BertForSequenceClassification

from dragoman.ranking.scoring import Scorer
from dragoman_lab.benchmarks.reranking.model import make_lists, mart_of, read_list, write_model


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["tiny", "e5-small"])
def test_transformers_and_ours_score_pairs_alike(tmp_path: Path, shape: str) -> None:
    write_model(tmp_path, shape)
    model = BertForSequenceClassification.from_pretrained(tmp_path).eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    lists = [
        *make_lists(1, 3, 2, 30),
        {"query": "Wie alt ist der Wald?", "documents": ["It is old.", "Bees make honey"]},
    ]
    scorer = Scorer(mart_of(tmp_path, False, "cpu"))
    for one in lists:
        pairs = [[one["query"]] * len(one["documents"]), one["documents"]]
        with torch.no_grad():
            expected = model(**tokenizer(*pairs, padding=True, return_tensors="pt")).logits[:, 0]
        assert scorer.scores(read_list(scorer, one, False)) == pytest.approx(expected.tolist(), abs=1e-3)
        assert expected.std() > 1e-3
