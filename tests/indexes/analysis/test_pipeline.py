"""One analysis for documents, queries and tables."""

from __future__ import annotations

import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.deadline import DeadlinePassed, deadline
from dragoman.indexes.analysis import pipeline
from dragoman.indexes.analysis.inflection import INFLECTED, DictionaryForms
from dragoman.indexes.analysis.languages import ANALYSERS
from dragoman.indexes.analysis.pipeline import LONGEST_WORD, WordAnalysis, analysis
from dragoman.lexicon.text.languages import LANGUAGES, UnknownLanguage, check_language
from dragoman.lexicon.text.tokens import Token, fold, words

SENTENCES = {
    "ar": "وَذَهَبَتِ البناتُ إلى المدارس القديمة، والكتابُ على الطاولة",
    "bg": "Ученичките четоха дългите книги в библиотеката",
    "cs": "Žákyně četly dlouhé knihy v městských knihovnách",
    "de": "Die Häuser der Straßenbahnfahrer über den grünen Hügeln",
    "el": "Οι μαθήτριες διάβαζαν τα μεγάλα βιβλία της βιβλιοθήκης",
    "en": "The teacher's houses weren't running 1,000 times in the U.S.",
    "es": "Las niñas leían los libros más largos según él; también aquí",
    "fa": "کتاب‌های بزرگ‌ترین کتابخانهٔ شهر را می‌خوانند",
    "fi": "Opettajat lukivat pitkiä kirjoja kaupunkien kirjastoissa",
    "fr": "L'été, les élèves d'aujourd'hui étudiaient à l'université où il était",
    "hi": "लड़कियाँ पुस्तकालय में लंबी किताबें पढ़ती थीं",
    "hu": "Az iskolás lányok hosszú könyveket olvastak a könyvtárakban",
    "id": "Anak-anak perempuan membacakan buku-buku panjang di perpustakaan",
    "ko": "학생들은 도서관에서 긴 책을 읽었다",
    "nb": "Jentene leste lange bøker på bibliotekene",
    "pl": "Uczennice czytały długie książki w miejskich bibliotekach",
    "pt": "As eleições e as relações não são só opiniões; a eleição é",
    "ro": "Fetele citeau cărţile şi revistele în biblioteci",
    "ru": "Ученицы читали длинные книги в библиотеках, ещё и ёжики",
    "sr": "Ученице су читале дугачке књиге у библиотекама",
    "sw": "Wanafunzi walisoma vitabu virefu maktabani",
    "ta": "மாணவிகள் நூலகத்தில் நீண்ட புத்தகங்களைப் படித்தனர்",
    "tr": "Öğrenciler İstanbul'da kütüphanelerde uzun kitapları okuyorlardı",
    "uk": "Учениці читали довгі книги у п'яти бібліотеках",
    "vi": "Các nữ sinh đọc những quyển sách dài trong thư viện",
}
UNSPACED = {
    "ja": "東京タワーに行って𠮷野家で美味しい牛丼を食べました。Tokyoは2020年",
    "th": "นักเรียนอ่านหนังสือเล่มยาวในห้องสมุดที่สุด",
    "zh": "我来到北京清华大学，學習𠮷自然語言处理2020年。",
}
EVERYTHING = SENTENCES | UNSPACED
LISTED = {
    "ar": ["إلى", "على", "التي"],
    "cs": ["zprávy", "jeho"],
    "de": ["und", "für", "FÜR"],
    "en": ["the", "The", "and"],
    "es": ["Estado", "también", "MÁS"],
    "fr": ["sûr", "té", "même"],
    "hi": ["घर"],
    "it": ["faccia"],
    "ja": ["が", "ます", "こと"],
    "nl": ["haar"],
    "ru": ["жизнь", "человек", "ещё"],
    "th": ["ที่สุด", "และ"],
    "tr": ["on bin", "için"],
    "uk": ["також"],
}
"""Words of Lucene's lists of stop words, which delete them from an index; some are no function words at all."""
SAME_TERM = {
    "ar": ["الكتاب", "كتاب", "والكتاب", "كِتَاب"],
    "de": ["Häuser", "Haus", "häusern"],
    "en": ["running", "runs", "RUN"],
    "es": ["canción", "cancion", "canciones"],
    "fa": ["کتاب", "كتاب", "کتاب‌های", "کتابها"],
    "fr": ["général", "general", "généraux"],
    "ja": ["食べる", "食べ"],
    "pl": ["domach", "domu", "dom"],
    "pt": ["eleições", "eleição", "eleicoes", "ELEICAO"],
    "ru": ["ёж", "еж"],
    "uk": ["книгами", "книга"],
}


def terms(language: str, text: str) -> list[str]:
    return [token.term for token in analysis(language).tokens(text)]


