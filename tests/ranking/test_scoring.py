"""Scores of whole documents: alone or in batches, cut into passages, with truncation reported."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.backbone.encoder import Encoder, VecoEncoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import words
from dragoman.ranking import scoring
from dragoman.ranking.attention import Links, TranslationReference, Words
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.passages import (
    Passage,
    QueryTooLong,
    TokenizedText,
    is_truncated,
    passages,
    shorten_query,
    tokenize_texts,
)
from dragoman.ranking.scoring import Scorer, batches
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


def split(text: str, language: str) -> Words:
    found = words(text, language)
    return Words([one.term for one in found], [(one.start, one.end) for one in found])


def texts(encoder: Encoder, language: str, *given: str) -> list[TokenizedText]:
    return tokenize_texts(encoder, given, [split(text, language).spans for text in given])


def asked(scorer: Scorer, query: str = "the bee and honey") -> TokenizedText:
    return texts(scorer.encoder, "en", query)[0]


def score(
    scorer: Scorer, query: TokenizedText, documents: Sequence[TokenizedText], links: Sequence[Links]
) -> list[float]:
    return scorer.scores(scorer.rows(query, documents, links))


def linked(*documents: str, query: str = "the bee and honey", table: Table | None = TABLE) -> list[Links]:
    reference = TranslationReference(split(query, "en"), table)
    return [reference.links(split(document, "de")) for document in documents]


def test_a_score_is_the_same_alone_together_and_shuffled(scorer: Scorer) -> None:
    query, links = asked(scorer), linked(*DOCUMENTS)
    documents = texts(scorer.encoder, "de", *DOCUMENTS)
    together = score(scorer, query, documents, links)
    alone = [score(scorer, query, [one], [own])[0] for one, own in zip(documents, links, strict=True)]
    assert together == pytest.approx(alone, abs=1e-4)
    turned = score(scorer, query, documents[::-1], links[::-1])
    assert turned[::-1] == pytest.approx(together, abs=1e-4)
    assert len({round(value, 4) for value in together}) == len(DOCUMENTS)
    assert score(scorer, query, [], []) == []


def test_the_table_changes_scores(scorer: Scorer) -> None:
    query, links = asked(scorer), linked(*DOCUMENTS)
    documents = texts(scorer.encoder, "de", *DOCUMENTS)
    found = score(scorer, query, documents, links)
    without = score(scorer, query, documents, linked(*DOCUMENTS, table=None))
    differ = [abs(one - other) > 1e-4 for one, other in zip(found, without, strict=True)]
    assert differ == ["Biene" in text for text in DOCUMENTS]


def test_passages_are_equal_parts_that_hold_every_subword_and_its_links(scorer: Scorer) -> None:
    query, links = asked(scorer), linked(*DOCUMENTS)
    documents = texts(scorer.encoder, "de", *DOCUMENTS)
    made = list(passages(scorer.encoder, query, documents, links))
    assert {one.document for one in made} == set(range(len(DOCUMENTS)))
    for number, document in enumerate(documents):
        own = [one for one in made if one.document == number]
        parts = [one.pair.ids[one.pair.second : one.pair.second + len(one.row.passage)] for one in own]
        assert [token for part in parts for token in part] == document.ids
        assert [word for one in own for word in one.row.passage] == document.pieces.tolist()
        assert max(map(len, parts)) - min(map(len, parts)) <= len(parts)
        assert all(len(one.pair.ids) - one.pair.second <= scorer.encoder.max_length for one in own)
        assert all(bool(len(one.row.links.left)) == ("Biene" in DOCUMENTS[number]) for one in own)


def test_a_document_beyond_the_limit_is_reported_as_truncated(scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    query, links = asked(scorer), linked(DOCUMENTS[0], "Salz")
    long, short = texts(scorer.encoder, "de", DOCUMENTS[0], "Salz")
    monkeypatch.setattr("dragoman.ranking.passages.DOCUMENT_SUBWORDS", 20)
    found = score(scorer, query, [long, short], links)
    assert [is_truncated(one) for one in (long, short)] == [True, False]
    same = TokenizedText(long.ids[:20], long.pieces[:20])
    assert score(scorer, query, [same], links[:1])[0] == pytest.approx(found[0], abs=2e-5)


def test_a_long_query_is_shortened_until_there_is_room(scorer: Scorer) -> None:
    long, short = asked(scorer, "the bee finds honey " * 12), asked(scorer)
    assert shorten_query(scorer.encoder, short) is short
    cut = shorten_query(scorer.encoder, long)
    assert long.ids[: len(cut.ids)] == cut.ids
    assert len(cut.pieces) == len(cut.ids) < len(long.ids)
    assert scorer.encoder.room_beside(len(cut.ids)) >= 16 > scorer.encoder.room_beside(len(cut.ids) + 1)
    assert len(score(scorer, cut, texts(scorer.encoder, "de", "Salz"), linked("Salz"))) == 1


def test_equal_documents_have_equal_scores_at_any_position(scorer: Scorer) -> None:
    query = asked(scorer)
    same = ["die Biene findet Honig"] * 30 + ["Salz"] * 5
    values = score(scorer, query, texts(scorer.encoder, "de", *same), linked(*same))
    assert len(set(values[:30])) == len(set(values[30:])) == 1


@pytest.mark.parametrize("fault", [RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), MemoryError()])
def test_out_of_memory_leads_to_smaller_batches(
    scorer: Scorer, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    query, links, documents = asked(scorer), linked(*DOCUMENTS), texts(scorer.encoder, "de", *DOCUMENTS)
    expected = score(scorer, query, documents, links)
    plain, tried = scoring.pool_passages, []

    def pooled(model: Mart, passages: list[Passage], tokens: int) -> torch.Tensor:
        tried.append(tokens)
        if tokens > 300:
            raise fault
        return plain(model, passages, tokens)

    monkeypatch.setattr(scoring, "pool_passages", pooled)
    large = Scorer(scorer.model, 1024)
    assert score(large, query, documents, links) == pytest.approx(expected, abs=1e-4)
    assert tried == [1024, 512, 256]


def test_a_query_without_room_for_a_passage_is_refused(scorer: Scorer) -> None:
    query = asked(scorer, "the bee finds honey " * 12)
    with pytest.raises(QueryTooLong, match="no room for a passage"):
        score(scorer, query, texts(scorer.encoder, "de", "Salz"), linked("Salz"))


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 200))
def test_batches_keep_to_the_budget_and_cover_all(lengths: list[int], tokens: int) -> None:
    found = list(batches(lengths, tokens))
    assert sorted(number for batch in found for number in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(lengths[number] for number in batch) <= tokens
