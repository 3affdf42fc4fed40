"""The translation attention of hits, against T of the paper as it is written down, from the entries of the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from dragoman.engine.core.answer import LEFT_OUT, fields_of
from dragoman.engine.indexing.stored_text import BEGINNING
from dragoman.engine.search.request import SearchQuery, SnippetOptions
from dragoman.engine.search.response import Attention, Hit, SearchResponse
from dragoman.engine.settings import Settings
from dragoman.ranking.attention import THRESHOLD
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from tests.support.offsets import check_counted, cut
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

ENGLISH = ["zab", "kof", "lum", "wof", "nid"]
SWAHILI = ["bzaku", "fkolu", "mlupo", "fwuka", "dnita"]
TABLE = "\n".join(
    f"{english}\t{swahili}\t{0.19 / (1 + place):.4f}\t{0.18 / (1 + 2 * place):.4f}"
    for english in ENGLISH
    for place, swahili in enumerate(SWAHILI)
    if (len(english) + place * 7 + ord(english[0])) % 3
)
ALIKE = ["42", "1997"]
"""Words that both sides share."""
QUERIES = st.lists(st.sampled_from([*ENGLISH, *ALIKE, "the"]), min_size=1, max_size=8)
DOCUMENTS = st.lists(st.sampled_from([*SWAHILI, *ALIKE, "na", "."]), max_size=12)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    chosen = Settings.from_defaults(
        data_dir=tmp_path_factory.mktemp("attention"), embed="on_demand", rerank="never", answer_bytes=4 * 2**20
    )
    with running(chosen) as opened:
        opened.collections.create("sw", "sw")
        opened.tables.upload(Upload("words", "en", "sw", activate=True), iter([TABLE.encode()]))
        yield opened


def search(runtime: Runtime, query: str, **more: Any) -> SearchResponse:
    asked = {"query_language": "en", "explain": True, "attention": True, "method": "psq", "rerank": False}
    return runtime.search.search(SearchQuery(query=query, **(asked | more)), "x")


def translation(runtime: Runtime, source: str, target: str) -> float:
    """T: the mean of both directions, 1 for the same word on both sides, 0 below the threshold."""
    if source == target and source in ALIKE:
        return 1.0
    entries = runtime.tables.look_up("words", source, inverse=False).entries
    mean = sum((entry.p_forward + entry.p_backward) / 2 for entry in entries if entry.term == target)
    return mean if mean >= THRESHOLD else 0.0


@given(query=QUERIES, title=DOCUMENTS, text=DOCUMENTS)
@examples(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_weights_are_those_of_the_equation(
    runtime: Runtime, query: list[str], title: list[str], text: list[str]
) -> None:
    fields = {"title": " ".join(title), "text": " ".join(["7", *text])}
    add(runtime, "sw", {"id": "1", **fields})
    (hit,) = search(runtime, " ".join(["7", *query])).hits
    attention = of(hit)
    assert attention.direction == "mean"
    assert [word.text for word in attention.query_words] == ["7", *query]
    shown = [fields[word.field][word.start : word.end] for word in attention.document_words]
    assert shown == [word.text for word in attention.document_words]
    expected = {
        (field, place): [1.0 if row == word == "7" else translation(runtime, row, word) for row in ["7", *query]]
        for field, content in fields.items()
        for place, word in enumerate(content.split())
    }
    linked = [(key, column) for key, column in expected.items() if any(column)]
    assert [(word.field, fields[word.field][: word.start].count(" ")) for word in attention.document_words] == [
        key for key, _ in linked
    ]
    columns = [list(column) for column in zip(*attention.weights, strict=True)]
    assert columns == [pytest.approx(column, abs=1e-6) for _, column in linked]


def of(hit: Hit) -> Attention:
    assert hit.attention is not None
    assert hit.attention is not LEFT_OUT
    return hit.attention


def test_hits_of_any_method_have_it_where_it_was_asked_for(runtime: Runtime) -> None:
    add(runtime, "sw", {"id": "1", "text": f"7 {' '.join(SWAHILI)}"})
    by_method = {method: of(search(runtime, "7 zab", method=method).hits[0]) for method in ("psq", "smt", "none")}
    assert by_method["psq"] == by_method["smt"] == by_method["none"]
    answer = search(runtime, "7 zab", attention=False)
    assert answer.hits[0].attention is LEFT_OUT
    assert answer.hits[0].contributions
    assert answer.timings_ms.attention is LEFT_OUT


def test_what_is_not_read_or_has_no_room_is_told(runtime: Runtime) -> None:
    long = "bzaku " * 2_000
    add(runtime, "sw", *({"id": str(id), "text": f"7 {long}"} for id in range(1, 10)))
    answer = search(runtime, "7 zab")
    assert "attention: of document '2' only the beginning was read" in answer.truncated
    assert len(of(answer.hits[0]).document_words) > 700
    answer = search(runtime, " ".join(["zab"] * 500))
    hits = [hit.attention for hit in answer.hits]
    sizes = [0 if attention is None else len(attention.document_words) for attention in hits]
    assert sizes[0] > sizes[-1]
    assert all(len(attention.weights) == 500 for attention in hits if attention is not None)
    assert "attention: of document '2' only the first 100000 links are shown" in answer.truncated
    (told,) = (message for message in answer.truncated if message.startswith("attention: cut short"))
    assert f"in {sum(size < sizes[0] for size in sizes)} hits" in told


def test_places_in_a_long_text_are_counted_from_its_beginning_in_code_units(runtime: Runtime) -> None:
    text = "🌋 𠮷 " * 6_000 + "Hapa 🌋 bzaku na fkolu. " + "🌋 moshi " * 400
    add(runtime, "sw", {"id": "1", "title": "🌋 bzaku", "text": text})
    options = {"filter": {"id": "1"}, "gloss": True, "snippets": SnippetOptions(count=2, length=60)}
    (hit,) = search(runtime, "🌋 zab kof", **options).hits
    (counted,) = search(runtime, "🌋 zab kof", **options, offsets="utf16").hits
    assert hit.snippet_start > BEGINNING
    of_hit = {"title": hit.title or "", "text": text}
    assert check_counted(fields_of(counted.highlights), fields_of(hit.highlights), lambda span: of_hit[span["field"]])
    for snippet in counted.snippets:
        assert cut(text, snippet.start, snippet.start + len(snippet.text.encode("utf-16-le")) // 2) == snippet.text
    assert counted.snippet_start == counted.snippets[0].start
