"""MART over a frozen encoder: it starts as that encoder exactly, and is saved as what training changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.deltas.base import base_of, encoder_checksum
from dragoman.backbone.deltas.layers import layers_of
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.ranking.about import RerankerAbout
from dragoman.ranking.checkpoints import load_mart, save_mart
from dragoman.ranking.inference import for_inference
from dragoman.ranking.mart import Mart
from dragoman.ranking.scoring import Scorer, padded_states
from dragoman_lab.backbone.config import ConfigError, read_config
from dragoman_lab.ranking.loop import MartTraining, initial_model, train_mart
from tests.ranking.samples import config_table, write_encoder, write_lists
from tests.ranking.test_inference import DOCUMENTS, passages_of
from tests.ranking.test_mart import PAIRS, bare, batch

CONFIGS = Path(__file__).parents[3] / "dragoman_lab" / "configs"


def named(kind: str, tmp_path: Path, hub: dict[str, Path], subwords: Subwords) -> str:
    """The name or path of an encoder of a kind."""
    if kind == "veco":
        write_encoder(tmp_path / "encoder", subwords, layers=3, max_length=64)
        return str(tmp_path / "encoder")
    return str(hub.get(kind, kind))


def model_of(encoder: str, **changes: Any) -> tuple[Mart, dict[str, Any]]:
    table = config_table(Path("unused"), Path(encoder), rank=3, model={"mat_layers": [-1]})
    model, base = initial_model(MartTraining.parse(table | {"encoder": encoder} | changes))
    assert base is not None
    return model.eval(), base


def changed(model: Mart, seed: int = 1) -> Mart:
    """The model with other values of all that learns, the same in bfloat16."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.copy_(torch.randn(parameter.shape, generator=generator).mul(0.2).bfloat16())
    return model


@pytest.mark.parametrize("kind", ["veco", "bert", "xlm-roberta", "e5-small"])
def test_it_starts_as_the_first_layers_of_the_encoder_exactly(
    kind: str, tmp_path: Path, hub: dict[str, Path], subwords: Subwords
) -> None:
    encoder = load_encoder(named(kind, tmp_path, hub, subwords))
    count = 6 if kind == "e5-small" else 2
    model, base = model_of(encoder.name, layers=count, model={"mat_layers": [-2, -1]})
    assert (base["encoder"], base["layers"], len(model.heads)) == (encoder.name, count, 2)
    given = batch(encoder, PAIRS)
    assert len(given.mixing.left) > 4
    with torch.no_grad():
        theirs, ours = bare(encoder, given), model.states(given)
    assert len(ours) == count + 1
    for own, expected in zip(ours, theirs, strict=False):
        assert float((own - expected).abs().max()) == 0.0


def test_a_pair_for_e5_is_read_as_its_tokenizer_reads_pairs() -> None:
    encoder = load_encoder("e5-small")
    texts = ["where is the ship", "Das Schiff liegt im Hafen."]
    query, passage = (one.ids for one in encoder.subwords(texts))
    pair = encoder.pair(query, passage)
    assert pair.ids == [0, *query, 2, 2, *passage, 2]  # <s> first </s></s> second </s>, as XLM-R
    assert pair.ids[pair.first :][: len(query)] == query and pair.ids[pair.second :][: len(passage)] == passage
    assert pair.positions is None and pair.segments is None


def test_only_updates_and_biases_of_the_upper_layers_and_the_own_layers_learn(
    tmp_path: Path, hub: dict[str, Path], subwords: Subwords
) -> None:
    encoder = named("veco", tmp_path, hub, subwords)
    for rank in (0, 2):
        model, _ = model_of(encoder, rank=rank, first_layer=1)
        names = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
        inside = {name for name in names if name.startswith("encoder.")}
        assert names - inside == {name for name, _ in model.named_parameters() if not name.startswith("encoder.")}
        assert {name.split(".")[3] for name in inside} == {"1", "2"}
        kinds = {name.rpartition(".")[2] for name in inside}
        assert kinds == ({"bias", "down", "up"} if rank else {"bias"})


