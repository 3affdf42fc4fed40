"""Pre-training of Q_cross: what is hidden and predicted, what learns, and resuming after kills."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.reasoning.deltas import load_cross
from dragoman.reasoning.structured_attention import structured_masks
from dragoman.reasoning.structured_encoder import StructuredEncoder, languages_of, row_of
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.backbone.corpus import Pairs, Position
from dragoman_lab.backbone.loop import Source
from dragoman_lab.reasoning import cross_query
from dragoman_lab.reasoning.cross_query import (
    CrossQueryModel,
    CrossQueryTraining,
    ParallelRows,
    SubwordHead,
    _rows_of,
    masked_loss,
    train_cross_query,
)
from tests.backbone.samples import SENTENCES, curves, run_with_kills
from tests.ranking.samples import write_encoder

CPU = torch.device("cpu")
KINDS = ["head", "cross", "query"]


@pytest.fixture
def folder(tmp_path: Path, subwords: Subwords) -> Path:
    """A folder with an encoder and a little parallel text, in one file with English second."""
    write_encoder(tmp_path / "encoder", subwords, max_length=64)
    write_parallel(tmp_path / "parallel" / "en-de", SENTENCES)
    write_parallel(tmp_path / "parallel" / "de-en", [(german, english) for english, german in SENTENCES])
    return tmp_path


def write_parallel(folder: Path, pairs: list[Any]) -> None:
    folder.mkdir(parents=True)
    text = "".join(f"{first}\t{second}\n" for first, second in pairs)
    (folder / "sample.tsv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def table(folder: Path, **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "encoder": str(folder / "encoder"), "parallel": [str(folder / "parallel")], "steps": 6, "tokens": 128,
        "length": 32, "vocabulary": 300, "warm_up": 2, "report_every": 1, "checkpoint_every": 2, "bf16": False,
        "device": "cpu", "trains": "head",
    }  # fmt: skip
    return given | changes


def train(folder: Path, name: str, **changes: Any) -> Path:
    train_cross_query(CrossQueryTraining.parse(table(folder, **changes)), folder / name)
    return folder / name


def parallel_rows(encoder: Encoder, count: int = 16) -> ParallelRows:
    first = encoder.subwords([english for english, _ in SENTENCES[:count]])
    second = encoder.subwords([german for _, german in SENTENCES[:count]])
    rows = [row_of(encoder, x.ids[:14], y.ids[:14]) for x, y in zip(first, second, strict=True)]
    return ParallelRows(rows)


def model_of(encoder: Encoder, trains: str = "cross", known: int | None = None) -> CrossQueryModel:
    """A model whose head predicts the first `known` of the subwords of the sample's text, or all of them."""
    used = sorted({one for row in parallel_rows(encoder, 64).rows for one in row.ids[1:-1]} - special(encoder))
    counts = np.zeros(1 + max(*used, encoder.pad, *encoder.frame([])), dtype=np.int64)
    counts[used[:known]] = 1
    return CrossQueryModel(StructuredEncoder(encoder), SubwordHead(encoder, counts, len(counts)), trains)


def special(encoder: Encoder) -> set[int]:
    return {encoder.pad, *encoder.frame([])}


