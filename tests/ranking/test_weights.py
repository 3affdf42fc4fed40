"""The shipped MART: it loads, is small, has metadata, and behaves as its card says."""

from __future__ import annotations

import pytest

from dragoman.lexicon.table.table import Table
from dragoman.ranking import about
from dragoman.ranking.attention import Links, TranslationReference
from dragoman.ranking.checkpoints import load_mart
from dragoman.ranking.passages import tokenize_texts
from dragoman.ranking.scoring import Scorer, load_scorer
from tests.ranking.samples import split

MOST_BYTES = 80 * 10**6


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return load_scorer("mart")[0]


def scores(scorer: Scorer, query: str, documents: list[str], language: str, table: Table | None) -> list[float]:
    words = split(query, "en")
    reference = TranslationReference(words, table)
    found = [split(document, language) for document in documents]
    links: list[Links] = [reference.links(one) for one in found]
    (read_query,) = tokenize_texts(scorer.encoder, [query], [words.spans])
    read_documents = tokenize_texts(scorer.encoder, documents, [one.spans for one in found])
    return scorer.scores(scorer.rows(read_query, read_documents, links))


def test_it_has_a_card_and_all_weights_together_are_small() -> None:
    assert about.shipped_names() == ["late", "mart"]
    for name in about.shipped_names():
        card = (about.SHIPPED / name / "README.md").read_text(encoding="utf-8")
        assert card.startswith(f"# Model card: `{name}`")
    files = [path for path in about.SHIPPED.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    assert {path.suffix for path in files} == {".safetensors", ".json", ".md"}
    loaded = load_mart()[1]
    assert loaded.name == "mart"
    assert loaded.training["steps"] > 0
    assert loaded.standalone is not None and loaded.standalone.weight > 0


@pytest.mark.parametrize(
    ("language", "documents", "entries"),
    [
        (
            "de",
            ["Der Hafen wurde 1850 von Kaufleuten gebaut.", "Die Biene sammelt Honig im Garten.", "Salz ist teuer."],
            [("harbour", "hafen"), ("built", "gebaut"), ("bee", "biene"), ("honey", "honig"), ("salt", "salz")],
        ),
        (
            "xx",  # a language that no model has read
            ["Zorfan blimtu krata 1850.", "Mipsa flurn gadda.", "Trolk vensi."],
            [("harbour", "zorfan"), ("built", "krata"), ("bee", "mipsa"), ("honey", "flurn"), ("salt", "trolk")],
        ),
    ],
)
def test_it_ranks_by_the_table(
    scorer: Scorer, language: str, documents: list[str], entries: list[tuple[str, str]]
) -> None:
    table = Table.from_entries("en", language, [(*pair, 0.9, 0.9) for pair in entries])
    for place, query in enumerate(["When was the harbour built?", "Which honey does a bee make?", "salt"]):
        found = scores(scorer, query, documents, "de", table)
        assert max(range(3), key=found.__getitem__) == place
        without = scores(scorer, query, documents, "de", None)
        assert found[place] - max(found[:place] + found[place + 1 :]) > without[place] - max(
            without[:place] + without[place + 1 :]
        )