@pytest.mark.parametrize("language", EVERYTHING)
def test_offsets_and_words_are_those_of_the_text(language: str) -> None:
    text = EVERYTHING[language]
    found = analysis(language).tokens(text)
    assert found
    for token in found:
        assert fold(text[token.start : token.end], language) == fold(token.word, language)
    assert [(t.start, t.end) for t in found] == sorted((t.start, t.end) for t in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_terms_of_every_language_are_those_of_single_bounded_words(language: str) -> None:
    chosen = analysis(language)
    bounded = " ".join([*EVERYTHING.values(), "a" * 1000, "é" * 300, "字" * 300, "0" * 400, "½ ﬃ Ⅷ o'neill's"])
    for token in chosen.tokens(bounded):
        assert 0 < len(token.word) <= LONGEST_WORD
        assert len(token.term) <= LONGEST_WORD
        assert token.term == "" or token.term.split() == [token.term]
    for text in SENTENCES.values() if language not in UNSPACED else ():
        for token in chosen.tokens(text):
            (alone,) = chosen.tokens(text[token.start : token.end])
            assert (alone.word, alone.term) == (token.word, token.term)
            assert [t.term for t in chosen.tokens(token.word)] == [token.term]


@pytest.mark.parametrize("language", UNSPACED)
def test_the_term_depends_on_the_word_alone(language: str) -> None:
    known: dict[str, str] = {}
    for text in (UNSPACED[language], UNSPACED[language] * 3, "x " + UNSPACED[language][3:]):
        for token in analysis(language).tokens(text):
            assert known.setdefault(token.word, token.term) == token.term


@pytest.mark.parametrize("language", EVERYTHING)
def test_canonically_equivalent_texts_have_equal_terms(language: str) -> None:
    text = EVERYTHING[language]
    composed = terms(language, unicodedata.normalize("NFC", text))
    assert composed == terms(language, unicodedata.normalize("NFD", text))
    assert any(composed)


@pytest.mark.parametrize(("language", "listed"), LISTED.items())
def test_the_index_keeps_every_word(language: str, listed: list[str]) -> None:
    for word in listed:
        assert all(terms(language, word))


@pytest.mark.parametrize(
    ("language", "word", "other"), [("fr", "té", "te"), ("fr", "sûr", "sur"), ("en", "IT", "it"), ("en", "U.S.", "us")]
)
def test_what_folding_takes_for_a_function_word_is_kept_apart(language: str, word: str, other: str) -> None:
    assert terms(language, word) != terms(language, other)
    assert terms(language, f"{word} {other}") == [*terms(language, word), *terms(language, other)]


@pytest.mark.parametrize(("language", "same"), SAME_TERM.items())
def test_forms_of_a_word_share_a_term(language: str, same: list[str]) -> None:
    assert len({tuple(terms(language, word)) for word in same}) == 1
    assert terms(language, same[0]) != [""]


@pytest.mark.parametrize(
    ("language", "same"),
    [
        ("it", "treno treni"),
        ("it", "ape api"),
        ("it", "uomo uomini"),
        ("it", "porta porte"),
        ("it", "lavoro lavori"),
        ("es", "luz luces"),
        ("fr", "oeil yeux"),
        ("pt", "mão mãos"),
        ("de", "gehen ging gegangen"),
    ],
)
def test_inflected_forms_share_the_term_of_the_dictionary_form(language: str, same: str) -> None:
    assert len(set(terms(language, same))) == 1
    assert terms(language, same)[0]


@pytest.mark.parametrize("language", sorted(INFLECTED))
def test_a_word_and_its_dictionary_form_have_one_form(language: str) -> None:
    forms = DictionaryForms(language)
    for token in analysis(language).tokens(
        " ".join(SENTENCES.get(language, "treni api porte uomini città").split() * 2)
    ):
        form = forms(token.word)
        assert forms(form) == form
    assert DictionaryForms.version(language) in analysis(language).fingerprint


@pytest.mark.parametrize("language", ANALYSERS)
def test_every_analyser_works(language: str) -> None:
    found = analysis(language)
    assert terms(language, "Xyzzy 1984 0010100") == [*terms(language, "xyzzy"), "1984", "0010100"]
    assert ANALYSERS[language].stemmer in found.fingerprint


@pytest.mark.parametrize("language", ["it", "ca", "oc"])
def test_elided_words_have_no_term_and_letters_have(language: str) -> None:
    assert [token.term for token in analysis(language).tokens("gioielli d'oro, l' oro")][1::2] == ["", ""]
    assert terms(language, "vitamina D")[-1] == "d"
    assert terms(language, "dell'olio" if language == "it" else "l'olio")[0] == ""


def test_long_words_are_cut_and_span_the_whole_word() -> None:
    for language in ("en", "sw"):
        (token,) = analysis(language).tokens(" " + "b" * 70_000)
        assert (token.start, token.end) == (1, 70_001)
        assert token.word == "b" * LONGEST_WORD
        (again,) = analysis(language).tokens("b" * LONGEST_WORD)
        assert again.term == token.term


def test_languages_without_an_analyzer_have_plain_words() -> None:
    assert terms("sw", "Wanafunzi walisoma") == ["wanafunzi", "walisoma"]


def test_segmented_languages_have_words() -> None:
    assert [t.word for t in analysis("zh").tokens("我来到北京清华大学")] == ["我", "来到", "北京", "清华大学"]
    assert [t.word for t in analysis("th").tokens("ผมรักภาษาไทย")] == ["ผม", "รัก", "ภาษาไทย"]
    assert [t.term for t in analysis("ja").tokens("寿司を食べた")] == ["寿司", "を", "食べる", "た"]


def test_traditional_chinese_is_segmented_as_simplified_with_its_own_offsets() -> None:
    traditional, simplified = "我來到北京的圖書館，學習自然語言處理", "我来到北京的图书馆，学习自然语言处理"
    found = analysis("zh").tokens(traditional)
    assert found == analysis("zh").tokens(simplified)
    assert "圖書館" in [traditional[token.start : token.end] for token in found]
    assert "图书馆" in [token.term for token in found]


def test_analyses_are_shared_and_unknown_languages_refused() -> None:
    assert analysis("de") is analysis("de")
    assert analysis("no") is analysis("nb")
    with pytest.raises(UnknownLanguage, match="did you mean 'de'"):
        analysis("de-AT")


def test_fingerprints_differ_and_name_what_the_output_depends_on() -> None:
    fingerprints = {language: analysis(language).fingerprint for language in map(check_language, LANGUAGES)}
    assert len(set(fingerprints.values())) == len(fingerprints)
    assert "rjieba" in fingerprints["zh"]
    assert "pythainlp" in fingerprints["th"]
    assert "kuromoji" in fingerprints["ja"]
    assert "9." in fingerprints["ja"]


def test_indexed_terms_are_those_of_the_tokens_without_elided_words() -> None:
    texts = [SENTENCES["de"], "", "Neue Wörter, die nie gesehen", SENTENCES["de"], "w" * 300]
    kept = [[token for token in analysis("de").tokens(text) if token.term] for text in texts]
    found = WordAnalysis("de").analyse_texts(texts)
    assert [words for words, _ in found] == [[token.word for token in text] for text in kept]
    assert [[(one.term, one.further) for one in entries] for _, entries in found] == [
        [(token.term, token.further) for token in text] for text in kept
    ]


def test_a_batch_has_the_tokens_of_each_text() -> None:
    texts = [SENTENCES["de"], "", "Neue Wörter, die nie gesehen", SENTENCES["de"], "w" * 300]
    expected = [analysis("de").tokens(text) for text in texts]
    assert WordAnalysis("de").batch(texts) == expected


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["de", "en", "fr", "uk", "ja", "zh", "th", "sw"]), st.text(max_size=60))
def test_any_text_is_analysed(language: str, text: str) -> None:
    found = analysis(language).tokens(text)
    for token in found:
        assert token.word
        assert 0 <= token.start < token.end <= len(text)
        assert fold(token.word, language) in fold(text[token.start : token.end], language).replace("⁄", " ")


