"""Dictionary forms of folded words."""

from __future__ import annotations

import gzip
import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.indexes.analysis import inflection
from dragoman.indexes.analysis.endings import WITH_ENDINGS, Endings
from dragoman.indexes.analysis.inflection import (
    INFLECTED,
    DictionaryForms,
    dictionary_form,
    dictionary_form_version,
)
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.text.languages import LANGUAGES
from dragoman.lexicon.text.tokens import fold

FORMS = Path(inflection.__file__).with_name("forms")
FILES = sorted(FORMS.glob("*.tsv.gz"))
LINE = re.compile(r"(?:-?[1-9]\d*|0)\t[^\s\d]*\t\^?[^\s\d^]+(?: \^?[^\s\d^]+)*")
SAME = {
    "ar": ["المدارس مدرسة", "الكتب كتب"],
    "bg": ["книгите книга", "градовете град"],
    "ca": ["ciutats ciutat"],
    "cs": ["zprávami zpráva", "ženy žena", "městech město"],
    "da": ["husene hus", "bøger bog"],
    "de": ["Häuser Haus", "ging gehen", "Verträgen Vertrag"],
    "el": ["πόλεις πόλη", "ανθρώπων άνθρωπος"],
    "es": ["leyes ley", "casas casa"],
    "et": ["raamatute raamat"],
    "fa": ["کتاب‌هایش کتاب"],
    "fi": ["taloissa talo", "kaupungissa kaupunki", "kirjoja kirja"],
    "fr": ["chevaux cheval", "yeux œil"],
    "he": ["הספרים ספר", "בבית בית"],
    "hi": ["लड़कियों लड़की"],
    "hr": ["gradovima grad", "žene žena"],
    "hu": ["házakban ház"],
    "hy": ["քաղաքների քաղաք"],
    "is": ["bækur bók"],
    "it": ["uomini uomo", "treni treno"],
    "ka": ["ქალაქებში ქალაქი"],
    "ko": ["학생들은 학생", "도서관에서 도서관", "읽었다 읽다"],
    "lt": ["miestuose miestas"],
    "lv": ["pilsētās pilsēta"],
    "mr": ["घरात घर"],
    "nb": ["boken bok", "bøker bok"],
    "nl": ["huizen huis", "ging gaan"],
    "pl": ["miastach miasto", "ludzi człowiek"],
    "pt": ["leões leão", "animais animal"],
    "ro": ["orașele oraș"],
    "ru": ["городами город", "людей человек"],
    "sk": ["mestách mesto"],
    "sl": ["mestih mesto"],
    "sr": ["gradovima grad", "градовима град", "градовима grad", "књигама knjiga"],
    "sv": ["städerna stad", "böcker bok"],
    "ta": ["புத்தகங்களை புத்தகம்"],
    "tr": ["evlerimizden ev"],
    "uk": ["містами місто"],
    "ur": ["کتابیں کتاب"],
}


def _letters(language: str) -> str:
    if language not in INFLECTED:
        return "".join(set("".join(pair for pair in SAME.get(language, [])) + "은는이가하다에서") - {" "})
    text = gzip.decompress(inflection._content(language)).decode()
    return "".join(sorted({c for c in text if c not in "\t\n ^-" and not c.isdigit()}))


@pytest.mark.parametrize(("language", "pair"), [(language, pair) for language, pairs in SAME.items() for pair in pairs])
def test_a_word_has_the_form_of_its_dictionary_form(language: str, pair: str) -> None:
    forms = dictionary_form(language)
    assert forms is not None
    word, lemma = (forms(fold(one, language)) for one in pair.split())
    assert word == lemma


@pytest.mark.parametrize("language", sorted(INFLECTED | WITH_ENDINGS))
def test_a_dictionary_form_has_itself_as_its_form(language: str) -> None:
    forms = dictionary_form(language)
    assert forms is not None
    chooser = random.Random(language)
    letters = _letters(language)
    words = ["".join(chooser.choices(letters, k=chooser.randint(1, 12))) for _ in range(2000)]
    if language in INFLECTED:
        known = [ending.removeprefix("^") for ending in inflection._rules(language)[0]]
        words += chooser.sample(known, 2000)
    for word in words:
        form = forms(word)
        assert form
        assert forms(form) == form, word


