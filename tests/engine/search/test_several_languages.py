"""Search over documents in several languages, with an encoder to which those of one language seem alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import regex
from numpy.typing import NDArray

from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.indexes.dense.language_means import LanguageMeans
from tests.support.modelling import SAME, WIDTH, WordEncoder, ask, standing_in
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

RUSSIAN = {"вулкан": "volcano", "пепел": "ash", "порт": "harbour"}
TOWARDS = {"de": np.eye(WIDTH)[0], "ru": np.eye(WIDTH)[1]}
GERMAN_TEXTS = (
    {"id": "de-v", "text": "Vulkan Asche"},
    {"id": "de-h", "text": "Hafen"},
    {"id": "de-b", "text": "Biene"},
)
RUSSIAN_TEXTS = ({"id": "ru-v", "text": "вулкан пепел"}, {"id": "ru-h", "text": "порт"})


class BiasedEncoder(WordEncoder):
    """Half of a vector is the text's language."""

    @staticmethod
    def vector(text: str) -> NDArray[np.float32]:
        own = TOWARDS["ru" if regex.search(r"\p{Cyrillic}", text) else "de"]
        words = " ".join(RUSSIAN.get(word, word) for word in text.split())
        total = WordEncoder.vector(words) + 2 * own
        found: NDArray[np.float32] = (total / np.linalg.norm(total)).astype(np.float32)
        return found


@pytest.fixture
def biased(monkeypatch: pytest.MonkeyPatch) -> Iterator[BiasedEncoder]:
    made = BiasedEncoder()
    with standing_in(monkeypatch, made):
        yield made


def ids(answer: SearchResponse) -> list[str]:
    return [hit.id for hit in answer.hits]


def means() -> LanguageMeans:
    texts = {"de": [*SAME], "ru": [*RUSSIAN]}
    return LanguageMeans({one: np.mean([BiasedEncoder.vector(text) for text in own], 0) for one, own in texts.items()})


def searched(settings: Settings, method: str) -> SearchResponse:
    with running(settings) as runtime:
        for language, documents in (("de", GERMAN_TEXTS), ("ru", RUSSIAN_TEXTS)):
            runtime.collections.create(language, language)
            add(runtime, language, *documents)
        return ask(runtime, "Vulkan Asche", method=method, query_language="de", explain=True)


def test_without_means_the_querys_own_language_comes_first(settings: Settings, biased: BiasedEncoder) -> None:
    assert ids(searched(settings, "dense"))[-2:] == ["ru-v", "ru-h"]


@pytest.mark.parametrize("method", ["dense", "hybrid"])
def test_documents_in_several_languages_compare(settings: Settings, biased: BiasedEncoder, method: str) -> None:
    biased.means = means()
    answer = searched(settings, method)
    assert set(ids(answer)[:2]) == {"de-v", "ru-v"}
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
    for hit in answer.hits:
        text = {one["id"]: one["text"] for one in (*GERMAN_TEXTS, *RUSSIAN_TEXTS)}[hit.id]
        cosine = float(biased.vector("Vulkan Asche") @ biased.vector(text))
        assert hit.scores.dense == pytest.approx(cosine, abs=1e-5)


@pytest.mark.parametrize("remembered", [0, 3, 50_000])
def test_a_collection_in_several_languages_is_searched_like_one_for_each(
    settings: Settings, biased: BiasedEncoder, monkeypatch: pytest.MonkeyPatch, remembered: int
) -> None:
    """However many documents' languages are remembered, some of which are forgotten meanwhile."""
    monkeypatch.setattr("dragoman.engine.search.dense_stage._KNOWN_LANGUAGES", remembered)
    biased.means = means()
    apart = searched(settings, "dense")
    with running(settings) as runtime:
        runtime.collections.create("mixed", "de")
        add(runtime, "mixed", *GERMAN_TEXTS)
        ask(runtime, "Vulkan Asche", query_language="de", collections=["mixed"])
        add(runtime, "mixed", *({**one, "language": "ru"} for one in RUSSIAN_TEXTS))
        for _ in range(2):
            mixed = ask(runtime, "Vulkan Asche", query_language="de", collections=["mixed"])
    assert [(hit.id, round(hit.score, 5)) for hit in mixed.hits] == [
        (hit.id, round(hit.score, 5)) for hit in apart.hits
    ]


def test_where_no_table_translates_the_cosine_has_most_of_the_weight(settings: Settings, biased: BiasedEncoder) -> None:
    biased.means = means()
    weights = {hit.id: hit.fusion.dense.weight for hit in searched(settings, "hybrid").hits}
    assert weights == {"de-v": 0.6, "de-h": 0.6, "de-b": 0.6, "ru-v": 0.9, "ru-h": 0.9}