def test_words_that_analyzers_split_keep_one_term() -> None:
    odd = ["l·l", "col·legi", "a'b'c", "rock'n'roll", "x'", "кап'ян", "१२३", "ab1", "1ab", "é́", "ᬅᬓ"]
    for language in ANALYSERS:
        for word in odd:
            plain = words(word, language)
            assert len(analysis(language).tokens(word)) == len(plain) or ANALYSERS[language].segmenter


def test_evicted_words_are_analysed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.indexes.analysis.pipeline._CACHED_WORDS", 50)
    fresh = WordAnalysis("en")
    texts = [f"houses w{i} running x{i}" for i in range(300)]
    expected = [analysis("en").tokens(text) for text in texts]
    assert [fresh.tokens(text) for text in texts] == expected
    assert [fresh.tokens(text) for text in reversed(texts)] == expected[::-1]
    assert len(fresh._recent) + len(fresh._older) <= 104


def test_eight_threads_get_the_results_of_one() -> None:
    texts = [
        (language, " ".join(text.split()[i:] + [f"{w}{i}" for w in text.split()[:3]]))
        for i in range(40)
        for language, text in EVERYTHING.items()
    ]

    def analysed(pair: tuple[str, str]) -> list[Token]:
        return fresh[pair[0]].tokens(pair[1])

    expected = [analysis(language).tokens(text) for language, text in texts]
    for _ in range(3):
        fresh = {
            language: WordAnalysis(language) if language not in UNSPACED else analysis(language)
            for language in EVERYTHING
        }
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(analysed, texts)) == expected


@pytest.mark.parametrize("language", ["de", "en", "tr"])
def test_words_are_stemmed_some_at_a_time(monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    expected = analysis(language).tokens(SENTENCES[language])
    monkeypatch.setattr(pipeline, "_WORDS_AT_ONCE", 2)
    assert WordAnalysis(language).tokens(SENTENCES[language]) == expected


def test_who_waits_for_the_stemming_of_others_heeds_a_deadline() -> None:
    waiting = WordAnalysis("de")
    with waiting._stemming, pytest.raises(DeadlinePassed), deadline(0.2):
        waiting.tokens("Häuser")