@given(word=st.text(min_size=1, max_size=20), language=st.sampled_from(sorted(INFLECTED | WITH_ENDINGS)))
def test_any_word_has_a_form_that_is_its_own(word: str, language: str) -> None:
    forms = dictionary_form(language)
    assert forms is not None
    folded = fold(word, language)
    if folded:
        form = forms(folded)
        assert form
        assert forms(form) == form


@pytest.mark.parametrize("word", ["東京", "co2", "1984", "b2b", "ab12ing"])
def test_words_of_another_script_or_with_digits_stay(word: str) -> None:
    assert all(DictionaryForms(language)(word) == word for language in INFLECTED)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_file_of_rules_is_well_formed_small_and_fast(path: Path) -> None:
    language = path.name.split(".")[0]
    assert language in LANGUAGES
    content = path.read_bytes()
    assert content[4:8] == bytes(4), "the time of making would make equal files differ"
    lines = gzip.decompress(content).decode().splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    endings = [ending for line in lines for ending in line.split("\t")[2].split(" ")]
    beginnings = [one for line in lines if line.startswith("-") for one in line.split("\t")[2].split(" ")]
    assert len(endings) - len(beginnings) == len(inflection._rules(language)[0])
    assert all(fold(ending, language) == ending for ending in random.Random(1).sample(endings, min(500, len(endings))))


def test_the_files_are_small() -> None:
    sizes = [path.stat().st_size for path in FILES]
    assert max(sizes) < 500_000
    assert sum(sizes) < 7_000_000


def test_rules_load_in_a_moment() -> None:
    inflection._rules.cache_clear()
    start = time.process_time()
    DictionaryForms("de")
    assert time.process_time() - start < 2


def test_the_version_changes_with_the_file_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = DictionaryForms.version("de")
    assert before == DictionaryForms.version("de") != DictionaryForms.version("it")
    (tmp_path / "de.tsv.gz").write_bytes(gzip.compress(b"1\t\tx\n", mtime=0))
    monkeypatch.setattr(inflection, "_FOLDER", tmp_path)
    assert DictionaryForms.version("de") != before


def test_languages_without_rules_have_no_forms() -> None:
    assert dictionary_form("zh") is None
    assert dictionary_form_version("zh") == ""


def test_languages_with_endings_have_them_in_the_version() -> None:
    assert "endings" in dictionary_form_version("ko")
    assert "forms" in dictionary_form_version("fa")
    assert "endings" in dictionary_form_version("fa")


@pytest.mark.parametrize("language", sorted(WITH_ENDINGS))
def test_an_ending_leaves_something(language: str) -> None:
    strip = Endings(language)
    for group in (strip._endings, strip._beginnings):
        assert all(strip(affix) for affix in group)


@pytest.mark.parametrize(
    ("language", "noun", "verb"),
    [
        ("es", "música", "musicar"),
        ("es", "víctimas", "victimar"),
        ("es", "volcán", "volcar"),
        ("es", "volcanes", "volcar"),
        ("es", "cometas", "cometer"),
        ("es", "Alpes", "alpar"),
        ("es", "río", "reír"),
        ("pt", "música", "musicar"),
        ("pt", "análises", "analisar"),
        ("pt", "séries", "seriar"),
        ("ca", "substància", "substanciar"),
    ],
)
def test_a_noun_has_no_term_of_a_verb_that_differs_by_accents(language: str, noun: str, verb: str) -> None:
    (word,), (infinitive,) = analysis(language).tokens(noun), analysis(language).tokens(verb)
    assert infinitive.term not in (word.term, *word.further)


@pytest.mark.parametrize(("language", "pair"), [("es", "caído caer"), ("es", "añade añadir"), ("pt", "sabia saber")])
def test_an_accent_makes_no_noun_of_a_participle_or_a_frequent_form(language: str, pair: str) -> None:
    word, form = pair.split()
    assert dictionary_form(language)(fold(word, language)) == fold(form, language)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("plural", "one"),
    [("children", "child"), ("policewomen", "policewoman"), ("criteria", "criterion"), ("indices", "index")],
)
def test_irregular_plurals_of_english_have_their_singular_s_term(plural: str, one: str) -> None:
    (many,), (single,) = analysis("en").tokens(plural), analysis("en").tokens(one)
    assert many.term == single.term
    assert many.further
