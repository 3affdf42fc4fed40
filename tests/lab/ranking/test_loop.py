"""Training of MART: losses, learning to use the table, early stopping, resuming after a kill."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.backbone.tokenizer import Subwords
from dragoman.ranking.checkpoints import load_mart
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.scoring import Scorer
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.backbone.corpus import Position
from dragoman_lab.ranking.examples import examples_of, weighted_shares
from dragoman_lab.ranking.lists import Lists, read_lists
from dragoman_lab.ranking.loop import MartTraining, ranking_losses, train_mart
from dragoman_lab.ranking.measuring import mean_average_precision, score_lists
from tests.backbone.samples import curves, run_with_kills
from tests.ranking.samples import config_table, randomised, write_encoder, write_lists, write_unread

pytestmark = [pytest.mark.slow, pytest.mark.kill]


@pytest.fixture
def lists(tmp_path: Path, subwords: Subwords) -> Path:
    encoder = write_encoder(tmp_path / "encoder", subwords)
    write_lists(tmp_path / "lists" / "a", encoder, queries=40)
    write_lists(tmp_path / "lists" / "b", encoder, queries=10, seed=2)
    write_lists(tmp_path / "tuning" / "c", encoder, queries=12, seed=3)
    return tmp_path


def parsed(folder: Path, **changes: Any) -> MartTraining:
    return MartTraining.parse(config_table(folder, folder / "encoder", **changes))


@pytest.mark.parametrize("rank", [None, 4])
def test_training_that_is_killed_repeatedly_gives_the_same_model(lists: Path, rank: int | None) -> None:
    shape = {} if rank is None else {"rank": rank, "first_layer": 1}
    table = config_table(lists, lists / "encoder", steps=20, documents=2, **shape)
    output = lists / "killed"
    assert run_with_kills("tests.lab.ranking.slowly", [json.dumps(table), str(output)], output) >= 1
    torch.set_num_threads(1)
    train_mart(MartTraining.parse(table), lists / "whole")
    assert curves(output) == curves(lists / "whole")
    assert (output / "measures.jsonl").read_text() == (lists / "whole" / "measures.jsonl").read_text()
    encoder = [] if rank else ["encoder/model.safetensors", "encoder/tokenizer.json"]
    for name in ("model.safetensors", *encoder):
        assert (output / "model" / name).read_bytes() == (lists / "whole" / "model" / name).read_bytes()


def test_it_learns_to_use_a_table_of_unseen_words(tmp_path: Path, subwords: Subwords) -> None:
    encoder = write_encoder(tmp_path / "encoder", subwords)
    write_unread(tmp_path / "lists" / "a", encoder, queries=400, seed=1)
    tuning = read_lists(write_unread(tmp_path / "tuning" / "b", encoder, queries=30, seed=2))
    changes: dict[str, Any] = {
        "steps": 300, "checkpoint_every": 100, "report_every": 50, "learning_rate": 2e-3, "queries": 16, "documents": 4,
        "rates": {"heads.": 4, "sides": 10},
    }  # fmt: skip
    train_mart(parsed(tmp_path, **changes), tmp_path / "mart")
    report = json.loads((tmp_path / "mart" / "report.json").read_text())
    model, about = load_mart(str(tmp_path / "mart" / "model"))
    assert report["fitted"]["all"]["mean"] >= report["measures"]["interpolated"] - 0.05
    assert report["fitted"]["all"]["mean"] >= report["fitted"]["first stage"]["mean"]
    assert about.not_for == []
    found, without = (
        mean_average_precision(score_lists(Scorer(model), tuning, depth=5, placebo=placebo), 0.0)
        for placebo in (False, True)
    )
    assert found == pytest.approx(report["measures"]["alone"], abs=0.05)  # saved in bfloat16
    assert found > 0.8 > 0.65 > without


def test_early_stopping(lists: Path) -> None:
    train_mart(parsed(lists, steps=40, patience=2, learning_rate=1e-9), lists / "mart")
    measures = [json.loads(line) for line in (lists / "mart" / "measures.jsonl").read_text().splitlines()]
    assert [one["step"] for one in measures] == [2, 4, 6]
    assert json.loads((lists / "mart" / "report.json").read_text())["steps"] == 2


@pytest.mark.parametrize("measure", ["alone", "interpolated"])
def test_the_step_is_chosen_by_the_measure_that_is_named(lists: Path, measure: str) -> None:
    train_mart(parsed(lists, steps=60, patience=10, stop_by=measure, learning_rate=2e-2), lists / "mart")
    measures = [json.loads(line) for line in (lists / "mart" / "measures.jsonl").read_text().splitlines()]
    best = max(measures, key=lambda one: one[measure])  # the first of equal ones
    assert json.loads((lists / "mart" / "report.json").read_text())["steps"] == best["step"]


def test_score_weights_are_fitted(lists: Path) -> None:
    train_mart(parsed(lists, fit_queries=9), lists / "mart")
    maps = json.loads((lists / "mart" / "report.json").read_text())["fitted"]
    assert maps["all"]["mean"] >= maps["standalone"]["mean"]
    assert maps["with structured queries"]["mean"] >= maps["first stage"]["mean"]
    about = load_mart(str(lists / "mart" / "model"))[1]
    assert about.standalone is not None and about.standalone.scale > 0


def test_frozen_weights_do_not_change_and_the_placebo_has_no_links(lists: Path) -> None:
    train_mart(parsed(lists, placebo=True, learning_rate=1e-2), lists / "mart")
    model, about = load_mart(str(lists / "mart" / "model"))
    assert about.placebo
    before = Mart(load(lists), MartConfig([0, 1])).state_dict()
    after = model.state_dict()
    frozen = "encoder.model.tokens.weight"
    torch.testing.assert_close(before[frozen], after[frozen], rtol=1e-2, atol=1e-2)
    assert not torch.allclose(
        before["encoder.model.positions.weight"], after["encoder.model.positions.weight"], atol=0.02
    )


def load(folder: Path) -> Any:
    from dragoman.backbone.loading import load_encoder

    return load_encoder(str(folder / "encoder"))


def draw(sets: dict[str, Lists], start: Position, many: int, **changes: Any) -> list[Any]:
    given: dict[str, Any] = {
        "queries": 4,
        "documents": 3,
        "direction": "mean",
        "placebo": False,
        "unlinked": 0.0,
        "seed": 7,
    } | changes
    source = examples_of(sets, weighted_shares({name: len(one) for name, one in sets.items()}, 0.5), **given)
    return list(islice(source.draw(start), many))


def test_a_position_gives_the_same_batches(lists: Path) -> None:
    sets = {name: read_lists(lists / "lists" / name) for name in "ab"}
    whole = draw(sets, Position(), 6)
    again = draw(sets, whole[2][0], 3)
    for (place, batch), (other_place, other) in zip(whole[3:], again, strict=True):
        assert place == other_place
        assert [one.query.ids for one in batch.examples] == [one.query.ids for one in other.examples]
        assert [one.scores for one in batch.examples] == [one.scores for one in other.examples]
    assert len({tuple(one.query.ids) for _, batch in whole for one in batch.examples}) > 10


def test_the_first_document_of_an_example_is_the_relevant_one(lists: Path) -> None:
    sets = {"a": read_lists(lists / "lists" / "a")}
    known = {}
    for number in range(len(sets["a"])):
        one = sets["a"][number]
        ids = tuple(sets["a"].text(one.query).ids)
        known.setdefault(ids, []).append({c.score: c.relevant for c in one.candidates})
    for _, batch in draw(sets, Position(), 5, documents=4):
        for one in batch.examples:
            assert len(one.documents) == len(one.scores) == len(one.links) == 4
            (judged,) = [found for found in known[tuple(one.query.ids)] if set(one.scores) <= set(found)]
            assert [judged[score] for score in one.scores] == [True, False, False, False]


def test_lists_without_a_relevant_document_are_refused(lists: Path) -> None:
    write_lists(lists / "none", load(lists), queries=3, relevant=False)
    with pytest.raises(ConfigError, match="none: no list has both a relevant candidate and another"):
        draw({"none": read_lists(lists / "none")}, Position(), 1)


@pytest.mark.parametrize("documents", [2, 4])
@pytest.mark.parametrize("first_stage", [0.0, 2.0])
def test_the_losses_are_their_formulas(lists: Path, documents: int, first_stage: float) -> None:
    config = parsed(lists, documents=documents, first_stage=first_stage)
    ((_, batch),) = draw({"a": read_lists(lists / "lists" / "a")}, Position(), 1, documents=documents)
    model = randomised(Mart(load(lists), MartConfig([0, 1], dropout=0.0))).eval()
    found = ranking_losses(model, batch, config)  # type: ignore[arg-type]
    scorer = Scorer(model)  # type: ignore[arg-type]
    ranking, right, wrong = [], [], []
    for one in batch.examples:
        scores = torch.tensor(scorer.scores(scorer.rows(one.query, one.documents, one.links)))
        ranked = scores + first_stage * torch.log(torch.tensor(one.scores).clamp_min(1e-3))
        ranking.append(-(ranked[0] - torch.logsumexp(ranked, 0)))
        right.append(torch.log1p(torch.exp(-scores[0])))
        wrong += list(torch.log1p(torch.exp(scores[1:])))
    assert found["ranking"].item() == pytest.approx(float(torch.stack(ranking).mean()), rel=1e-4)
    relevance = 0.1 * (torch.stack(right).mean() + torch.stack(wrong).mean()) / 2
    assert found["relevance"].item() == pytest.approx(float(relevance), rel=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"documents": 1}, r"^documents: .* greater than or equal to 2, not 1"),
        ({"queries": 0}, r"^queries: .* greater than 0, not 0"),
        ({"lists": ""}, "lists and tuning must be folders"),
        ({"model": {"layers": 3}}, "model: unknown field layers"),
        ({"direction": "both"}, "direction"),
        ({"fit_queries": 0}, r"^fit_queries: .* greater than 0, not 0"),
        ({"rates": {"heads.": "fast"}}, r"^rates: heads\.: .* valid number, not 'fast'"),
    ],
)
def test_an_invalid_configuration_is_refused(lists: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parsed(lists, **changes)


def test_layers_that_the_encoder_lacks_are_refused(lists: Path) -> None:
    with pytest.raises(ConfigError, match="model: mat_layers"):
        train_mart(parsed(lists, model={"mat_layers": [5]}), lists / "mart")


def test_lists_of_another_vocabulary_or_of_no_language_are_refused(lists: Path) -> None:
    with pytest.raises(ConfigError, match="has no lists in these languages"):
        train_mart(parsed(lists, languages=["fr"]), lists / "mart")
    path = lists / "lists" / "a" / "lists.json"
    path.write_text(path.read_text().replace(load(lists).tokenizer_checksum, "0"))
    with pytest.raises(ConfigError, match="a: these lists were tokenized for an encoder with another vocabulary"):
        train_mart(parsed(lists), lists / "other")
