"""The tables of statements in two languages, from trainings of a few steps of an encoder that nobody has trained."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.backbone.checkpoints import read_tensors, save_veco
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.veco import Veco, VecoConfig
from dragoman.reasoning.statements import StatementReader
from dragoman.reasoning.structured_encoder import StructuredEncoder
from dragoman_lab.backbone.text_files import text_files
from dragoman_lab.backbone.vocabulary import train_subwords
from dragoman_lab.benchmarks.reasoning import attention_patterns, statement_tables
from dragoman_lab.benchmarks.reasoning.statement_cells import load_reader, theory_test
from dragoman_lab.benchmarks.reasoning.statement_runs import METHODS
from dragoman_lab.benchmarks.reasoning.statement_summary import Cells, Methods, direction, summary
from dragoman_lab.reasoning.beginning import begin_with
from dragoman_lab.reasoning.pair_queries import PairQueries
from dragoman_lab.reasoning.spans import structured_encoder
from dragoman_lab.reasoning.statements import StatementTraining
from tests.lab.benchmarks.search.conftest import Run

LANGUAGES = ("fr", "de")
TINY = (
    "--layers", 2, "--rank", 2, "--head-steps", 2, "--cross-steps", 2, "--pair-steps", 2, "--warm-up-steps", 2,
    "--curriculum", 1, "--steps", 2, "--leap-steps", 2, "--theories", 24, "--tokens", 512, "--length", 512,
    "--sentence-tokens", 128, "--tuning-examples", 4, "--test-theories", 1, "--test-leaps", 2, "--threads", 1,
    "--languages", ",".join(LANGUAGES),
)  # fmt: skip


def write_data(folder: Path) -> Path:
    """Statements of theories as parallel text, LeapOfThought, word tables, and an encoder; returns the encoder."""
    english = [one.question for one in theory_test(12)(("en", "en"))]
    for language in LANGUAGES:
        other = [one.question for one in theory_test(12)((language, language))]
        path = folder / "parallel" / f"{language}-en" / "sample.tsv.gz"
        path.parent.mkdir(parents=True)
        lines = "".join(f"{x}\t{y}\n" for x, y in zip(other, english, strict=True))
        path.write_bytes(gzip.compress(lines.encode()))
        table = folder / "tables" / f"en-{language}.tsv"
        table.parent.mkdir(exist_ok=True)
        table.write_text("bee\tabeille\t1\nhas\ta\t1\n", encoding="utf-8")
    (folder / "leapofthought").mkdir()
    for name, count in (("dev", 8), ("train_part", 20)):
        rule = {"subject": "bee", "predicate": "hypernym", "object": "insect"}
        records = [
            {
                "id": f"{name} {number}",
                "lang": "en",
                "statement": f"A bee has a part{number}.",
                "answer": number % 3 > 0,
                "facts": ["A bee is a insect.", "A insect has a wing."],
                "implicit_rule": rule if number % 2 else None,
            }
            for number in range(count)
        ]
        text = "".join(json.dumps(one) + "\n" for one in records)
        (folder / "leapofthought" / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return _encoder(folder)


def _encoder(folder: Path) -> Path:
    subwords = train_subwords(text_files([folder / "parallel"]), 500, characters=50_000)
    torch.manual_seed(0)
    model = Veco(VecoConfig(len(subwords), width=16, layers=2, heads=2, feed_forward=32, max_length=512))
    save_veco(folder / "encoder", model, subwords, {"languages": ["en", *LANGUAGES]})
    return folder / "encoder"


def test_one_command_trains_and_measures_and_goes_on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = write_data(tmp_path)
    given = (statement_tables, "--encoder", encoder, "--tables", tmp_path / "tables", *TINY)
    first = run(*given, "--seeds", 1, "--methods", "original,pair", "--sets", "theories")
    assert list(first["runs"]["theories"]) == ["original", "pair"]
    kept = tmp_path / "out" / "theories" / "pair-1" / "model" / "model.safetensors"
    before = kept.stat().st_mtime_ns
    report = run(*given, "--seeds", 1, "--sets", "theories")
    assert kept.stat().st_mtime_ns == before, "what is complete is not trained again"
    assert report["runs"]["theories"]["pair"] == first["runs"]["theories"]["pair"]
    assert set(report["runs"]["theories"]) == set(METHODS)
    leap = run(*given, "--seeds", 1, "--methods", "cs-baseline,shared", "--sets", "leap")
    assert set(leap["runs"]) == {"leap, rule to be known", "leap, rule given"}
    for methods in (*report["runs"].values(), *leap["runs"].values()):
        for seeds in methods.values():
            assert set(seeds["1"]) == {"en", "fr", "de", "en-fr", "en-de", "fr-en", "de-en"}
    depths = {f"accuracy_depth_{depth}" for depth in range(4)}
    assert depths < set(report["runs"]["theories"]["shared"]["1"]["en-de"])
    assert set(report["direction"]["theories"]) == {"en-X", "X-en"}
    assert not list((tmp_path / "out").rglob("checkpoints"))
    _pairs_are_changed(tmp_path / "out")
    _cross_follows(tmp_path / "out")
    _attention_is_drawn(monkeypatch, tmp_path / "out")
    with pytest.raises(SystemExit, match="rank"):
        run(*given, "--seeds", 1, "--rank", 3)


def _cross_follows(output: Path) -> None:
    """Where Q_cross follows, it differs from Q after the warm-up by what it differed by before, and else not."""
    known = json.loads((output / "theories" / "shared-1" / "config.json").read_text())
    for follow in (True, False):
        config = StatementTraining.parse(known | {"follow": follow})
        model = StatementReader(structured_encoder(config))
        block = model.encoder.attention[1]
        width = block.cross.out_features
        states = torch.randn(1, 3, width, generator=torch.Generator().manual_seed(1))

        def difference(block: Any = block, states: torch.Tensor = states, width: int = width) -> torch.Tensor:
            found: torch.Tensor = block.cross(states) - block.in_projection(states)[..., :width]
            return found

        before = difference()
        begin_with(model, Path(config.start), follow=follow)
        assert torch.allclose(difference(), before, atol=1e-5) == follow


def _pairs_are_changed(output: Path) -> None:
    """The Q_cross of another pair is the one of training, less what the trained pair adds, plus what the other does."""
    model, structured = load_reader(output / "theories" / "pair-1" / "model")
    assert structured
    folders = {language: output / "cross" / language / "model" for language in LANGUAGES}
    own = {name: value.clone() for name, value in model.encoder.cross_parameters().items()}
    pairs = PairQueries(model.encoder, folders["fr"])
    pairs.take(folders["de"])
    fr, de = (read_tensors(folders[language]) for language in LANGUAGES)
    found = model.encoder.cross_parameters()
    assert torch.allclose(found["1.weight"], own["1.weight"] - fr["1.weight"].float() + de["1.weight"].float())
    assert not torch.equal(found["1.weight"], own["1.weight"])
    assert torch.equal(found["1.bias"], own["1.bias"])
    pairs.take(folders["fr"])
    assert torch.allclose(found["1.weight"], own["1.weight"], atol=1e-6)


def test_summary_is_over_seeds_and_languages() -> None:
    def cells(gain: float) -> Cells:
        values = {"en": 90.0, "fr": 80.0, "de": 70.0, "en-fr": 60 + gain, "en-de": 50, "fr-en": 50, "de-en": 50 - gain}
        return {name: {"accuracy": number} for name, number in values.items()}

    methods: Methods = {
        "original": {"1": cells(0), "2": cells(0)},
        "shared": {"1": cells(2), "2": cells(4)},
        "pair": {"1": cells(5), "2": cells(5)},
    }
    found = summary(methods, LANGUAGES)["shared"]
    assert found["X"]["accuracy"] == {"mean": 75, "deviation": 0}
    assert found["en-X"]["accuracy"] == {"mean": 56.5, "deviation": pytest.approx(0.5**0.5)}
    assert found["en-fr"]["accuracy"]["mean"] == 63
    compared = direction(methods, LANGUAGES)
    assert compared["en-X"]["accuracy"]["holds"]
    assert compared["en-X"]["accuracy"]["pair over shared"] == {"mean": 1, "seeds": {"1": 1.5, "2": 0.5}}
    assert not compared["X-en"]["accuracy"]["holds"]


def _attention_is_drawn(monkeypatch: pytest.MonkeyPatch, output: Path) -> None:
    folder = output.parent / "attention"
    given = ("--runs", output, "--output", folder, "--methods", "original,pair", "--theories", 2)
    monkeypatch.setattr(sys, "argv", ["benchmark", *map(str, given), "--language", "de", "--trained", "fr"])
    attention_patterns.main()
    report = json.loads((folder / "report.json").read_text())
    for setting in ("en-X", "X-en"):
        for found in report[setting].values():
            assert found["statements"] == 8
            assert all(-1 <= one <= 1 for one in found["correlation"]["by_layer"])
            assert len(found["divergence"]["by_layer"]) == 2
            assert 0 < found["deciding_in_transfer"]["mean"] < 1
        for name in ("maps", "patterns", "likeness"):
            assert (folder / f"{name}-{setting}.png").stat().st_size > 1000


def test_patterns_are_shares_of_sentences_and_add_up_to_one(tmp_path: Path) -> None:
    encoder = load_encoder(str(write_data(tmp_path)))
    model = StatementReader(StructuredEncoder(encoder)).eval()
    alone, switched, ends = attention_patterns.examples(1, ("en", "fr"))[0]
    assert alone.context == switched.context
    assert alone.question != switched.question
    first, second, _ = attention_patterns.both(model, True, alone, switched, ends)
    for seen in (first, second):
        assert seen.maps.shape == (2, len(ends) + 2, len(ends) + 2)
        assert seen.maps.sum(-1) == pytest.approx(1)
        assert seen.pattern.sum(-1) == pytest.approx(1)
    same = attention_patterns.likeness(first, first, 0)
    assert same.correlation == pytest.approx(1)
    assert same.divergence == pytest.approx(0)
    other = attention_patterns.likeness(first, second, 0)
    assert (other.correlation < 1).all()
    assert (other.divergence > 0).all()
