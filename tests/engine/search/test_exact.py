"""Required and excluded words, against a plain reading of the documents' words."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.query.translation import translate
from dragoman.engine.search.request import Method, SearchQuery
from dragoman.engine.search.response import Hit, SearchResponse
from dragoman.engine.settings import Settings
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.text.tokens import PART
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from tests.support.modelling import WordEncoder, standing_in
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

WORDS = {
    "en": "volcano volcanoes volcanic ash cloud of the president France house houses old",
    "de": "Vulkan Vulkane Asche Wolke Vulkanasche Haus Häuser Gebäude Präsident von der Frankreich Europäische Union EU"
    " feuerspeiender Berg alte ash",
    "ru": "вулкан вулкана пепел облако дом дома президент Франции старый ash",
    "zh": "火山 灰 火山灰 云 总统 法国 的 老 房子",
}
TABLES = {
    "de": "volcano\tVulkan\nvolcano\tfeuerspeiender Berg\nash\tAsche\ncloud\tWolke\nvolcanic ash\tVulkanasche\n"
    "president\tPräsident\nFrance\tFrankreich\nof\tvon\nhouse\tHaus\nhouse\tGebäude\neuropean union\tEU\n"
    "european union\tEuropäische Union\nold\talt\n",
    "ru": "volcano\tвулкан\nash\tпепел\ncloud\tоблако\nhouse\tдом\npresident\tпрезидент\n"
    "France\tФранция\nold\tстарый\n",
    "zh": "volcano\t火山\nash\t灰\nvolcanic ash\t火山灰\ncloud\t云\npresident\t总统\nFrance\t法国\nhouse\t房子\n",
}
PARTS = {"volcano": ("feuerspeiend", "berg"), "volcanoes": ("feuerspeiend", "berg")}
"""What entries of several words have for a word, and that is no translation of it."""
QUERY = "volcano ash cloud president house France old"
FUNCTION_WORDS = {"of", "the"}
METHODS: tuple[Method, ...] = ("psq", "smt", "none", "dense", "hybrid")


def documents(count: int = 160) -> list[dict[str, str]]:
    """Texts of few words, so that they often follow one another."""
    chance = random.Random(5)
    made = []
    for place in range(count):
        language = chance.choice([*WORDS])
        words = [chance.choice(WORDS[language].split()) for _ in range(chance.randint(2, 7))]
        text = ("" if language == "zh" else " ").join(words)
        if language == "zh" and chance.random() < 0.5:
            text = text[:2] + "," + text[2:]
        made.append({"id": f"{language}{place}", "language": language, "text": text})
    return made


DOCUMENTS = documents()


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    settings = Settings.load(data_dir=tmp_path_factory.mktemp("exact"), ner_tagger="off", embed="on_demand")
    with pytest.MonkeyPatch.context() as patch, standing_in(patch, WordEncoder()), running(settings) as opened:
        for shards in (1, 2, 3):
            opened.collections.create(f"c{shards}", "en", shards=shards)
            add(opened, f"c{shards}", *DOCUMENTS)
        for target, content in TABLES.items():
            opened.tables.upload(Upload(f"en_{target}", "en", target, activate=True), iter([content.encode()]))
        yield opened


def search(runtime: Runtime, shards: int = 1, query: str = QUERY, **more: Any) -> SearchResponse:
    asked: dict[str, Any] = {"query_language": "en", "method": "psq", "top_k": 1000, "rerank": False}
    request = SearchQuery(query=query, collections=[f"c{shards}"], **(asked | more))
    return runtime.search.search(request, "id")


def terms_by_place(text: str, language: str) -> dict[int, set[str]]:
    places: dict[int, set[str]] = {}
    place = 0
    for token in analysis(language).tokens(text):
        if token.term:
            place += 2 if token.apart else 1
            places[place] = {token.term, *token.further}
    return places


def has(places: dict[int, set[str]], slots: Sequence[tuple[int, set[str]]], start: int | None = None) -> bool:
    """Whether the words follow one another, the first of them at ``start`` or anywhere."""
    if not slots:
        return True
    (gap, alternatives), rest = slots[0], slots[1:]
    starts = list(places) if start is None else range(start, start + gap + 1)
    return any(
        all(word in places.get(begin + n, ()) for n, word in enumerate(words)) and has(places, rest, begin + len(words))
        for begin in starts
        for words in (alternative.split(" ") for alternative in alternatives)
    )


def readings(runtime: Runtime, text: str, language: str, method: str) -> list[list[tuple[int, set[str]]]]:
    """What a document has one of: the words by their translations in a query, and entries for all of them."""
    words = text.split(" ")

    def of_query(word: str) -> set[str]:
        translated = translate(
            AnalysedText(word, "en", analysis), language, method, runtime.search.snapshot, analysis, lambda term: ()
        )
        terms = {other.term for group in translated.query.groups for other in group.alternatives}
        return terms - {mark + part for mark in ("", PART) for part in PARTS.get(word, ()) if method != "none"}

    if language == "en" or method == "none":
        return [[(0, of_query(word)) for word in words]]
    slots, gap = [], 0
    for word in words:
        if word in FUNCTION_WORDS:
            gap += 1
        else:
            slots.append((gap if slots else 0, of_query(word)))
            gap = 0
    view = runtime.search.snapshot.view("en", language)
    assert view is not None
    whole = {entry.term for entry in view.analysed.translations(" ".join(t.term for t in analysis("en").tokens(text)))}
    whole |= {form for term in whole for form in analysis(language).sequences(term)}
    whole |= {PART + term for term in whole if " " not in term and language in ("de", "zh")}
    return [slots, [(0, whole if len(words) > 1 else {term for term in whole if " " in term})]]


def holds(runtime: Runtime, hit: Hit, text: str, method: str) -> bool:
    document = next(document for document in DOCUMENTS if document["id"] == hit.id)
    places = terms_by_place(document["text"], hit.language)
    of = "none" if method == "none" else "psq"
    return any(has(places, slots) for slots in readings(runtime, text, hit.language, of))


_CONTENT = st.sampled_from(
    ["volcano", "volcanoes", "volcanic", "ash", "cloud", "president", "France", "house", "european", "union", "old"]
)
_TEXT = st.tuples(_CONTENT, st.lists(st.tuples(st.sampled_from(["", "", "of ", "of the "]), _CONTENT), max_size=2)).map(
    lambda parts: " ".join([parts[0], *(before + word for before, word in parts[1])])
)
_PAIRS = st.sampled_from(["volcanic ash", "european union", "president of France", "ash cloud", "old house"])


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(_TEXT | _PAIRS, max_size=2),
    st.lists(_TEXT | _PAIRS, max_size=2),
    st.sampled_from(METHODS),
    st.integers(1, 3),
)
def test_hits_are_those_without_a_wish_that_fulfil_it(
    runtime: Runtime, must: list[str], must_not: list[str], method: Method, shards: int
) -> None:
    everything = search(runtime, shards, method=method)
    hits = search(runtime, shards, method=method, must=must, must_not=must_not).hits
    expected = [
        hit
        for hit in everything.hits
        if all(holds(runtime, hit, text, method) for text in must)
        and not any(holds(runtime, hit, text, method) for text in must_not)
    ]
    scores = {hit.id: hit.scores.first_stage for hit in expected}
    assert {hit.id for hit in hits} == scores.keys()
    if method != "hybrid" or not (must or must_not):
        assert [hit.id for hit in hits] == [hit.id for hit in expected]
    assert {hit.id: hit.scores.first_stage for hit in hits} == pytest.approx(scores)


def words_of(response: SearchResponse, text: str) -> set[tuple[str, str, str]]:
    """The highlighted words of a word of the request: document, word, kind."""
    marked = [(hit, highlight) for hit in response.hits for highlight in hit.highlights]
    for hit, highlight in marked:
        shown = hit.snippet[highlight.start - hit.snippet_start : highlight.end - hit.snippet_start]
        assert highlight.field != "text" or shown == highlight.document_term
    return {(hit.language, mark.document_term, mark.match) for hit, mark in marked if mark.query_term == text}


@pytest.mark.parametrize("method", METHODS)
def test_the_answer_shows_required_words_that_no_query_has(runtime: Runtime, method: Method) -> None:
    answer = search(runtime, query="cloud", method=method, must=["houses"])
    assert {hit.language for hit in answer.hits} <= {"en", "de", "ru", "zh"}
    german = {("de", word, "table") for word in ("Haus", "Häuser", "Gebäude")}
    marked = words_of(answer, "houses")
    if method == "none":
        assert marked <= {("en", word, "identical") for word in ("house", "houses")}
        return
    assert marked & german and ("zh", "房子", "table") in marked
    assert all(any(mark.query_term == "houses" for mark in hit.highlights) for hit in answer.hits)
    assert [table.name for table in answer.translation.tables] == ["en_de", "en_ru", "en_zh"]


def test_the_answer_says_what_each_text_became(runtime: Runtime) -> None:
    answer = search(runtime, must=["European Union"], must_not=["Xerxes"])
    (text,) = answer.translation.must
    assert text.text == "European Union"
    assert text.languages["de"].phrases == ["europa union", "eu"] or "eu" in text.languages["de"].phrases
    assert (text.languages["de"].literal, text.languages["ru"].literal) == ([], ["European", "Union"])
    (excluded,) = answer.translation.must_not
    assert {language: reading.literal for language, reading in excluded.languages.items()} == {
        "de": ["Xerxes"],
        "en": [],
        "ru": ["Xerxes"],
        "zh": ["Xerxes"],
    }
    assert not search(runtime).translation.must


def test_a_word_without_translation_is_literal_or_an_error(runtime: Runtime) -> None:
    literal = search(runtime, query="ash", must=["Xerxes"])
    assert literal.hits == []
    for texts in ({"must": ["ash", "Xerxes cloud"]}, {"query": 'ash +"Xerxes cloud"', "syntax": "simple"}):
        field = r"must\[1\]" if "must" in texts else "query"
        with pytest.raises(InvalidRequest, match=rf"^{field}: 'Xerxes' has no translation into de$"):
            search(runtime, untranslated="error", **texts)
    assert search(runtime, untranslated="error", must=["ash"], must_not=["volcano"]).hits


def test_the_simple_syntax_is_the_same_as_the_fields(runtime: Runtime) -> None:
    simple = search(runtime, query='cloud +ash -house "president of France" +volcano', syntax="simple")
    fields = search(
        runtime,
        query="cloud ash president of France volcano",
        must=["ash", "president of France", "volcano"],
        must_not=["house"],
    )
    assert [(hit.id, hit.score) for hit in simple.hits] == [(hit.id, pytest.approx(hit.score)) for hit in fields.hits]
    assert {term.term for term in simple.translation.terms} == {"cloud", "ash", "president", "France", "volcano"}
    plain = search(runtime, query="cloud -house")
    assert {term.term for term in plain.translation.terms} == {"cloud", "house"}


def test_compounds_and_names(settings: Settings) -> None:
    with running(settings) as runtime:
        runtime.collections.create("c1", "de")
        texts = {"compound": "Die Vulkanasche fiel.", "apart": "Ein Vulkan, Asche", "union": "Merkel sprach"}
        add(runtime, "c1", *({"id": id, "text": text} for id, text in texts.items()))
        add(runtime, "c1", {"id": "ru", "text": "Меркель сказала, что Вулкан", "language": "ru"})

        def ids(*must: str, language: str = "de", query: str = "Vulkan Asche Merkel Вулкан") -> list[str]:
            return sorted(hit.id for hit in search(runtime, query=query, query_language=language, must=must).hits)

        assert ids("Asche") == ["apart", "compound"]
        assert ids("Vulkan Asche") == ["apart"]
        assert ids("Merkel") == ["ru", "union"]
        assert ids("Vulkane", "Asche") == ["apart", "compound"]


def test_a_snippet_of_a_long_text_has_what_is_required(settings: Settings) -> None:
    with running(settings) as runtime:
        runtime.collections.create("c1", "de")
        text = "Der Vulkan schlief. " + "Nichts geschah. " * 2000 + "Vulkane spuckten dicke Asche. " + "Ruhe. " * 2000
        add(runtime, "c1", {"id": "long", "text": text}, {"id": "short", "text": text[:600] + text[31_900:32_600]})
        table = "volcano\tVulkan\nash\tAsche\nthick\tdick\n"
        runtime.tables.upload(Upload("words", "en", "de", activate=True), iter([table.encode()]))
        hits = search(runtime, query="volcano", must=["thick ash"]).hits
        assert {hit.id for hit in hits} == {"long", "short"}
        for hit in hits:
            assert {mark.document_term for mark in hit.highlights} == {"Vulkane", "dicke", "Asche"}


def test_a_translation_is_no_error_of_alignment_and_no_part_of_an_entry(settings: Settings) -> None:
    with running(settings) as runtime:
        runtime.collections.create("c1", "de")
        texts = ("Haus", "BMW", "Berg", "feuerspeiender Berg", "tragbarer Rechner", "Laptop", "Rechner")
        add(runtime, "c1", *({"id": text, "text": f"{text} zuhauf"} for text in texts))
        table = "house\tHaus\t0.9\t0.9\nhouse\tBMW\t0.001\t0.2\nvolcano\tfeuerspeiender Berg\nmountain\tBerg\n"
        runtime.tables.upload(Upload("words", "en", "de", activate=True), iter([table.encode()]))
        glossary = Upload("terms", "en", "de", kind="glossary", activate=True)
        runtime.tables.upload(glossary, iter([b"laptop\ttragbarer Rechner\n"]))

        def ids(**more: Any) -> list[str]:
            return sorted(hit.id for hit in search(runtime, query="zuhauf", **more).hits)

        assert len(ids()) == len(texts)
        assert (ids(must=["house"]), ids(must=["houses"])) == (["Haus"], ["Haus"])
        assert ids(must=["volcano"]) == ids(must=["volcanoes"]) == ["feuerspeiender Berg"]
        assert ids(must=["mountain"]) == ["Berg", "feuerspeiender Berg"]
        assert ids(must=["laptop"], untranslated="error") == ["tragbarer Rechner"]
        assert ids(must_not=["house", "volcano", "laptop"]) == ["BMW", "Berg", "Laptop", "Rechner"]


def test_a_foreign_word_is_no_form_of_another_one(settings: Settings) -> None:
    with running(settings) as runtime:
        runtime.tables.upload(Upload("t", "en", "de", activate=True), iter([b"forest\tWald\t0.9\t0.9\n"]))
        runtime.collections.create("c1", "de")
        texts = {"wood": "Der Wald brennt.", "place": "Das Forum der Stadt brennt."}
        add(runtime, "c1", *({"id": id, "text": text} for id, text in texts.items()))
        hits = search(runtime, query="brennt", query_language="de", method="none").hits
        assert len(hits) == 2
        hits = search(runtime, query="brennt", query_language="en", must=["forest"]).hits
        assert [hit.id for hit in hits] == ["wood"]
