"""The reranker without trained weights against its equations, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import TOKENS_AT_ONCE, SentenceEncoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.lexicon.table.table import Table
from dragoman.ranking.about import LATE, LateAbout
from dragoman.ranking.attention import NO_LINKS, Links, TranslationReference
from dragoman.ranking.late import LateScorer
from dragoman.ranking.passages import Passage, TokenizedText, tokenize_texts
from dragoman.ranking.scoring import load_scorer
from tests.ranking.samples import split, write_encoder

GLOSSARY = 7
QUERIES = ["the bee and honey", "ash", ""]
DOCUMENTS = [
    "die Biene findet Honig",
    "",
    "graue Asche",
    "die Biene findet Honig",
    "Ein Schiff, eine Biene",
    " ".join(["Schiff Hafen"] * 400) + " Biene",
]
"""The last one has its linked word beyond the part that is read."""
ABOUT = LateAbout("tiny", 1, 0.5)


def texts(encoder: Encoder, *given: str) -> list[TokenizedText]:
    return tokenize_texts(encoder, given, [split(text, "de").spans for text in given])


def links_of(query: str, documents: list[str], glossary: bool = False) -> list[Links]:
    origins = [GLOSSARY if glossary else 0, 0]
    words = (["bee", "honey"], ["biene", "honig"])
    table = Table.from_arrays("en", "de", *words, [0, 1], [0, 1], [0.9, 0.9], [0.7, 0.8], origins)
    reference = TranslationReference(split(query, "en"), table, glossaries=frozenset({GLOSSARY}))
    return [reference.links(split(text, "de")) for text in documents]


def rows(scorer: LateScorer, query: str, documents: list[str], glossary: bool = False) -> list[list[Passage]]:
    asked, *rest = texts(scorer.encoder, query, *documents)
    return scorer.rows(asked, rest, links_of(query, documents, glossary))


def plainly(scorer: LateScorer, sentences: SentenceEncoder, query: str, document: str, links: Links) -> float:
    """The score as its equations have it, of a document that is one passage."""
    asked, own = (
        sentences.encode_tokens([text], kind, ABOUT.layer) for text, kind in ((query, "query"), (document, "passage"))
    )
    cosine = float(asked[0][0] @ own[0][0])
    (tokens,), (states,) = asked[1], own[1]
    surprisals, total, met = sentences.surprisals(), 0.0, 0.0
    words = texts(scorer.encoder, query)[0].pieces
    for place, number in enumerate(tokens.ids):
        rarity = 1.0 if surprisals is None else min(16.0, float(surprisals[number]))
        best = max((float(tokens.states[place] @ state) for state in states.states), default=0.0)
        linked = [one for one, left in enumerate(links.left) if left == words[place]]
        written = any(links.glossary is not None and links.glossary[one] for one in linked)
        total += rarity
        met += rarity * min(1.0, best + (1.0 if written else 0.1 if linked else 0.0))
    return (met / total if total else 0.0) + ABOUT.cosine * cosine


@pytest.fixture(params=["tiny", "e5-small", "bert"])
def scorer(request: pytest.FixtureRequest, tmp_path: Path, subwords: Subwords, hub: dict[str, Path]) -> LateScorer:
    kinds = {
        "tiny": lambda: write_encoder(tmp_path, subwords, layers=3),
        "bert": lambda: load_encoder(str(hub["bert"])),
    }
    encoder = kinds[request.param]() if request.param in kinds else load_encoder(request.param)
    return LateScorer(SentenceEncoder(encoder, encoder.layers, torch.float32), ABOUT)


@pytest.mark.parametrize("glossary", [False, True])
def test_a_score_is_its_equation(scorer: LateScorer, glossary: bool) -> None:
    short = DOCUMENTS[:5]
    for query in QUERIES:
        found = scorer.scores(rows(scorer, query, short, glossary))
        links = links_of(query, short, glossary)
        expected = [plainly(scorer, scorer.sentences, query, text, own) for text, own in zip(short, links, strict=True)]
        assert found == pytest.approx(expected, abs=1e-4)
        assert found[0] == found[3]


def test_a_score_does_not_depend_on_other_documents_or_queries(scorer: LateScorer) -> None:
    documents = [one for query in QUERIES for one in rows(scorer, query, DOCUMENTS)]
    together = scorer.scores(documents)
    assert len({round(value, 3) for value in together}) > len(DOCUMENTS)
    assert [scorer.scores([one])[0] for one in documents] == pytest.approx(together, abs=1e-4)
    assert scorer.scores(documents[::-1])[::-1] == pytest.approx(together, abs=1e-4)
    assert scorer.scores([]) == []


def test_a_long_document_is_met_by_all_its_passages_up_to_its_limit(scorer: LateScorer) -> None:
    (long,), (whole,) = rows(scorer, "bee", DOCUMENTS[-1:]), rows(scorer, "bee", ["Biene " + DOCUMENTS[-1]])
    assert len(long) > 1
    asked, text = texts(scorer.encoder, "bee", DOCUMENTS[-1])
    (unlinked,) = scorer.rows(asked, [text], [NO_LINKS])
    cosines, found = scorer.parts([long, whole, unlinked, *([one] for one in long)])
    assert cosines[0] == pytest.approx(cosines[3:].max(), abs=1e-5)
    assert found[0] >= found[3:].max() - 1e-5  # each subword of the query is met by the best subword of all
    assert found[1] > found[0] == found[2]


def test_links_raise_a_document_and_those_of_a_glossary_most(scorer: LateScorer) -> None:
    documents = ["die Biene findet ein Schiff", "ein Schiff findet die Asche"]
    asked, *rest = texts(scorer.encoder, "bee", *documents)
    plain = scorer.scores(scorer.rows(asked, rest, [NO_LINKS] * 2))
    table, glossary = (scorer.scores(rows(scorer, "bee", documents, written)) for written in (False, True))
    assert plain[0] < table[0] < glossary[0]
    assert plain[1] == table[1] == glossary[1]


def test_memory_that_runs_out_leads_to_smaller_batches(scorer: LateScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = rows(scorer, "bee", DOCUMENTS)
    expected = scorer.scores(documents)
    plain, tried = scorer.sentences.encode_ids, []

    def encode(texts: object, kind: str, layer: int, tokens: int) -> object:
        tried.append((kind, tokens))
        if tokens > 600 and kind == "passage":
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return plain(texts, kind, layer, tokens)  # type: ignore[arg-type]

    monkeypatch.setattr(scorer.sentences, "encode_ids", encode)
    assert scorer.scores(documents) == pytest.approx(expected, abs=1e-4)
    assert tried == [("query", TOKENS_AT_ONCE), ("passage", TOKENS_AT_ONCE), ("passage", TOKENS_AT_ONCE // 2)]


def test_states_that_are_no_numbers_fail_their_document_alone(
    scorer: LateScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = rows(scorer, "bee", DOCUMENTS[:3])
    expected, plain = scorer.scores(documents), scorer.sentences.encode_ids

    def encode(texts: list[tuple[int, ...]], kind: str, layer: int, tokens: int) -> object:
        vectors, states = plain(texts, kind, layer, tokens)
        if kind == "passage":
            states[0][:] = np.nan
        return vectors, states

    monkeypatch.setattr(scorer.sentences, "encode_ids", encode)
    found = scorer.scores(documents)
    assert np.isnan(found[0])
    assert found[1:] == expected[1:]


def test_one_that_does_not_fit_is_refused(tmp_path: Path, subwords: Subwords) -> None:
    write_encoder(tmp_path / "encoder", subwords, layers=3)
    config = {
        "model_type": LATE,
        "name": "mine",
        "late": {"encoder": str(tmp_path / "encoder"), "layer": 1, "cosine": 1},
    }
    folder = tmp_path / "late"
    folder.mkdir()

    def load(**changes: object) -> tuple[object, object]:
        late = {name: changes.pop(name, value) for name, value in config["late"].items()}  # type: ignore[attr-defined]
        (folder / "config.json").write_text(json.dumps(config | {"late": late} | changes))
        return load_scorer(str(folder))

    scorer, about = load()
    assert isinstance(scorer, LateScorer) and about.name == "mine"  # type: ignore[attr-defined]
    for changes, message in (
        ({"layer": 3}, "late: layer 3 is not one of 0 to 2"),
        ({"layer": True}, "late: layer: True is not an integer"),
        ({"encoder": 5}, "late: encoder: 5 is not a string"),
        ({"cosine": "much"}, "late: cosine: 'much' is not a finite number"),
        ({"late": None}, "has no field 'late'"),
        ({"late": {"depth": 3}}, "depth"),
        ({"model_type": "other"}, "model_type is 'other', not 'mart' or 'late'"),
    ):
        with pytest.raises(CheckpointError, match=message):
            load(**changes)
