"""Cross-encoders of Hugging Face: the logits of transformers, and what cannot be one is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.engine.models.loading import RerankerInfo
from dragoman.engine.models.scoring import ScoreRequest, SpannedText, _prepare_rows
from dragoman.ranking.about import name_of
from dragoman.ranking.attention import NO_LINKS
from dragoman.ranking.scoring import load_scorer
from tests.backbone.pretrained.hub_samples import write_checkpoints, write_cross_encoders

KINDS = ["bert", "xlm-roberta", "modernbert"]
SHORT = ["Nyuki anaruka", "", "maua", "The bee flies to the flowers, and the river is long."]
LONG = ["nyuki maua mto kitabu " * 12, "bee"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_cross_encoders(tmp_path_factory.mktemp("hub"))


def reference(folder: Path, query: str, documents: Sequence[str]) -> list[float]:
    """Each pair by itself, as sentence-transformers gives it to the model."""
    tokenizer = AutoTokenizer.from_pretrained(folder, split_special_tokens=True)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    logits = []
    for document in documents:
        row = tokenizer([[query, document]], truncation="longest_first", max_length=40, return_tensors="pt")
        assert ("token_type_ids" in row) == (folder.name == "bert")
        with torch.inference_mode():
            logits.append(model(**row).logits[0, 0].item())
    return logits


def score(folder: Path, query: str, documents: Sequence[str]) -> tuple[list[float], list[int], bool]:
    scorer, about = load_scorer(str(folder))
    request = ScoreRequest(
        SpannedText(query, []), [SpannedText(text, []) for text in documents], [NO_LINKS] * len(documents)
    )
    rows, scores = _prepare_rows(RerankerInfo(about, scorer), request)
    assert (about.name, about.placebo, name_of(str(folder))) == (folder.name, True, folder.name)
    assert scorer.shares(rows) == [0.0] * len(documents)
    return scorer.scores(rows), scores.truncated, scores.query_cut


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("query", ["bee flower", "the bee and the flower and the river " * 5])
def test_scores_are_the_logits_of_transformers(folders: dict[str, Path], kind: str, query: str) -> None:
    documents = SHORT + LONG
    scores, truncated, query_cut = score(folders[kind], query, documents)
    expected = reference(folders[kind], query, documents)
    assert scores == pytest.approx(expected, abs=1e-4)
    assert max(expected) - min(expected) > 1e-2
    assert len(SHORT) in truncated
    assert query_cut == (len(query) > 20)


def test_nothing_is_scored_without_documents(folders: dict[str, Path]) -> None:
    assert score(folders["bert"], "bee", []) == ([], [], False)


def without_a_head(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    for name in [name for name in weights if name.startswith("classifier") or "pooler" in name]:
        del weights[name]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def test_what_is_no_cross_encoder_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    headless = tmp_path / "headless"
    shutil.copytree(folders["bert"], headless)
    without_a_head(headless)
    with pytest.raises(CheckpointError, match=r"missing weights: bert.pooler"):
        load_scorer(str(headless))
    with pytest.raises(CheckpointError, match=r"has 3 labels; a reranker has one"):
        load_scorer(str(write_cross_encoders(tmp_path / "labels", labels=3)["bert"]))
    encoder = write_checkpoints(tmp_path / "encoders")["bert"]
    with pytest.raises(CheckpointError, match=r"is no reranker: model_type is 'bert', .* BertModel"):
        load_scorer(str(encoder))
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError):
        load_scorer(str(tmp_path / "empty"))
    assert name_of(str(tmp_path / "empty")) is None
    config = json.loads((folders["bert"] / "config.json").read_text())
    (tmp_path / "empty" / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError):
        load_scorer(str(tmp_path / "empty"))


def test_a_name_that_cannot_be_had_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", fail)
    with pytest.raises(CheckpointError, match=r"the hub cannot be reached; .* `hf download team/absent --local-dir"):
        load_scorer("team/absent")
    with pytest.raises(CheckpointError, match=r"there is no such folder"):
        load_scorer("/nowhere/at/all")
