"""Scores of whole documents: alone or together, cut into passages, and what is said of what is left out."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.backbone.encoder import Encoder, VecoEncoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.lexicon.table import Table
from dragoman.lexicon.text import words
from dragoman.ranking import scoring
from dragoman.ranking.attention import TranslationReference, Words
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.scoring import QueryTooLong, Read, Scorer, batches, passages, read
from tests.backbone.samples import tiny

TABLE = Table.from_entries("en", "de", [("bee", "biene", 0.9, 0.7), ("honey", "honig", 0.8, 0.8)])
DOCUMENTS = ["Die Biene findet Honig. " * 9, "", "graue Asche", "ein Schiff " * 30, "Salz", "die Biene " * 12]


@pytest.fixture(scope="module")
def scorer(subwords: Subwords) -> Scorer:
    model = Mart(VecoEncoder(tiny(len(subwords)), subwords, "tiny", 1), MartConfig([0, 1], "official"))
    with torch.no_grad():
        for parameter in (model.score.weight, model.pool.weight):  # so that what differs shows
            parameter.normal_(generator=torch.Generator().manual_seed(1))
    return Scorer(model, tokens_at_once=70)


def texts(encoder: Encoder, language: str, *given: str) -> list[Read]:
    found = [words(text, language) for text in given]
    split = [Words([one.term for one in text], [(one.start, one.end) for one in text]) for text in found]
    return read(encoder, given, split)


def asked(scorer: Scorer, query: str = "the bee and honey") -> tuple[Read, TranslationReference]:
    (found,) = texts(scorer.encoder, "en", query)
    return found, TranslationReference(found.words, TABLE)


def test_a_score_is_the_same_alone_together_and_shuffled(scorer: Scorer) -> None:
    query, reference = asked(scorer)
    documents = texts(scorer.encoder, "de", *DOCUMENTS)
    together = [one.value for one in scorer.score(query, documents, reference)]
    alone = [scorer.score(query, [document], reference)[0].value for document in documents]
    assert together == pytest.approx(alone, abs=1e-4)
    turned = [one.value for one in scorer.score(query, documents[::-1], reference)]
    assert turned[::-1] == pytest.approx(together, abs=1e-4)
    assert len({round(value, 4) for value in together}) == len(DOCUMENTS)
    assert scorer.score(query, [], reference) == []


def test_the_table_counts(scorer: Scorer) -> None:
    query, reference = asked(scorer)
    documents = texts(scorer.encoder, "de", *DOCUMENTS)
    linked = scorer.score(query, documents, reference)
    unlinked = scorer.score(query, documents, TranslationReference(query.words, None))
    differ = [abs(one.value - other.value) > 1e-4 for one, other in zip(linked, unlinked, strict=True)]
    assert differ == ["Biene" in text for text in DOCUMENTS]


def test_passages_are_equal_parts_that_hold_every_subword_and_its_links(scorer: Scorer) -> None:
    query, reference = asked(scorer)
    documents = texts(scorer.encoder, "de", *DOCUMENTS)
    made = list(passages(scorer.encoder, query, documents, reference))
    assert {one.document for one in made} == set(range(len(DOCUMENTS)))
    for number, document in enumerate(documents):
        own = [one for one in made if one.document == number]
        parts = [one.pair.ids[one.pair.second : one.pair.second + len(one.row.passage)] for one in own]
        assert [token for part in parts for token in part] == document.ids
        assert [word for one in own for word in one.row.passage] == document.pieces.tolist()
        assert max(map(len, parts)) - min(map(len, parts)) <= len(parts)
        assert all(len(one.pair.ids) - one.pair.second <= scorer.encoder.max_length for one in own)
        assert all(bool(len(one.row.links.left)) == ("Biene" in DOCUMENTS[number]) for one in own)


def test_a_document_beyond_the_limit_says_so(scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    query, reference = asked(scorer)
    long, short = texts(scorer.encoder, "de", DOCUMENTS[0], "Salz")
    monkeypatch.setattr(scoring, "DOCUMENT_SUBWORDS", 20)
    found = scorer.score(query, [long, short], reference)
    assert [one.truncated for one in found] == [True, False]
    same = Read(long.ids[:20], long.pieces[:20], long.words)
    assert scorer.score(query, [same], reference)[0].value == pytest.approx(found[0].value, abs=1e-5)


def test_a_query_without_room_beside_it_is_refused(scorer: Scorer) -> None:
    query, reference = asked(scorer, "the bee finds honey " * 12)
    with pytest.raises(QueryTooLong, match="no room for a passage"):
        scorer.score(query, texts(scorer.encoder, "de", "Salz"), reference)


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 200))
def test_batches_keep_to_the_budget_and_forget_nobody(lengths: list[int], tokens: int) -> None:
    found = list(batches(lengths, tokens))
    assert sorted(number for batch in found for number in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(lengths[number] for number in batch) <= tokens
