"""Answers of texts of any length, with their places in the text."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
import regex
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.reasoning.deltas import save_deltas
from dragoman.reasoning.inference import SpanScorer
from dragoman.reasoning.question_answering import (
    Answer,
    Calibration,
    PaddedScorer,
    Request,
    answer_requests,
    whole_graphemes,
)
from dragoman.reasoning.spans import MODEL_TYPE, SpanReader
from dragoman.reasoning.structured_encoder import StructuredEncoder, row_of
from dragoman_lab.reasoning.spans import SpanTraining, make_trainable
from tests.ranking.samples import write_encoder
from tests.reasoning.samples import randomised, reader

LONG = "  The old bridge crosses the river.\nA ship carries salt, honey and grey ash to the harbour; " * 4
REQUESTS = [
    Request("what carries the ship", LONG, False),
    Request("was trägt das schiff", LONG, True),
    Request("where", "Über den Fluß 🌋 führt eine Brücke.", True),
    Request("where", "the bridge", False),
    Request("who", "", False),
    Request("who", " \n\t ", True),
]


def trained(encoder: Encoder, folder: Path, structured: bool = True) -> SpanReader:
    """A reader with random deltas, saved to `folder`."""
    config = SpanTraining(examples="-", tuning="-", rank=4, first_layer=1, structured=structured, length=16)
    model = SpanReader(make_trainable(StructuredEncoder(encoder), config))
    randomised(model)
    about = {"model_type": MODEL_TYPE, "structured": structured, "width": encoder.width}
    save_deltas(folder, model.encoder, model.head, about)
    return model.eval()


def test_answers_lie_where_they_say_and_do_not_overlap(encoder: Encoder) -> None:
    found = answer_requests(PaddedScorer(reader(encoder), structured=True), REQUESTS, count=4)
    for request, answers in zip(REQUESTS, found, strict=True):
        assert [request.context[one.start : one.end] for one in answers] == [one.text for one in answers]
        assert all(one.text and one.text == one.text.strip() for one in answers)
        assert [one.score for one in answers] == sorted((one.score for one in answers), reverse=True)
        places = sorted((one.start, one.end) for one in answers)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    assert all(found[:4]) and found[4:] == [[], []]


def test_batches_answer_as_single_requests(encoder: Encoder) -> None:
    scorer = PaddedScorer(reader(encoder), structured=True)
    together = answer_requests(scorer, REQUESTS, tokens=60)
    for request, answers in zip(REQUESTS, together, strict=True):
        alone = answer_requests(scorer, [request])[0]
        assert [(one.start, one.end) for one in alone] == [(one.start, one.end) for one in answers]
        assert [one.score for one in alone] == pytest.approx([one.score for one in answers], abs=1e-3)


def test_a_question_that_leaves_no_room_is_an_error(encoder: Encoder) -> None:
    with pytest.raises(ValueError, match="at most"):
        answer_requests(PaddedScorer(reader(encoder), structured=True), [Request("ship " * 50, "the bridge", False)])


@pytest.mark.parametrize("name", ["veco", "bert", "xlm-roberta"])
@pytest.mark.parametrize("structured", [True, False])
def test_the_packed_path_from_disk_scores_as_the_trained_model(
    name: str, structured: bool, hub: dict[str, Path], subwords: Subwords, tmp_path: Path
) -> None:
    path = tmp_path / "encoder" if name == "veco" else hub[name]
    encoder = write_encoder(path, subwords, layers=3) if name == "veco" else load_encoder(str(path))
    model = trained(encoder, tmp_path / "model", structured)
    padded, packed = PaddedScorer(model, structured), SpanScorer(tmp_path / "model", dtype=torch.float32)
    texts = encoder.subwords(["the old bridge crosses the river", "wo ist es", "ash"])
    rows = [row_of(encoder, texts[one].ids[:16], texts[1].ids) for one in (0, 0, 2, 2)]
    bilingual = [True, False, True, False]
    for ours, theirs in zip(packed.scores(rows, bilingual), padded.scores(rows, bilingual), strict=True):
        finite = theirs.isfinite()
        assert torch.equal(ours.isfinite(), finite)
        # updates of low rank are stored in bfloat16
        torch.testing.assert_close(ours[finite], theirs[finite], atol=0.05, rtol=0.02)
    if structured:
        assert not torch.allclose(padded.scores(rows, bilingual)[0][1:4], padded.scores(rows, bilingual)[1][1:4])


def test_deltas_of_another_encoder_are_refused(subwords: Subwords, hub: dict[str, Path], tmp_path: Path) -> None:
    encoder = write_encoder(tmp_path / "encoder", subwords, layers=3)
    trained(encoder, tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    text = config.read_text()
    config.write_text(text.replace(str(tmp_path / "encoder"), str(hub["bert"])))
    with pytest.raises(CheckpointError, match="trained with another"):
        SpanScorer(tmp_path / "model")
    config.write_text(text.replace(MODEL_TYPE, "mart"))
    with pytest.raises(CheckpointError, match="model_type"):
        SpanScorer(tmp_path / "model")


def test_probabilities_sum_to_one_with_those_of_another_part_and_of_no_answer() -> None:
    answers = [Answer("a", 0, 1, 2.0), Answer("b", 2, 3, 1.0)]
    each, none = Calibration(slope=0.5, offset=-0.2, temperature=2.0).probabilities(answers, 9)
    assert sum(each) + none == pytest.approx(1)
    assert none == pytest.approx(1 / (1 + math.exp(0.8)))
    assert each[0] / each[1] == pytest.approx(math.exp(0.5))
    less, same = Calibration(slope=0.5, offset=-0.2, temperature=2.0, other=1.0).probabilities(answers, 9)
    assert same == none and sum(less) + none < 1 and less[0] / less[1] == pytest.approx(each[0] / each[1])
    assert 1 - sum(less) - none == pytest.approx(less[1])  # another part scores as high as the second answer
    sure, _ = Calibration(temperature=2.0, other=1.0).probabilities([Answer("a", 0, 1, 40.0)], 9)
    assert sure == pytest.approx([1.0])
    assert Calibration().probabilities([], 9) == ([], 1.0)
    assert Calibration().probabilities([Answer("a", 0, 1, -1e6)], 9)[1] == pytest.approx(1)


def test_in_more_text_the_same_score_is_less_probable() -> None:
    calibration = Calibration(per_length=0.7, length=100)
    nones = [calibration.probabilities([Answer("a", 0, 1, 0.0)], subwords)[1] for subwords in (10, 100, 500, 50_000)]
    assert nones == sorted(nones) and nones[0] == nones[1] == 0.5
    assert nones[2] == pytest.approx(1 / (1 + math.exp(-0.7 * math.log(5))))


def test_an_answer_scores_less_for_each_text_before_its_own() -> None:
    texts = [[Answer("a", 0, 1, 2.0), Answer("b", 2, 3, -1.0)], [], [Answer("c", 0, 1, 3.0), Answer("d", 2, 3, 2.9)]]
    found = Calibration(per_rank=0.75).rank(texts, 3)
    assert [(place, one.text, one.score) for place, one in found] == [
        (0, "a", 2.0),
        (2, "c", 1.5),
        (2, "d", pytest.approx(1.4)),
    ]
    assert [one.text for _, one in Calibration().rank(texts, 2)] == ["c", "d"]


@pytest.mark.parametrize(
    ("text", "span", "wanted"),
    [
        ("in Saint-Die\u0301 now", "Saint-Die", "Saint-Die\u0301"),
        ("किताबें", "किताब", "किताबें"),
        ("a \N{FAMILY}\u200d\N{WOMAN} b", "\N{WOMAN}", "\N{FAMILY}\u200d\N{WOMAN}"),
        ("plain text", "plain", "plain"),
    ],
)
def test_ends_are_moved_to_borders_of_graphemes(text: str, span: str, wanted: str) -> None:
    start, end = whole_graphemes(text, text.index(span), text.index(span) + len(span))
    assert text[start:end] == wanted


@given(
    st.text(st.sampled_from("ae\u0301\u0308क\u093f\u200d👩👧 "), max_size=40), st.integers(0, 40), st.integers(0, 40)
)
def test_whole_graphemes_are_the_least_that_hold_the_span(text: str, first: int, second: int) -> None:
    start, end = sorted((min(first, len(text)), min(second, len(text))))
    borders = [0, *(cluster.end() for cluster in regex.finditer(r"\X", text))]
    wanted = (max(one for one in borders if one <= start), min(one for one in borders if one >= end))
    if start < end:
        assert whole_graphemes(text, start, end) == wanted