@pytest.mark.parametrize("kind", ["veco", "bert", "xlm-roberta"])
def test_a_loaded_model_computes_what_was_trained(
    kind: str, tmp_path: Path, hub: dict[str, Path], subwords: Subwords
) -> None:
    model, base = model_of(named(kind, tmp_path, hub, subwords), first_layer=1, layers=2, model={"mat_layers": [0, 1]})
    changed(model)
    save_mart(tmp_path / "mart", model, RerankerAbout("mine", "forward"), base)
    assert {path.name for path in (tmp_path / "mart").iterdir()} == {"config.json", "model.safetensors"}
    loaded, about = load_mart(str(tmp_path / "mart"))
    assert (about.name, about.direction, loaded.encoder.layers) == ("mine", "forward", 2)
    given = batch(model.encoder, PAIRS)
    with torch.inference_mode():
        for found, expected in zip(loaded.states(given), model.states(given), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        rows = passages_of(Scorer(loaded), DOCUMENTS)
        expected = padded_states(model, rows)
        for one in (loaded, model):  # also in training, when updates are not merged yet
            fast = for_inference(one)
            assert fast is not None
            torch.testing.assert_close(fast(rows), expected, rtol=1e-4, atol=1e-5)


def test_another_encoder_is_refused(tmp_path: Path, subwords: Subwords) -> None:
    write_encoder(tmp_path / "encoder", subwords)
    model, base = model_of(str(tmp_path / "encoder"))
    folder = tmp_path / "mart"
    save_mart(folder, model, RerankerAbout("mine"), base)
    config = json.loads((folder / "config.json").read_text())
    for other, message in (
        ({"layers": 9}, "has 2 layers, not 9"),
        ({"layers": "all"}, "layers is 'all'"),
        ({"encoder": str(tmp_path / "nowhere")}, "nowhere"),
        ({"tokenizer": "0"}, "tokenizer differs"),
        ({"layers": 1, "mart": {"mat_layers": [0]}}, "does not fit"),
    ):
        (folder / "config.json").write_text(json.dumps(config | other))
        with pytest.raises(CheckpointError, match=message):
            load_mart(str(folder))
    (folder / "config.json").write_text(json.dumps(config))
    weights = load_file(tmp_path / "encoder" / "model.safetensors")
    save_file({name: value * 2 for name, value in weights.items()}, tmp_path / "encoder" / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"mart/config\.json: was trained with another .*: encoder_checksum"):
        load_mart(str(folder))


@pytest.fixture
def lists(tmp_path: Path, subwords: Subwords) -> Path:
    encoder = write_encoder(tmp_path / "encoder", subwords, max_length=64)
    write_lists(tmp_path / "lists" / "a", encoder, queries=30)
    write_lists(tmp_path / "tuning" / "b", encoder, queries=9, seed=2)
    return tmp_path


def parsed(lists: Path, **changes: Any) -> MartTraining:
    return MartTraining.parse(config_table(lists, lists / "encoder", **changes))


@pytest.mark.slow
def test_training_changes_what_learns_alone_and_goes_on_from_what_it_saved(lists: Path) -> None:
    shape: dict[str, Any] = {"rank": 3, "first_layer": 1, "learning_rate": 1e-2, "model": {"mat_layers": [0]}}
    train_mart(parsed(lists, **shape), lists / "first")
    plain = load_encoder(str(lists / "encoder"))
    best = load_file(lists / "first" / "best" / "model.safetensors")
    for name, value in plain.state_dict().items():
        kept = best.get(f"encoder.{name}")  # beside an update the layer itself is its `own`
        kept = best[f"encoder.{name.removesuffix('weight')}own.weight"] if kept is None and "weight" in name else kept
        learns = name.endswith("bias") and ".layers.1." in name
        assert kept is None or learns or torch.equal(kept, value), name
    loaded, _ = load_mart(str(lists / "first" / "model"))
    merged = layers_of(loaded.encoder)[1].attention.in_projection.weight
    assert not torch.equal(merged, layers_of(plain)[1].attention.in_projection.weight)
    on = parsed(lists, **shape, start_from=str(lists / "first" / "model"))
    again, base = initial_model(on)
    assert base == base_of(plain, encoder_checksum(plain))
    given = batch(again.encoder, PAIRS)
    with torch.no_grad():
        torch.testing.assert_close(again.eval().pool_rows(given), loaded.pool_rows(given), rtol=1e-4, atol=1e-5)
    train_mart(on, lists / "second")
    for changes, message in (
        ({"rank": 2}, "does not fit"),
        ({"layers": 1, "first_layer": 0}, "is of 2 layers, not 1"),
        ({"rank": None, "first_layer": 0}, "start_from: its encoder is frozen"),
    ):
        with pytest.raises(ValueError, match=message):
            initial_model(parsed(lists, **shape | changes, start_from=str(lists / "first" / "model")))


def test_the_configuration_for_e5_gives_a_small_delta_that_computes_the_same(tmp_path: Path) -> None:
    table = read_config(CONFIGS / "mart-e5.toml")
    del table["sources"]
    model, base = initial_model(MartTraining.parse(table))
    assert base is not None and base["encoder"] == "e5-small" and sorted(model.heads) == ["3", "4"]
    changed(model.eval())
    save_mart(tmp_path / "mart", model, RerankerAbout("e5"), base)
    assert sum(path.stat().st_size for path in (tmp_path / "mart").iterdir()) < 25e6
    loaded, _ = load_mart(str(tmp_path / "mart"))
    rows = passages_of(Scorer(loaded), DOCUMENTS)
    fast = for_inference(loaded)
    assert fast is not None
    with torch.inference_mode():
        torch.testing.assert_close(fast(rows), padded_states(model, rows), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rank": -1}, r"^rank: .* greater than or equal to 0, not -1"),
        ({"rank": 2, "layers": -1}, r"^layers: .* greater than or equal to 0, not -1"),
        ({"layers": 1}, "there is no rank"),
        ({"first_layer": 1}, "there is no rank"),
        ({"rank": 2, "layers": 3}, r"layers must be at most .*'s 2"),
        ({"rank": 2, "first_layer": 2}, "first_layer must lie between 0 and 1"),
        ({"rank": 2, "layers": 1}, "mat_layers"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(lists: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        initial_model(parsed(lists, **changes))


def test_an_encoder_that_cannot_be_saved_whole_is_refused_before_training(lists: Path) -> None:
    with pytest.raises(CheckpointError, match=r"e5-small: its weights cannot be saved, only updates of low rank"):
        initial_model(parsed(lists).model_copy(update={"encoder": "e5-small"}))
