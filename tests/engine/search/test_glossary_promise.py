"""Every word of a document is found by a glossary entry for it, whatever its form and wherever it stands in a word."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.indexing.stored_text import BEGINNING
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.tables.patching import Patch, Removal
from dragoman.store.tables.service import Upload
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

FOUND = [
    ("fr", "Le té est prêt, sûr et certain.", ["té", "sûr", "certain"]),
    ("es", "El Estado protege a los Estados.", ["Estado", "estados"]),
    ("ru", "Вся жизнь человека здесь.", ["жизнь", "человек"]),
    ("cs", "Se zprávami přišel.", ["zprávy", "zpráva"]),
    ("hi", "यह घर बड़ा है", ["घर"]),
    ("nl", "Zij kamt haar haar, met de kinderen.", ["haar", "kind"]),
    ("it", "La faccia degli uomini in Svizzera.", ["faccia", "uomo"]),
    ("tr", "on bin kişi evlerinden geldi", ["on bin", "ev"]),
    ("de", "Die Krankenversicherung der Häuser stieg, im Krankenhaus.", ["Versicherung", "Haus", "kranken"]),
    ("zh", "北京大学在海淀区。", ["大学", "北京", "北京大学"]),
    ("ar", "قال النبي ﷺ خيرا", ["ﷺ"]),
    ("fr", "LE TÉ EST LÀ, dit-il.", ["té"]),
    ("ja", "成田空港に行く。", ["空港", "成田空港"]),
    ("th", "ราคาน้ำมันเบนซินแพง", ["น้ำมัน", "เบนซิน", "น้ำมันเบนซิน"]),
    ("km", "ខ្ញុំរៀនភាសាខ្មែរ", ["ភាសា"]),
    ("vi", "Anh ấy học đại học ở Hà Nội.", ["đại học", "Hà Nội"]),
    ("fi", "Kirjastoissa on kirjoja.", ["kirjasto", "kirja"]),
    ("en", "CO₂ and H₂O in 5 m², ﬁne ½ cups.", ["CO2", "H2O", "m2", "fine", "½"]),
    ("fr", "La sœur et son œuvre.", ["soeur", "oeuvre", "sœur"]),
    ("he", "הוא גר בבית.", ["בית"]),
    ("ko", "학생들은 도서관에서 읽었다", ["학생", "도서관"]),
    ("ja", "学習の予定がある。", ["習", "予"]),
    ("fon", "Nuɖúɖù ɖaxó nà ɖò é.", ["nuɖúɖù", "nuɖuɖu", "ɖàxó", "nà", "é", "e", "ɖo"]),
    ("vi", "Ở Việt-Nam có trường đại-\u00adhọc.", ["Việt Nam", "đại học", "trường đại học"]),
    ("vi", "Cô ấy học ở trường đại\r\nhọc, không  phải ở\ttrung \nhọc.", ["đại học", "không phải", "trung học"]),
]
"""A document of each language, and entries that it has to be found by."""

NOT_FOUND = [
    ("fr", "Il te voit sur la table.", ["té", "sûr"]),
    ("en", "It is said who tells us.", ["IT", "WHO", "US"]),
    ("en", "CO is a company.", ["CO₂"]),
    ("en", "Too much CO₂ here.", ["CO"]),
    ("th", "การเดินทาง", ["กา"]),
    ("zh", "中华人民共和国成立了。", ["华人"]),
    ("zh", "工作人员很多。", ["作人"]),
    ("zh", "声音太大，学不会。", ["大学"]),
    ("vi", "Lớp đại, học giỏi. Cô đại\n\nhọc. Ổ i.", ["đại học", "ổi"]),
]
"""Entries that it must not be found by."""


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    with running(settings) as opened:
        yield opened


def search(runtime: Runtime, query: str, language: str = "de") -> SearchResponse:
    request = SearchQuery(query=query, query_language=language, method="psq", rerank=False, explain=True)
    return runtime.search.search(request, "x")


def filled(runtime: Runtime, language: str, text: str, entries: list[str], other: str) -> list[str]:
    """Invented words of ``other``, for each of which a glossary has an entry."""
    runtime.collections.create("c", language)
    add(runtime, "c", {"id": "one", "text": text})
    invented = [f"quorbix{chr(97 + number) * 3}" for number in range(len(entries))]
    content = "".join(f"{word}\t{entry}\n" for word, entry in zip(invented, entries, strict=True))
    upload = Upload("words", other, language, kind="glossary", activate=True)
    runtime.tables.upload(upload, iter([content.encode()]))
    return invented


@pytest.mark.parametrize(("language", "text", "entries"), FOUND)
def test_a_word_is_found_by_its_entry(runtime: Runtime, language: str, text: str, entries: list[str]) -> None:
    other = "de" if language != "de" else "en"
    for word, entry in zip(filled(runtime, language, text, entries, other), entries, strict=True):
        answer = search(runtime, word, other)
        assert [hit.id for hit in answer.hits] == ["one"], entry
        assert answer.hits[0].highlights, entry
        assert sum(one.score for one in answer.hits[0].contributions) == pytest.approx(
            answer.hits[0].scores.first_stage, rel=1e-4
        )


@pytest.mark.parametrize(("language", "text", "entries"), NOT_FOUND)
def test_no_other_word_is_found_by_it(runtime: Runtime, language: str, text: str, entries: list[str]) -> None:
    other = "de" if language != "de" else "en"
    for word, entry in zip(filled(runtime, language, text, entries, other), entries, strict=True):
        assert search(runtime, word, other).hits == [], entry


@pytest.mark.parametrize(("one", "plural"), [("child", "children"), ("fisherman", "fishermen"), ("mouse", "mice")])
def test_an_irregular_plural_is_found_by_a_glossary_s_singular(runtime: Runtime, one: str, plural: str) -> None:
    runtime.collections.create("c", "de")
    add(runtime, "c", {"id": "one", "text": "Der Arzt sah das Kind."}, {"id": "many", "text": "Die Kinder spielten."})
    runtime.tables.upload(Upload("plain", "en", "de", activate=True), iter([f"{plural}\tKinder\t0.9\n".encode()]))
    assert [hit.id for hit in search(runtime, plural, "en").hits] == ["many", "one"]
    runtime.tables.upload(
        Upload("words", "en", "de", kind="glossary", activate=True), iter([f"{one}\tKind\n".encode()])
    )
    answer = search(runtime, plural, "en")
    assert sorted(hit.id for hit in answer.hits) == ["many", "one"]
    assert [[found.term for found in term.translations] for term in answer.translation.terms] == [["kind"]]


@pytest.mark.parametrize(
    ("language", "entry", "inflected"),
    [
        ("de", "Häuser", "Haus"),
        ("tr", "evler", "ev"),
        ("ar", "الكتب", "كتب"),
        ("ko", "학생들", "학생"),
        ("fi", "taloja", "talo"),
    ],
)
def test_a_word_as_the_glossary_has_it_ranks_first_and_no_document_counts_twice(
    runtime: Runtime, language: str, entry: str, inflected: str
) -> None:
    words = filled(runtime, language, entry, [entry, "Quxa"], "en")
    more = [{"id": f"{place}", "text": entry} for place in range(3)]
    add(runtime, "c", *more, {"id": "other", "text": inflected}, {"id": "name", "text": "Quxa"})
    answer = search(runtime, words[0], "en")
    assert [hit.id for hit in answer.hits][-1] == "other"
    assert len(answer.hits) == 5
    for hit in answer.hits:
        (term,) = hit.contributions
        assert term.df == 5
        assert term.tf == (1 if hit.id == "other" else 2)
    rare = search(runtime, " ".join(words), "en")
    assert rare.hits[0].id == "name"


def test_a_japanese_hit_of_smt_has_the_evidence_of_its_score(runtime: Runtime) -> None:
    runtime.collections.create("c", "ja")
    add(runtime, "c", {"id": "one", "text": "本を読んだ。"}, {"id": "two", "text": "本を書いた。"})
    table = "read\t読む\t0.9\nbook\t本\t0.9\nwrote\t書い\t0.9\n"
    runtime.tables.upload(Upload("plain", "en", "ja", activate=True), iter([table.encode()]))
    request = SearchQuery(query="read wrote", query_language="en", method="smt", rerank=False, explain=True)
    hits = runtime.search.search(request, "x").hits
    assert sorted(hit.id for hit in hits) == ["one", "two"]
    for hit in hits:
        assert len(hit.highlights) == 1
        assert sum(one.score for one in hit.contributions) == pytest.approx(hit.scores.first_stage, rel=1e-4)


def test_a_whole_word_ranks_above_a_part_and_the_part_alone_is_highlighted(runtime: Runtime) -> None:
    runtime.collections.create("c", "zh")
    add(runtime, "c", {"id": "part", "text": "北京大学很大。"}, {"id": "whole", "text": "这是大学的门。"})
    upload = Upload("words", "en", "zh", kind="glossary", activate=True)
    runtime.tables.upload(upload, iter(["university\t大学\n".encode()]))
    hits = search(runtime, "university", "en").hits
    assert [hit.id for hit in hits] == ["whole", "part"]
    assert [[one.document_term for one in hit.highlights] for hit in hits] == [["大学"], ["大学"]]


def test_vietnamese_words_are_several_syllables_in_any_table(runtime: Runtime) -> None:
    runtime.collections.create("c", "vi")
    apart = {"id": "apart", "text": "Anh ấy đại diện cho lớp và học giỏi."}
    add(runtime, "c", apart, {"id": "word", "text": "Cô ấy học ở trường đại học."})
    table = "university\tđại học\t0.9\nclass\tlớp\t0.9\nstudy\thọc\t0.5\ngreat\tđại\t0.5\n"
    runtime.tables.upload(Upload("plain", "en", "vi", activate=True), iter([table.encode()]))
    hits = search(runtime, "university", "en").hits
    assert [hit.id for hit in hits] == ["word", "apart"]
    assert "đại học" in [one.document_term for one in hits[0].highlights]
    for hit in hits:
        assert sum(one.score for one in hit.contributions) == pytest.approx(hit.scores.first_stage, rel=1e-4)
    runtime.collections.create("d", "en")
    add(runtime, "d", {"id": "university", "text": "He teaches at the university."})
    answer = search(runtime, "trường đại học", "vi")
    assert answer.hits[0].id == "university"
    assert [term.term for term in answer.translation.terms] == ["trường", "đại", "học", "đại học"]
    assert answer.translation.oov == {"en": ["trường"]}


TOGETHER = [" ", "  ", "\t", "\n", "\r\n", " \n ", "\u00a0", "\u3000", "\u200b", " \u2060 "]
APART = ["\n\n", "\r\n\r\n", ".", ", ", "/", " – ", "(", "1", " và ", "\n\n\n"]


@pytest.mark.parametrize(
    ("language", "first", "second", "together", "apart"),
    [
        ("vi", "đại", "học", [*TOGETHER, "-", "\u2010"], [*APART, "--", " - "]),
        ("zh", "机器", "学习", TOGETHER, [*APART, "-"]),
    ],
)
def test_a_sequence_has_the_evidence_of_its_score_whatever_stands_between(
    runtime: Runtime, language: str, first: str, second: str, together: list[str], apart: list[str]
) -> None:
    gaps = {
        f"{kind}{number}": gap for kind in ("t", "a") for number, gap in enumerate(together if kind == "t" else apart)
    }
    documents = [{"id": key, "text": f"{second} {first}{gap}{second} {first}"} for key, gap in gaps.items()]
    entry = f"{first} {second}" if language == "vi" else first + second
    (word,) = filled(runtime, language, f"{second}。", [entry], "en")
    add(runtime, "c", *documents, {"id": "title", "title": first, "text": second})
    request = SearchQuery(query=word, query_language="en", method="psq", rerank=False, explain=True, top_k=100)
    hits = runtime.search.search(request, "x").hits
    assert sorted(hit.id for hit in hits) == sorted(key for key in gaps if key.startswith("t"))
    for hit in hits:
        assert [one.document_term for one in hit.highlights] == [f"{first}{gaps[hit.id]}{second}"]
        assert sum(one.score for one in hit.contributions) == pytest.approx(hit.scores.first_stage, rel=1e-4)


def test_smt_says_what_it_searches_and_glosses_are_those_of_whole_words(runtime: Runtime) -> None:
    runtime.collections.create("v", "vi")
    add(runtime, "v", {"id": "v", "text": "Bệnh viện điều trị bệnh tim. Viện, bệnh nhân."})
    table = "hospital\tbệnh viện\npatient\tbệnh nhân\nheart attack\tnhồi máu\n"
    runtime.tables.upload(Upload("g", "en", "vi", kind="glossary", activate=True), iter([table.encode()]))
    request = SearchQuery(query="hospital", query_language="en", method="smt", rerank=False, explain=True)
    (hit,) = runtime.search.search(request, "x").hits
    assert [one.document_term for one in hit.highlights] == ["Bệnh viện"]
    request = SearchQuery(query="heart attack", query_language="en", method="smt", rerank=False)
    answer = runtime.search.search(request, "x")
    assert answer.translation.oov == {"vi": ["heart", "attack"]}
    assert [term.translations for term in answer.translation.terms] == [[], []]
    request = SearchQuery(query="hospital", query_language="en", method="psq", rerank=False, gloss=True)
    (hit,) = runtime.search.search(request, "x").hits
    shown = {hit.snippet[one.start : one.end]: one.translations for one in hit.gloss or []}
    assert shown["Bệnh viện"] == ["hospital"]
    assert shown["bệnh nhân"] == ["patient"]
    assert "Viện, bệnh" not in shown


def test_numbers_and_names_count_beside_a_phrase_that_has_them(runtime: Runtime) -> None:
    runtime.collections.create("c", "en")
    add(runtime, "c", {"id": "number", "text": "See 1234 there."}, {"id": "name", "text": "A Boeing landed."})
    table = "điều 1234\tarticle\t0.5\t0.005\nmáy bay Boeing\taircraft\t0.5\t0.005\n"
    runtime.tables.upload(Upload("plain", "vi", "en", activate=True), iter([table.encode()]))
    assert [hit.id for hit in search(runtime, "điều 1234", "vi").hits] == ["number"]
    assert [hit.id for hit in search(runtime, "máy bay Boeing", "vi").hits] == ["name"]


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("ko", "푸틴.", "Putin"),
        ("ko", "클린턴.", "Clinton"),
        ("hu", "Newton.", "Newton"),
        ("ta", "பெர்லின்.", "Berlin"),
        ("tr", "Merkel.", "Merkel"),
    ],
)
def test_a_name_is_found_by_its_sound_though_rules_cut_it(
    runtime: Runtime, language: str, text: str, name: str
) -> None:
    runtime.collections.create("c", language)
    add(runtime, "c", {"id": "one", "text": text})
    assert [hit.id for hit in search(runtime, name, "en").hits] == ["one"]


def test_fon_words_match_without_their_marks_in_smt_and_not_in_a_removal(runtime: Runtime) -> None:
    runtime.collections.create("c", "fon")
    add(runtime, "c", {"id": "marks", "text": "Nuɖúɖù ɔ."}, {"id": "plain", "text": "Nuɖuɖu ɔ."})
    upload = Upload("words", "en", "fon", kind="glossary", activate=True)
    runtime.tables.upload(upload, iter(["food\tnuɖúɖù\near\tto\ncountry\ttò\n".encode()]))
    request = SearchQuery(query="food", query_language="en", method="smt", rerank=False, explain=True)
    hits = runtime.search.search(request, "x").hits
    assert sorted(hit.id for hit in hits) == ["marks", "plain"]
    for hit in hits:
        assert sum(one.score for one in hit.contributions) == pytest.approx(hit.scores.first_stage, rel=1e-4)
    assert [hit.id for hit in search(runtime, "food", "en").hits] == ["marks", "plain"]
    with pytest.raises(InvalidRequest, match="no entry"):
        runtime.tables.patch("words", Patch([], [Removal("tó")]))


@pytest.mark.parametrize(
    ("language", "filler", "text", "entry", "shown"),
    [
        ("vi", "Trời hôm nay rất đẹp. ", "Cô ấy học ở trường đại học.", "đại học", "đại học"),
        ("de", "Heute scheint die Sonne. ", "Die Krankenversicherung stieg.", "Versicherung", "versicherung"),
        ("zh", "今天天气很好。", "他在北京大学学习。", "大学", "大学"),
        ("zh", "今天天气很好。", "机器学习很有用。", "机器学习", "机器学习"),
    ],
)
def test_parts_and_sequences_are_shown_wherever_they_stand_in_a_long_text(
    runtime: Runtime, language: str, filler: str, text: str, entry: str, shown: str
) -> None:
    before = filler * (BEGINNING // len(filler) + 100)
    (word,) = filled(runtime, language, f"{before}{text} {filler * 100}", [entry], "en")
    (hit,) = search(runtime, word, "en").hits
    assert text.rstrip(".。") in hit.snippet
    assert [one.document_term for one in hit.highlights] == [shown]


def test_function_words_count_where_a_glossary_has_them_alone(runtime: Runtime) -> None:
    runtime.collections.create("c", "de")
    add(runtime, "c", {"id": "one", "text": "Er ist da."}, {"id": "two", "text": "Haus"})
    runtime.tables.upload(Upload("plain", "en", "de", activate=True), iter([b"he\ter\nhouse\tHaus\nhouse\tder\n"]))
    assert [hit.id for hit in search(runtime, "he house", "en").hits] == ["two"]
    upload = Upload("words", "en", "de", kind="glossary", activate=True)
    runtime.tables.upload(upload, iter([b"he\ter\n"]))
    assert sorted(hit.id for hit in search(runtime, "he house", "en").hits) == ["one", "two"]


def test_an_entry_in_capitals_matches_that_spelling_alone(runtime: Runtime) -> None:
    runtime.collections.create("c", "en")
    add(runtime, "c", {"id": "capitals", "text": "The US and IT."}, {"id": "words", "text": "It told us nothing."})
    upload = Upload("words", "de", "en", kind="glossary", activate=True)
    runtime.tables.upload(upload, iter([b"USA\tUS\nEDV\tIT\nuns\tus\n"]))
    assert [hit.id for hit in search(runtime, "USA").hits] == ["capitals"]
    assert [hit.id for hit in search(runtime, "EDV").hits] == ["capitals"]
    assert [hit.id for hit in search(runtime, "uns").hits] == ["words", "capitals"]
