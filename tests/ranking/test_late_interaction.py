"""Late interaction against a plain loop, and its addition to a model's score."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.lexicon.table.table import Table
from dragoman.ranking.about import LateInteractionAbout, MartAbout
from dragoman.ranking.attention import TranslationReference
from dragoman.ranking.checkpoints import save_mart
from dragoman.ranking.late_interaction import LateInteraction, load_late_interaction
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.passages import Passage, read
from dragoman.ranking.scoring import Scorer, load_scorer
from tests.ranking.samples import randomised, split, write_encoder

QUERIES = ["the bee and honey", "ash", ""]
BEYOND = " ".join(["Schiff Hafen"] * 900) + " Honig Biene"
"""The linked words lie beyond the part that is read."""
TABLE = Table.from_entries(
    "en", "de", [("bee", "biene", 0.9, 0.7), ("honey", "honig", 0.9, 0.8), ("ash", "graue", 0.03, 0.03)]
)
DOCUMENTS = [
    "die Biene findet Honig",
    "",
    "graue Asche",
    "die Biene findet Honig",
    " ".join(["Schiff Hafen"] * 40),
    BEYOND,
]
ABOUT = LateInteractionAbout("small", 1, 3.0)


def documents_of(scorer: Scorer) -> list[list[Passage]]:
    """Every query with every document."""
    found = []
    for query in QUERIES:
        texts = [query, *DOCUMENTS]
        asked, *rest = read(scorer.encoder, texts, [split(text, "de").spans for text in texts])
        reference = TranslationReference(split(query, "en"), TABLE)
        found += scorer.rows(asked, rest, [reference.links(split(text, "de")) for text in DOCUMENTS])
    return found


def plainly(encoder: Encoder, layer: int, document: list[Passage]) -> float:
    """The match as its equation has it."""
    row, ids = document[0].row, document[0].pair.ids
    query = states_of(encoder, layer, ids[row.first : row.first + len(row.query)])
    own = [
        state
        for one in document
        for state in states_of(encoder, layer, one.pair.ids[one.row.second :][: len(one.row.passage)])
    ]
    words_read = {int(word) for one in document for word in one.row.passage}
    linked = {
        int(left)
        for left, right, weight in zip(row.links.left, row.links.right, row.links.weights, strict=True)
        if weight >= 0.05 and int(right) in words_read
    }
    rare, met = 0.0, 0.0
    surprisals = encoder.surprisals()
    for word in sorted({int(word) for word in row.query if word >= 0}):
        pieces = [place for place in range(len(row.query)) if row.query[place] == word]
        best = [max([-1.0, *(float(F.cosine_similarity(query[one], state, dim=0)) for state in own)]) for one in pieces]
        weight = sum(1.0 if surprisals is None else float(surprisals[ids[row.first + one]]) for one in pieces)
        likeness = sum(best) / len(best)
        rare += weight
        met += weight * (max(0.8, likeness) if word in linked else likeness)
    return met / rare if rare else 0.0


def states_of(encoder: Encoder, layer: int, text: list[int]) -> torch.Tensor:
    states: torch.Tensor = encoder(*encoder.batch([text]))[layer][0]
    begin = next(place for place in range(2) if encoder.framed(text)[place:][: len(text)] == text)
    return states[begin : begin + len(text)]


@pytest.mark.parametrize("kind", ["veco", "bert", "mt5-encoder"])
@pytest.mark.parametrize("layer", [0, 1])
def test_a_match_is_its_equation(
    tmp_path: Path, subwords: Subwords, hub: dict[str, Path], kind: str, layer: int
) -> None:
    own = write_encoder(tmp_path, subwords) if kind == "veco" else load_encoder(str(hub[kind]))
    scorer, match = Scorer(Mart(own, MartConfig([], sides=False))), LateInteraction(own, replace(ABOUT, layer=layer))
    documents = documents_of(scorer)
    weights = {round(float(one), 2) for document in documents for one in document[0].row.links.weights}
    assert {0.03, 0.8, 0.85} <= weights
    with torch.inference_mode():
        expected = [plainly(own, layer, document) for document in documents]
        assert match.matches(documents, 40) == pytest.approx(expected, abs=1e-5)
        assert match.matches(documents[::-1], 4000)[::-1] == pytest.approx(expected, abs=1e-5)


def test_it_is_added_to_a_document_s_score(encoder: Encoder) -> None:
    model = randomised(Mart(encoder, MartConfig([0])))
    match = LateInteraction(encoder, ABOUT)
    alone, both = Scorer(model), Scorer(model, match=match)  # type: ignore[arg-type]
    documents = documents_of(alone)
    assert max(map(len, documents)) > 1
    with torch.inference_mode():
        matches = match.matches(documents, 100).tolist()
    added = [second - first for first, second in zip(alone.values(documents), both.values(documents), strict=True)]
    assert added == pytest.approx([3 * one for one in matches], abs=1e-4)
    assert both.values(documents[::-1])[::-1] == pytest.approx(both.values(documents), abs=1e-4)


def test_one_that_does_not_fit_the_model_is_refused(tmp_path: Path, subwords: Subwords, hub: dict[str, Path]) -> None:
    own = write_encoder(tmp_path / "one", subwords)
    about = MartAbout(late_interaction=LateInteractionAbout(str(tmp_path / "one"), 1, 1.0))
    assert load_late_interaction(MartAbout(), own) is None
    assert load_late_interaction(about, own) is not None
    with pytest.raises(CheckpointError, match="does not tokenize texts as"):
        load_late_interaction(about, load_encoder(str(hub["bert"])))
    assert about.late_interaction is not None
    for wrong in ({"layer": "1"}, {"layer": True}, {"encoder": 5}, {"weight": "25"}, {"weight": math.nan}):
        with pytest.raises(ValueError, match=f"late_interaction: {next(iter(wrong))}: "):
            replace(about.late_interaction, **wrong)
    nowhere = MartAbout(late_interaction=replace(about.late_interaction, encoder="bert-base-cased"))
    with pytest.raises(CheckpointError, match="neither a shipped encoder nor a folder"):
        load_late_interaction(nowhere, own)
    beyond = MartAbout(late_interaction=replace(about.late_interaction, layer=9))
    with pytest.raises(CheckpointError, match="layer 9 is not one of"):
        load_late_interaction(beyond, own)


def test_a_loaded_model_scores_with_it(tmp_path: Path, subwords: Subwords) -> None:
    own = write_encoder(tmp_path / "one", subwords)
    about = MartAbout("mine", late_interaction=replace(ABOUT, encoder=str(tmp_path / "one")))
    save_mart(tmp_path / "with", Mart(own, MartConfig([0])), about)
    save_mart(tmp_path / "without", Mart(own, MartConfig([0])), replace(about, late_interaction=None))
    (both, known), (alone, _) = load_scorer(str(tmp_path / "with")), load_scorer(str(tmp_path / "without"))
    assert known == about
    documents = documents_of(alone)
    assert both.values(documents) != pytest.approx(alone.values(documents), abs=0.1)
    config = json.loads((tmp_path / "with" / "config.json").read_text())
    config["late_interaction"]["weight"] = "25"
    (tmp_path / "with" / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=r"config\.json: late_interaction: weight: .25. is not a finite number"):
        load_scorer(str(tmp_path / "with"))