class Watched(CrossQueryModel):
    """Remembers what it was given."""

    seen: torch.Tensor

    def forward(self, rows: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        self.seen = ids
        return super().forward(rows, ids, mask)


def test_a_share_of_the_known_subwords_is_hidden_and_no_special_token(encoder: Encoder) -> None:
    model = model_of(encoder, known=40)
    watched = Watched(model.encoder, model.head, "cross")
    batch = parallel_rows(encoder)
    targets = set(model.head.targets.tolist())
    kinds, known, generator = Counter[str](), 0, torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _ in range(150):
            if not masked_loss(watched, batch, generator, CPU):
                continue
            for row, seen in zip(batch.rows, watched.seen.tolist(), strict=True):
                known += sum(one in targets for one in row.ids)
                for place, (before, after) in enumerate(zip(row.ids, seen, strict=False)):
                    if before != after:
                        assert before in targets and before not in special(encoder)
                        assert place not in (0, row.second - 1, len(row.ids) - 1)
                        assert after == encoder.mask_id or after in targets
                        kinds["hidden" if after == encoder.mask_id else "replaced"] += 1
    assert known > 5000
    assert kinds["hidden"] / known == pytest.approx(0.15 * 0.8, rel=0.1)
    assert kinds["replaced"] / known == pytest.approx(0.15 * 0.1 * (1 - 1 / len(targets)), rel=0.25)


def test_the_loss_is_the_cross_entropy_of_the_subwords_chosen(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(encoder)
    watched = Watched(model.encoder, model.head, "cross")
    batch = parallel_rows(encoder, 6)
    monkeypatch.setattr(cross_query, "MASKED", 1.1)  # all of them, so that the choice needs no guess
    with torch.no_grad():
        found = masked_loss(watched, batch, torch.Generator().manual_seed(3), CPU)["masked"]
        states, losses = [], []
        for number, row in enumerate(batch.rows):
            ids = watched.seen[number, : len(row.ids)][None]
            masks = structured_masks(languages_of([row], len(row.ids), CPU))
            states = model.encoder(ids, torch.ones_like(ids, dtype=torch.bool), masks)[-1][0]
            for place, one in enumerate(row.ids):
                if place not in (0, row.second - 1, len(row.ids) - 1) and one not in special(encoder):
                    inner = F.gelu(states[place] @ model.head.dense.weight.T + model.head.dense.bias)
                    inner = (inner - inner.mean()) / (inner.var(correction=0) + 1e-5).sqrt()
                    scores = model.head.embeddings @ inner + model.head.bias
                    chances = scores.double().softmax(0)
                    losses.append(-float(chances[model.head.targets.tolist().index(one)].log()))
    assert float(found) == pytest.approx(np.mean(losses), abs=1e-4)


def test_a_batch_without_known_subwords_has_no_loss(encoder: Encoder) -> None:
    model = model_of(encoder, known=40)
    other = next(one for one in range(5, 200) if one not in model.head.targets and one not in special(encoder))
    rows = [row_of(encoder, [other] * 9, [other] * 9)] * 8
    assert masked_loss(model, ParallelRows(rows), torch.Generator().manual_seed(1), CPU) == {}


def test_the_head_predicts_the_most_frequent_subwords_by_their_embeddings(encoder: Encoder) -> None:
    counts = np.array([0, 0, 0, 0, 0, 7, 9, 0, 1, 3, 9])
    head = SubwordHead(encoder, counts, 3)
    assert head.targets.tolist() == [5, 6, 10]
    assert [int(one) for one in head.places] == [-1, -1, -1, -1, -1, 0, 1, -1, -1, -1, 2]
    torch.testing.assert_close(head.bias.exp(), torch.tensor([8.0, 10.0, 10.0]) / 28)
    torch.testing.assert_close(head.embeddings.norm(dim=1), torch.ones(3))
    assert SubwordHead(encoder, counts, 100).targets.tolist() == [5, 6, 8, 9, 10]


def test_rows_begin_with_english_whichever_column_it_was_in(encoder: Encoder) -> None:
    english, german = ([one.ids for one in encoder.subwords(list(side))] for side in zip(*SENTENCES[:4], strict=True))
    x, y = ([np.array(ids, np.int32) for ids in side] for side in (english, german))
    expected = [row_of(encoder, *pair).ids for pair in zip(english, german, strict=True)]
    for pairs in (Pairs(x, y, ("en", "de")), Pairs(y, x, ("de", "en"))):
        source = _rows_of(Source("own", lambda start, pairs=pairs: iter([(Position(1, 2), pairs)])), encoder)
        [(position, batch)] = source.draw(Position())
        assert position == Position(1, 2) and source.checksum == "own"
        assert [row.ids for row in batch.rows] == expected
        assert batch.tokens == sum(map(len, expected))


@pytest.mark.parametrize("trains", KINDS)
def test_only_what_is_trained_changes(folder: Path, trains: str) -> None:
    head = "" if trains == "head" else str(train(folder, "head"))
    if trains != "head":
        before = load_file(folder / "head" / "model" / "model.safetensors")
    output = train(folder, "own", trains=trains, head=head, learning_rate=1e-2)
    config = CrossQueryTraining.parse(table(folder, trains=trains, head=head))
    checkpoint = load_file(sorted((output / "checkpoints").iterdir())[-1] / "model.safetensors")
    own = {f"encoder.{name}": one for name, one in StructuredEncoder(load(folder)).state_dict().items()}
    changed = {name for name, one in own.items() if not torch.equal(checkpoint[name], one)}
    if trains == "head":
        assert not changed
        return
    assert changed == {name for name in own if ".attention.cross." in name}
    assert all(torch.equal(checkpoint[f"head.{name}"], one) for name, one in before.items())
    assert config.trains == trains


def load(folder: Path) -> Encoder:
    return load_encoder(str(folder / "encoder"))


def held(folder: Path, output: Path, trains: str) -> float:
    """The masked loss of the sample's text, always with the same subwords hidden, by the weights of a checkpoint."""
    encoder = load(folder)
    checkpoint = load_file(sorted((output / "checkpoints").iterdir())[-1] / "model.safetensors")
    counts = np.zeros(len(checkpoint["head.places"]))
    counts[checkpoint["head.targets"].numpy()] = 1
    model = CrossQueryModel(StructuredEncoder(encoder), SubwordHead(encoder, counts, len(counts)), trains)
    model.load_state_dict(checkpoint)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        some = [masked_loss(model.eval(), parallel_rows(encoder, 64), generator, CPU)["masked"] for _ in range(4)]
    return float(np.mean(some))


@pytest.mark.slow
@pytest.mark.parametrize("trains", ["cross", "query"])
def test_the_masked_loss_falls_and_what_is_saved_is_what_was_trained(folder: Path, trains: str) -> None:
    steps: dict[str, Any] = {"steps": 60, "report_every": 20, "checkpoint_every": 60, "tokens": 512}
    head = train(folder, "head", learning_rate=1e-2, **steps)
    first = [step["losses"]["masked"] for step in curves(head)]
    assert first[-1] < first[0] - 0.2
    output = train(folder, "own", trains=trains, head=str(head), learning_rate=5e-2, **steps)
    still = train(folder, "still", trains=trains, head=str(head), learning_rate=1e-9, **steps)
    before, after = held(folder, still, trains), held(folder, output, trains)
    assert after < before - 0.05
    loaded = StructuredEncoder(load(folder))
    about = load_cross(output / "model", loaded)
    assert about["languages"] == ["de", "en"] and about["trains"] == trains
    trained = load_file(output / "checkpoints" / "00000060" / "model.safetensors")
    found = loaded.cross_parameters() if trains == "cross" else loaded.queries()
    for name, value in found.items():
        layer, _, part = name.partition(".")
        expected = trained[f"encoder.encoder.model.layers.{layer}.attention.cross.{part}"]
        torch.testing.assert_close(value.detach(), expected, atol=0.01, rtol=0)  # differences are in bfloat16
    fresh = StructuredEncoder(load(folder))
    others = [one.queries() if trains == "cross" else one.cross_parameters() for one in (loaded, fresh)]
    assert all(torch.equal(value, others[1][name]) for name, value in others[0].items())


def test_the_baseline_reads_everything_by_its_own_queries_as_it_will_be_read(encoder: Encoder) -> None:
    """In training copies stand for the queries; the encoder with the changed queries must compute the same."""
    model = model_of(encoder, "query")
    generator = torch.Generator().manual_seed(2)
    rows = parallel_rows(encoder, 5).rows
    ids, mask = (torch.stack(one) for one in zip(*[_one(row.ids, 32, encoder.pad) for row in rows], strict=True))
    own = model.encoder.queries()
    with torch.no_grad():
        for name, value in model.encoder.cross_parameters().items():
            value += torch.randn(value.shape, generator=generator) * 0.1
            own[name] = value - own[name]
        trained = model(rows, ids, mask)
        model.encoder.change_queries(own)
        torch.testing.assert_close(model.encoder(ids, mask)[-1][mask], trained[mask], atol=1e-4, rtol=0)


def _one(ids: list[int], length: int, pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    row = torch.full((length,), pad)
    row[: len(ids)] = torch.tensor(ids)
    return row, torch.arange(length) < len(ids)


@pytest.mark.parametrize("trains", ["cross", "query"])
def test_it_begins_with_another_q_cross(folder: Path, trains: str) -> None:
    head = str(train(folder, "head"))
    shared = train(folder, "shared", trains=trains, head=head, learning_rate=1e-2)
    still = {"steps": 1, "checkpoint_every": 1, "learning_rate": 1e-9, "start": str(shared / "model")}
    pair = train(folder, "pair", trains=trains, head=head, **still)
    first, second = (load_file(one / "model" / "model.safetensors") for one in (shared, pair))
    assert any(name.endswith("weight") for name in first)
    assert first.keys() == second.keys()
    for name, value in first.items():
        torch.testing.assert_close(second[name], value, atol=1e-3, rtol=0.01)
    own = StructuredEncoder(load(folder)).queries()
    assert not torch.equal(first["0.bias"], own["0.bias"])


def test_fewer_layers_are_trained_for_readers_of_fewer(folder: Path) -> None:
    head = str(train(folder, "head", layers=1))
    output = train(folder, "own", layers=1, trains="cross", head=head)
    fewer = StructuredEncoder(load(folder))
    with pytest.raises(CheckpointError, match="of 1 layers, not 2"):
        load_cross(output / "model", fewer)
    fewer.keep_layers(1)
    load_cross(output / "model", fewer)
    with pytest.raises(CheckpointError, match=r"head/model/config\.json: layers"):
        train(folder, "whole", trains="cross", head=head)


@pytest.mark.slow
@pytest.mark.kill
def test_training_that_is_killed_repeatedly_gives_the_same_q_cross(folder: Path) -> None:
    head = str(train(folder, "head"))
    given = table(folder, trains="cross", head=head, steps=14)
    output = folder / "killed" / "cross"
    arguments = ["cross_query", json.dumps(given), str(output)]
    assert run_with_kills("tests.lab.reasoning.slowly", arguments, output) >= 1
    torch.set_num_threads(1)
    whole = folder / "whole" / "cross"
    train_cross_query(CrossQueryTraining.parse(given), whole)
    assert curves(output) == curves(whole)
    for name in ("model.safetensors", "config.json"):
        assert (output / "model" / name).read_bytes() == (whole / "model" / name).read_bytes()


def test_a_head_knows_subwords_that_other_text_lacks(folder: Path) -> None:
    head = str(train(folder, "head"))
    write_parallel(folder / "other" / "en-de", SENTENCES[:4])
    output = train(folder, "own", trains="cross", head=head, parallel=[str(folder / "other")])
    assert np.isfinite(curves(output)[-1]["losses"]["masked"])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trains": "cross"}, "head must name"),
        ({"trains": "head", "head": "somewhere"}, "head must name"),
        ({"trains": "everything"}, "trains"),
        ({"vocabulary": 0}, "vocabulary"),
        ({"length": 2}, "length"),
        ({"layers": -1}, "layers"),
        ({"length": 256}, "tokens"),
        ({"parallel": []}, "parallel"),
        ({"nonsense": 1}, "unknown field nonsense"),
    ],
)
def test_values_that_cannot_be_are_named(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        CrossQueryTraining.parse(table(tmp_path, **changes))


def test_what_does_not_fit_the_encoder_is_named_before_training(folder: Path, hub: dict[str, Path]) -> None:
    with pytest.raises(ConfigError, match=r"encoder: .*mt5.* no token that hides"):
        without_mask(folder, hub)
    with pytest.raises(ConfigError, match=r"layers must be at most .* 2"):
        train(folder, "deep", layers=3)
    with pytest.raises(ConfigError, match=r"length must be at most 32: .* reads 64"):
        train(folder, "long", length=33)
    assert not any((folder / name).exists() for name in ("mt5", "deep", "long"))


def without_mask(folder: Path, hub: dict[str, Path]) -> None:
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        path = hub["mt5-encoder"] / name
        if path.exists():
            known = json.loads(path.read_text())
            known.pop("mask_token", None)
            path.write_text(json.dumps(known))
    train(folder, "mt5", encoder=str(hub["mt5-encoder"]))


def test_text_that_is_not_parallel_to_english_is_refused(folder: Path) -> None:
    write_parallel(folder / "others" / "fr-de", SENTENCES[:4])
    with pytest.raises(ConfigError, match="no file is parallel to English"):
        train(folder, "own", parallel=[str(folder / "others")])
    (folder / "raw").mkdir()
    (folder / "raw" / "en.some.txt").write_text("one\ntwo\n")
    with pytest.raises(ConfigError, match="no file is parallel to English"):
        train(folder, "own", parallel=[], raw=[str(folder / "raw")])
    both = train(folder, "both", parallel=[str(folder / "others"), str(folder / "parallel")])
    assert np.isfinite(curves(both)[-1]["losses"]["masked"])


def test_a_head_of_another_encoder_or_a_damaged_one_is_refused(folder: Path, subwords: Subwords) -> None:
    head = train(folder, "head")
    write_encoder(folder / "second", subwords, max_length=64, seed=9)
    with pytest.raises(CheckpointError, match=r"head/model/config\.json: encoder_checksum"):
        train(folder, "other", encoder=str(folder / "second"), trains="cross", head=str(head))
    with pytest.raises(CheckpointError, match="nowhere"):
        train(folder, "missing", trains="cross", head=str(folder / "nowhere"))
    weights = head / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    with pytest.raises(CheckpointError, match=r"head/model/model\.safetensors"):
        train(folder, "damaged", trains="cross", head=str(head))
    given = CrossQueryTraining.parse(table(folder, trains="cross", head=str(head)))
    with pytest.raises(CheckpointError, match="missing-start"):
        train(folder, "start", start=str(folder / "missing-start"))
    assert given.model_copy(update={"steps": 9}).differing_fields(given) == []
