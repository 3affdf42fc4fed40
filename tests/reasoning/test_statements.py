"""Statements judged from disk as by the trained modules, and what of a folder is refused."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.reasoning.deltas import load_cross, save_cross, save_deltas
from dragoman.reasoning.inference import StatementScorer
from dragoman.reasoning.statements import MODEL_TYPE, StatementReader, both_or_neither, support
from dragoman.reasoning.structured_attention import joined_masks, structured_masks
from dragoman.reasoning.structured_encoder import QuestionRow, StructuredEncoder, languages_of, row_of
from dragoman_lab.reasoning.spans import SpanTraining, make_trainable
from tests.ranking.samples import write_encoder
from tests.reasoning.samples import randomised

BILINGUAL = [True, False, True, False]
KINDS = ["veco", "bert", "xlm-roberta"]
Opened = Callable[[], Encoder]


@pytest.fixture
def opened(request: pytest.FixtureRequest, hub: dict[str, Path], subwords: Subwords, tmp_path: Path) -> Opened:
    """Opens the same encoder from disk each time."""
    name = getattr(request, "param", "veco")
    path = tmp_path / "encoder" if name == "veco" else hub[name]
    if name == "veco":
        write_encoder(path, subwords, layers=3)
    return lambda: load_encoder(str(path))


def rows_of(encoder: Encoder) -> list[QuestionRow]:
    texts = encoder.subwords(["the old bridge crosses the river", "wo ist es", "ash"])
    return [row_of(encoder, texts[one].ids[:16], texts[1].ids) for one in (0, 0, 2, 2)]


def changed(encoder: Encoder, seed: int = 7) -> StructuredEncoder:
    """Weights and biases of Q_cross as if they had been trained, in all layers."""
    structured = StructuredEncoder(encoder)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for value in structured.cross_parameters().values():
            value += torch.randn(value.shape, generator=generator) * 0.3
    return structured


def reader(encoder: Encoder, cross: Path | None = None, **changes: Any) -> tuple[StatementReader, SpanTraining]:
    """A reader in which all that learns is at random."""
    given: dict[str, Any] = {"rank": 4, "first_layer": 1, "length": 16, "cross": str(cross or "")}
    config = SpanTraining(examples="-", tuning="-", **(given | changes))
    structured = StructuredEncoder(encoder)
    structured.keep_layers(config.layers or encoder.layers)
    if cross is not None:
        load_cross(cross, structured)
    model = StatementReader(make_trainable(structured, config))
    randomised(model)
    return model.eval(), config


def save(folder: Path, model: StatementReader, structured: bool = True, **more: Any) -> Path:
    about = {"model_type": MODEL_TYPE, "structured": structured, "width": model.encoder.encoder.width}
    about["calibration"] = {"slope": 0.5}
    save_deltas(folder, model.encoder, model.head, about | more)
    return folder


def padded(model: StatementReader, rows: Sequence[QuestionRow], structured: bool = True) -> tuple[Tensor, Tensor]:
    masks = None
    if structured:
        languages = languages_of(rows, max(len(row.ids) for row in rows), torch.device("cpu"))
        masks = joined_masks(~torch.tensor(BILINGUAL), structured_masks(languages), languages)
    with torch.no_grad():
        return model(rows, masks)


def assert_survives(model: StatementReader, folder: Path, structured: bool = True) -> StatementScorer:
    """What is saved judges as the trained modules do; updates are stored in bfloat16."""
    rows = rows_of(model.encoder.encoder)
    logits, scores = padded(model, rows, structured)
    scorer = StatementScorer(save(folder, model, structured), dtype=torch.float32)
    found = scorer.judge(rows, BILINGUAL)
    for one, logit, own, row in zip(found, logits, scores, rows, strict=True):
        assert one.logit == pytest.approx(float(logit), abs=0.02)
        expected = own[: len(row.ids)]
        finite = expected.isfinite()
        assert torch.equal(one.scores.isfinite(), finite)
        torch.testing.assert_close(one.scores[finite], expected[finite], atol=0.05, rtol=0.02)
    return scorer


@pytest.mark.parametrize("opened", KINDS, indirect=True)
@pytest.mark.parametrize("structured", [True, False])
def test_the_packed_path_from_disk_judges_as_the_trained_model(
    opened: Opened, structured: bool, tmp_path: Path
) -> None:
    model, _ = reader(opened(), structured=structured)
    assert_survives(model, tmp_path / "model", structured)
    if structured:
        _, scores = padded(model, rows_of(model.encoder.encoder))  # the same row in two languages and in one
        assert not torch.allclose(scores[0][1:4], scores[1][1:4], atol=0.01)


@pytest.mark.parametrize("opened", KINDS, indirect=True)
@pytest.mark.parametrize(("rank", "learns"), [(0, False), (4, False), (4, True)])
def test_a_q_cross_that_was_trained_before_survives(opened: Opened, rank: int, learns: bool, tmp_path: Path) -> None:
    save_cross(tmp_path / "cross", changed(opened()), {"trains": "cross"})
    model, _ = reader(opened(), tmp_path / "cross", rank=rank, cross_learns=learns)
    before = StatementReader(StructuredEncoder(opened()))
    scorer = assert_survives(model, tmp_path / "model")
    stored = load_file(tmp_path / "model" / "model.safetensors")
    assert {"cross.0.weight", "cross.0.bias", "cross.1.weight"} <= set(stored)
    assert (rank > 0) == any(name.endswith(".up") for name in stored)
    assert learns == any("cross" in name and name.endswith(("up", "down")) for name in stored)
    before.head.load_state_dict(model.head.state_dict())
    rows = rows_of(scorer.encoder)
    _, scores = padded(before.eval(), rows)
    found = scorer.judge(rows, BILINGUAL)[0].scores
    assert float((found - scores[0, : len(found)])[found.isfinite()].abs().max()) > 0.1


@pytest.mark.parametrize("opened", KINDS, indirect=True)
@pytest.mark.parametrize("structured", [True, False])
def test_queries_that_a_baseline_learned_survive(opened: Opened, structured: bool, tmp_path: Path) -> None:
    taught = changed(opened())
    save_cross(tmp_path / "query", taught, {"trains": "query"})
    model, _ = reader(opened(), tmp_path / "query", structured=structured)
    for name, value in taught.cross_parameters().items():
        if name.startswith("0."):  # layers from 1 on have learned on
            torch.testing.assert_close(model.encoder.queries()[name], value, atol=0.01, rtol=0)
    assert_survives(model, tmp_path / "model", structured)
    assert {"query.0.weight", "query.0.bias"} <= set(load_file(tmp_path / "model" / "model.safetensors"))


@pytest.mark.parametrize("opened", KINDS, indirect=True)
def test_a_reader_of_fewer_layers_survives(opened: Opened, tmp_path: Path) -> None:
    encoder = opened()
    whole = encoder.layers
    model, _ = reader(encoder, layers=whole - 1, first_layer=0)
    assert encoder.layers == len(model.encoder.layers) == whole - 1
    scorer = assert_survives(model, tmp_path / "model")
    assert scorer.encoder.layers == whole - 1


@pytest.mark.parametrize("opened", KINDS, indirect=True)
def test_the_layers_that_are_kept_compute_what_they_did(opened: Opened) -> None:
    encoder = opened()
    rows = rows_of(encoder)
    ids, mask = encoder.batch([row.ids[1:-1] for row in rows])
    with torch.no_grad():
        states = encoder(ids, mask)
        structured = StructuredEncoder(encoder)
        checksum = structured.checksum
        structured.keep_layers(1)
        found = structured(ids, mask)
    assert len(found) == 2 and encoder.layers == 1 and encoder.sentence_layer <= 1
    for before, after in zip(states, found, strict=False):
        torch.testing.assert_close(after[mask], before[mask])
    assert structured.checksum == checksum
    assert {name.partition(".")[0] for name in structured.cross_parameters()} == {"0"}
    for count in (0, 2):
        with pytest.raises(CheckpointError, match=f"has 1 layers, not {count}"):
            structured.keep_layers(count)


def test_the_probability_is_the_calibrated_one(opened: Opened, tmp_path: Path) -> None:
    model, _ = reader(opened())
    scorer = StatementScorer(save(tmp_path / "model", model))
    assert scorer.probability(1.5) == pytest.approx(1 / (1 + math.exp(-0.75)))
    assert 0 <= scorer.probability(-1e9) < 1e-9 < scorer.probability(0) == 0.5 < scorer.probability(1e9) <= 1


@pytest.mark.parametrize(
    "calibration",
    [None, {}, {"offset": 1.0}, {"slope": "steep"}, {"slope": [1]}, 3, {"slope": math.nan}, {"slope": math.inf},
     {"slope": 1.0, "offset": 0.5}, {"slope": 1.0, "offset": math.inf}],
)  # fmt: skip
def test_a_damaged_calibration_is_refused(opened: Opened, calibration: Any, tmp_path: Path) -> None:
    model, _ = reader(opened())
    folder = save(tmp_path / "model", model, calibration=calibration)
    with pytest.raises(CheckpointError, match=r"model/config\.json: calibration"):
        StatementScorer(folder)


def test_a_missing_calibration_and_other_damage_are_refused(
    opened: Opened, hub: dict[str, Path], tmp_path: Path
) -> None:
    model, _ = reader(opened())
    folder = save(tmp_path / "model", model)
    config, text = folder / "config.json", (folder / "config.json").read_text()
    about = json.loads(text)
    del about["calibration"]
    for changed_text, said in (
        (json.dumps(about), "calibration"),
        (text.replace(MODEL_TYPE, "spans"), "model_type"),
        (text[:40], "not JSON"),
        (text.replace(str(tmp_path / "encoder"), str(hub["bert"])), "another"),
        (text.replace('"layers": 3', '"layers": "all"'), "layers"),
    ):
        assert changed_text != text
        config.write_text(changed_text)
        with pytest.raises(CheckpointError, match=rf"model/config\.json.*{said}"):
            StatementScorer(folder)
    config.write_text(text.replace('"layers": 3', '"layers": 9'))
    with pytest.raises(CheckpointError, match="has 3 layers, not 9"):
        StatementScorer(folder)
    config.write_text(text.replace('"width": 32', '"width": 16'))
    with pytest.raises(CheckpointError, match="model: does not fit"):
        StatementScorer(folder)
    config.write_text(text)
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-100])
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        StatementScorer(folder)
    weights.write_bytes(whole)
    StatementScorer(folder)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("cross.0.weight", torch.zeros(3, 3)),
        ("cross.9.weight", torch.zeros(32, 32)),
        ("cross.0.bias", torch.zeros(1)),
        ("query.0.weight", torch.zeros(32, 1)),
        ("head.label.weight", torch.zeros(2, 32)),
        ("1.feed_forward.nothing.bias", torch.zeros(32)),
        ("0.out.down", torch.zeros(4, 32)),
    ],
)
def test_parts_that_do_not_fit_are_refused(opened: Opened, name: str, other: Tensor, tmp_path: Path) -> None:
    model, _ = reader(opened())
    folder = save(tmp_path / "model", model)
    path = folder / "model.safetensors"
    save_file(load_file(path) | {name: other}, path)
    with pytest.raises(CheckpointError, match="model: does not fit"):
        StatementScorer(folder)


def test_q_cross_of_another_encoder_or_of_other_layers_is_refused(
    opened: Opened, hub: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "cross"
    save_cross(folder, changed(opened()), {"trains": "cross"})
    assert load_cross(folder, StructuredEncoder(opened()))["trains"] == "cross"
    with pytest.raises(CheckpointError, match=r"cross/config\.json: was trained with another"):
        load_cross(folder, StructuredEncoder(load_encoder(str(hub["bert"]))))
    fewer = StructuredEncoder(opened())
    fewer.keep_layers(2)
    with pytest.raises(CheckpointError, match=r"cross/config\.json: is of 3 layers, not 2"):
        load_cross(folder, fewer)
    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"1.weight": torch.zeros(3, 3)}, folder / "model.safetensors")
    for trains in ("cross", "query"):
        config = json.loads((folder / "config.json").read_text()) | {"trains": trains}
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(CheckpointError, match=rf"{folder}: 1\.weight"):
            load_cross(folder, StructuredEncoder(opened()))
    shutil.copy(save(tmp_path / "model", reader(opened())[0]) / "config.json", folder)
    with pytest.raises(CheckpointError, match="model_type"):
        load_cross(folder, StructuredEncoder(opened()))
    with pytest.raises(CheckpointError, match="nowhere"):
        load_cross(tmp_path / "nowhere", StructuredEncoder(opened()))


def chance(logit: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-logit.double()))


def test_the_logit_is_that_of_both_or_neither() -> None:
    generator = torch.Generator().manual_seed(1)
    first, second = torch.randn(2, 200, generator=generator).mul(3)
    p, q = chance(first), chance(second)
    torch.testing.assert_close(chance(both_or_neither(first, second)), p * q + (1 - p) * (1 - q), atol=1e-5, rtol=0)
    sure = torch.tensor([80.0, -80.0, 80.0, -80.0], requires_grad=True)
    found = both_or_neither(sure, sure.detach()[[0, 0, 1, 1]])
    assert found.sign().tolist() == [1, -1, -1, 1]
    found.sum().backward()  # type: ignore[no-untyped-call]
    assert found.isfinite().all() and sure.grad is not None and sure.grad.isfinite().all()


def test_support_is_the_chance_that_some_sentence_decides() -> None:
    scores = torch.randn(6, 9, 2, generator=torch.Generator().manual_seed(1)) * 2
    scores[:, 7:] = -torch.inf
    none = scores.double().softmax(1)[:, 0]
    torch.testing.assert_close(support(scores).double(), ((1 - none) / none).log().mean(-1), atol=1e-4, rtol=0)
    scores[:, 1:] = -torch.inf  # an empty context supports nothing
    assert (support(scores) < -5).all() and support(scores).isfinite().all()
