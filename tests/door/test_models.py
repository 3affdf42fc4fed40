"""Models without a database, and what importing the package costs."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys

import numpy as np
import pytest

import dragoman
from dragoman.door.table import Table

pytestmark = pytest.mark.slow

MODULES = ("dragoman", "dragoman.door.database", "dragoman.door.models", "dragoman.door.opening", "dragoman.door.table")


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_texts_are_ranked_without_a_collection() -> None:
    texts = ["Ein Rezept für Brot.", "Der Vulkan spuckt Asche.", ""]
    best = dragoman.rank("volcano ash", texts)
    assert [one.index for one in best] == [1, 0, 2] and best[0].text == texts[1]
    assert all(0 <= one.score <= 1 for one in best)
    assert dragoman.rank("volcano ash", texts, top_k=1) == best[:1]
    assert dragoman.rank("volcano ash", []) == []


def test_tables_link_words_of_query_and_texts() -> None:
    texts = ["Der Zorfan blimtu.", "Der Krata blimtu."]
    table = Table("en", "de", (("volcano", "Krata", 1.0, 1.0),), "glossary")
    languages = {"query_language": "en", "document_language": "de"}
    with_table = dragoman.rank("volcano", texts, tables=[table], **languages)
    assert with_table[0].index == 1
    plain = {one.index: one.score for one in dragoman.rank("volcano", texts, **languages)}
    assert with_table[0].score > plain[1]


@pytest.mark.parametrize("term", ["a\tb", "a\nb", "a\rb"])
def test_a_table_has_no_term_that_a_line_cannot_hold(term: str) -> None:
    with pytest.raises(ValueError, match="tab or a line break"):
        Table("en", "de", ((term, "Haus", 1.0, 1.0),))


def test_embeddings_are_unit_vectors_of_their_kind() -> None:
    texts = ["Wo ist der Bahnhof?", "Where is the station?", "Es regnet."]
    passages, queries = dragoman.encode(texts), dragoman.encode(texts, kind="query")
    assert passages.shape == queries.shape == (3, 384) and passages.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-5)
    assert not np.allclose(passages, queries)
    assert queries[1] @ passages[0] > queries[1] @ passages[2]
    with pytest.raises(ValueError, match="kind"):
        dragoman.encode(texts, kind="sentence")  # type: ignore[arg-type]


def test_names_have_their_places_in_long_texts() -> None:
    text = "Es war ein langer Tag. " * 60 + "Angela Merkel besuchte Paris."
    (tags,) = dragoman.tag([text])
    assert [text[tag.start : tag.end] for tag in tags if tag.label == "PER"] == ["Angela Merkel"]
    with pytest.raises(ValueError, match="task"):
        dragoman.tag([text], task="nonsense")  # type: ignore[arg-type]


def test_importing_the_package_loads_nothing_and_names_are_all_there() -> None:
    program = (
        "import sys, dragoman;"
        " print(sorted({'fastapi', 'jpype', 'numpy', 'pydantic', 'sqlalchemy', 'torch'} & sys.modules.keys()));"
        " print([name for name in dragoman.__all__ if name not in dir(dragoman)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n[]\n"
    assert all(getattr(dragoman, name) for name in dragoman.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        dragoman.nonsense  # noqa: B018
