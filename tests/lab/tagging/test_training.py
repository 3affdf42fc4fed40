"""Training of taggers, what it writes, and the tagger that it makes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.backbone.checkpoints import CheckpointError, read_tensors
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.tagging.encoders import KINDS, EncoderConfig
from dragoman.tagging.labels import spans
from dragoman.tagging.tagger import CHANGED, Tagger, TaggerModel, load_tagger
from dragoman.tagging.words import word_states
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.tagging.fine_tuning import FineTunedTagger, SubwordSentences
from dragoman_lab.tagging.sentences import Sentence, read_sentences
from dragoman_lab.tagging.training import TaggerTraining, learning_sentences, train_tagger
from tests.ranking.samples import write_encoder

NAMES = ("Anna", "Kofi", "Mira", "Otto")
PLACES = ("Köln", "Accra", "Lima", "Oslo")


@pytest.fixture
def data(tmp_path: Path, subwords: Subwords) -> Path:
    """Sentences about people and places, and an encoder that nobody trained."""
    noise = np.random.default_rng(1)
    rows = []
    for _ in range(60):
        person, place = noise.choice(NAMES), noise.choice(PLACES)
        words = [("the", "O"), ("ship", "O"), ("of", "O"), (person, "B-PER"), ("in", "O"), (place, "B-LOC")]
        rows.append("\n".join(f"{word}\t{label}" for word, label in words))
    (tmp_path / "learn.bio").write_text("\n\n".join(rows[:48]), encoding="utf-8")
    (tmp_path / "tune.bio").write_text("\n\n".join(rows[48:]), encoding="utf-8")
    write_encoder(tmp_path / "encoder", subwords)
    return tmp_path


def config(data: Path, **changes: Any) -> TaggerTraining:
    table = {
        "labelled": [str(data / "learn.bio")], "tuning": [str(data / "tune.bio")], "encoder": str(data / "encoder"),
        "layer": 1, "steps": 60, "warm_up": 2, "checkpoint_every": 20, "learning_rate": 5e-3, "heads": 2, "width": 32,
        "states": str(data / "states"), "name": "people", "languages": ["en"],
    }  # fmt: skip
    return TaggerTraining.parse(table | changes)


def loaded(data: Path, folder: Path) -> Tagger:
    return load_tagger(folder, SentenceEncoder(load_encoder(str(data / "encoder")), 1))


def test_it_learns_to_find_names(data: Path) -> None:
    folder = train_tagger(config(data), data / "out")
    tagger = loaded(data, folder)
    assert tagger.name == "people" and tagger.languages == {"en"} and tagger.labels == ["B-LOC", "B-PER", "O"]
    text = "the ship of Anna in Oslo"
    (found,), none = tagger.tag([text])[:1], tagger.tag([""])
    assert [(one.text, one.label) for one in found] == [("Anna", "PER"), ("Oslo", "LOC")]
    assert all(text[one.start : one.end] == one.text and 0 < one.score <= 1 for one in found)
    assert none == [[]]
    among = tagger.tag(["Lima", text, "the ship"])[1]  # what else is tagged changes nothing but rounding
    assert [asdict(one) | {"score": 0} for one in among] == [asdict(one) | {"score": 0} for one in found]
    assert [one.score for one in among] == pytest.approx([one.score for one in found], rel=0.02)
    report = json.loads((data / "out" / "report.json").read_text())
    assert report["tuning_score"] == 1.0


def test_an_apostrophe_after_a_name_is_no_part_of_it(data: Path) -> None:
    tagger = loaded(data, train_tagger(config(data, steps=20), data / "out"))
    text, offsets = "Anna Lima' ship", [(0, 4), (5, 9), (9, 10), (11, 15)]
    (found,) = tagger._tags(text, offsets, [1, 1, 1, 2], [0.9, 0.8, 0.1, 0.9])[:1]
    assert found.label == "PER" and "'" not in found.text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("crf", [True, False])
def test_every_encoder_is_trained_written_and_read_again(data: Path, kind: str, crf: bool) -> None:
    width = load_encoder(str(data / "encoder")).width if kind == "copied" else 32
    folder = train_tagger(config(data, kind=kind, crf=crf, steps=20, width=width), data / "out")
    tagger = loaded(data, folder)
    assert tagger.model.encoder.config.kind == kind and (tagger.model.crf is not None) == crf
    assert all(0 <= tag.score <= 1 for tag in tagger.tag(["Anna in Oslo"])[0])


def test_an_interrupted_training_goes_on_exactly(data: Path) -> None:
    whole = config(data, steps=40)
    train_tagger(whole, data / "whole")
    train_tagger(config(data, steps=20), data / "parts")
    train_tagger(whole, data / "parts", resume=True)

    def losses(folder: str) -> list[Any]:
        lines = (data / folder / "curves.jsonl").read_text().splitlines()
        return [(step["step"], step["losses"]) for step in map(json.loads, lines)]

    assert losses("whole") != [] and [step for step, _ in losses("parts")] == [step for step, _ in losses("whole")]
    with pytest.raises(ConfigError, match="holds a training already"):
        train_tagger(whole, data / "whole")
    with pytest.raises(ConfigError, match="another kind"):
        train_tagger(config(data, kind="lstm"), data / "whole", resume=True)


def test_more_sentences_and_other_orders(data: Path) -> None:
    assert len(learning_sentences(config(data))) == 48
    more = [str(data / "tune.bio")]
    found = learning_sentences(config(data, more=more, more_share=0.25))
    assert len(found) == 51 and set(found[48:]) <= set(read_sentences(data / "tune.bio"))
    copies = learning_sentences(config(data, shuffled=3))
    assert len(copies) == 144 and len({one.words for one in copies}) > 100
    some = learning_sentences(config(data, shuffled=3, most_copies=10))
    assert len(some) == 10
    assert {tuple(sorted(one.words)) for one in some} <= {tuple(sorted(one.words)) for one in copies}


def test_a_training_begins_with_the_weights_of_another(data: Path) -> None:
    first = train_tagger(config(data), data / "first")
    unlike = {"learning_rate": 1e-7, "steps": 1, "report_every": 1, "checkpoint_every": 1}
    second = train_tagger(config(data, start_from=str(first), **unlike), data / "second")
    assert json.loads((data / "second" / "report.json").read_text())["tuning_score"] == 1.0
    before, after = read_tensors(first), read_tensors(second)
    assert all(torch.allclose(own.float(), after[name].float(), atol=1e-2) for name, own in before.items())
    with pytest.raises(ConfigError, match="made otherwise"):
        train_tagger(config(data, start_from=str(first), kind="lstm"), data / "third")
    (data / "org.bio").write_text("Anna\tB-ORG\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="has no label B-ORG"):
        train_tagger(config(data, start_from=str(first), labelled=[str(data / "org.bio")]), data / "fourth")


@pytest.mark.parametrize(("changes", "said"), [
    ({"labelled": []}, "labelled and tuning"),
    ({"more_share": 0.5}, "more_share"),
    ({"kind": "deep"}, "kind must be one of"),
    ({"names": {"x": 3}}, "names: x"),
    ({"sentences": 0}, r"^sentences: .* greater than 0, not 0"),
    ({"shuffled": -1}, r"^shuffled: .* greater than or equal to 0, not -1"),
    ({"start_from": "x", "fine_tune": "all"}, "start_from"),
])  # fmt: skip
def test_configurations_that_cannot_be_are_refused(data: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config(data, **changes)


def test_a_layer_that_the_encoder_lacks_is_refused(data: Path) -> None:
    with pytest.raises(ConfigError, match=r"layer: .* has 2 layers"):
        train_tagger(config(data, layer=3), data / "out")


@pytest.mark.parametrize(("changes", "said"), [
    ({"encoder_checksum": "other"}, "encoder_checksum is 'other'"),
    ({"model_type": "mart"}, "model_type is 'mart'"),
    ({"labels": 3}, "not usable"),
    ({"layer": 40}, "not usable"),
    ({"labels": ["O"]}, "weights don't fit"),
])  # fmt: skip
def test_what_is_no_tagger_of_this_encoder_is_refused(data: Path, changes: dict[str, Any], said: str) -> None:
    folder = train_tagger(config(data, steps=20), data / "out")
    about = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(about | changes))
    with pytest.raises(CheckpointError, match=said):
        loaded(data, folder)


@pytest.mark.parametrize("fine_tune", ["all", "all_but_positions"])
def test_the_encoder_learns_with_the_tagger_and_is_read_again(data: Path, fine_tune: str) -> None:
    folder = train_tagger(config(data, fine_tune=fine_tune, rates={"pretrained": 0.1}), data / "out")
    encoder = load_encoder(str(data / "encoder"))
    before = {name: own.clone() for name, own in encoder.named_parameters()}
    tagger = load_tagger(folder, SentenceEncoder(encoder, 1))
    assert all(torch.equal(before[name], own) for name, own in encoder.named_parameters())  # that of others stays
    found = dict(tagger.encoder.encoder.named_parameters())
    different = {name for name, own in found.items() if not torch.allclose(before[name], own, atol=1e-6)}
    assert any("layers.0" in name for name in different)
    assert not any("layers.1" in name or "tokens" in name for name in different)  # above the layer, and the vocabulary
    assert any("positions" in name for name in different) == (fine_tune == "all")
    written = {name: own for name, own in read_tensors(folder).items() if name.startswith(CHANGED)}
    assert written and all(own.dtype == torch.float32 for own in written.values())
    assert all(torch.equal(own, found[name.removeprefix(CHANGED)]) for name, own in written.items())
    text = "the ship of Anna in Oslo"
    assert [(one.text, one.label) for one in tagger.tag([text])[0]] == [("Anna", "PER"), ("Oslo", "LOC")]
    report = json.loads((data / "out" / "report.json").read_text())
    held = read_sentences(data / "tune.bio")
    tags = tagger.tag([one.text for one in held])
    names = [[(one.words[span.start], span.label) for span in spans(one.labels)] for one in held]
    right = [[(tag.text, tag.label) for tag in own] for own in tags]
    assert (right == names) == (report["tuning_score"] == 1.0)  # what training measured is what the tagger does


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["e5-small"])
def test_states_of_training_are_those_of_tagging(encoder: str) -> None:
    pretrained = load_encoder(encoder)
    spaced = Sentence(("Anna", "wohnt", "in", "Köln", "."), ("O",) * 5, (True,) * 5)
    known = [spaced, Sentence(("東", "京"), ("O",) * 2, (False,) * 2)]
    model = TaggerModel(pretrained.width, 1, EncoderConfig("oit", 1, 4, 32, 3, 0.0), crf=False)
    tuned = FineTunedTagger(pretrained, model, 2, positions=False)
    found = SubwordSentences(pretrained, known)
    with torch.no_grad():
        states, mask = tuned._words(found.rows, found.words)
    reference = SentenceEncoder(pretrained, 2, torch.float32)
    _, wanted = word_states(reference, 2, [one.text for one in known], [one.offsets for one in known])
    for own, row, ours in zip(wanted, mask, states, strict=True):
        assert np.abs(own - ours[row].numpy()).max() < 1e-3


def test_positions_that_are_not_there_cannot_stay(data: Path) -> None:
    with pytest.raises(ConfigError, match="fine_tune"):
        config(data, fine_tune="positions")
