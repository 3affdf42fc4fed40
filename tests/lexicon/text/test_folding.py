"""Folding: equal forms, distinct forms, and stability over all of Unicode."""

import unicodedata

import pytest

from dragoman.lexicon.text.folding import fold, folded_words, folder
from dragoman.lexicon.text.languages import LANGUAGES


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("de", ["Straße", "STRASSE", "strasse", "ＳＴＲＡＳＳＥ", "stra\u00adße"]),
        ("fr", ["Élève", "e\u0301le\u0300ve", "ELEVE"]),
        ("tr", ["ISPARTA", "ısparta", "Isparta"]),
        ("tr", ["İstanbul", "istanbul", "I\u0307STANBUL"]),
        ("vi", ["VIỆT", "vie\u0323\u0302t", "vie\u0302\u0323t"]),
        ("ru", ["ЁЖ", "ёж", "еж", "е\u0301ж"]),
        ("uk", ["п'ять", "п’ять", "пʼять"]),
        ("el", ["ΟΔΌΣ", "οδός", "οδοσ", "ὁδός"]),
        ("ar", ["مُحَمَّد", "محمد", "مـحـمـد"]),
        ("ar", ["أحمد", "احمد", "إحمد", "ا\u0654حمد", "ٱحمد"]),
        ("ar", ["مدرسة", "مدرسه", "ﻣﺪﺭﺳﺔ"]),
        ("fa", ["کتاب‌های", "كتابهاي", "کتابهای", "كتاب\u200fهاى"]),
        ("fa", ["خانهٔ", "خانۀ", "خانه"]),
        ("ur", ["کہ", "كه"]),
        ("he", ["שָׁלוֹם", "שלום", "ש\u05c1לום"]),
        ("he", ["צה״ל", 'צה"ל', "צה”ל", "צהל"]),
        ("hi", ["क़लम", "क\u093cलम"]),
        ("ml", ["അവൻ", "അവന്\u200d", "അവന്"]),
        ("th", ["น้ำ", "นํ้า", "น้\u0e4d\u0e32"]),
        ("ja", ["ガ", "ｶﾞ", "カ\u3099"]),
        ("ko", ["한국", unicodedata.normalize("NFD", "한국"), "ᄒ\u1161\u11abᄀ\u116e\u11a8"]),
        ("hy", ["ինչպե՞ս", "Ինչպես"]),
        ("hi", ["२०२०", "2020", "２０２０"]),
        ("en", ["1,000,000", "1.000.000", "1\u202f000\u202f000", "1’000’000", "١٬٠٠٠٬٠٠٠", "1000000"]),
        ("en", ["U.S.A", "u.s.a", "USA"]),
        ("en", ["ﬁne", "fine"]),
    ],
)
def test_forms_with_the_same_folding(language: str, forms: list[str]) -> None:
    assert len({fold(form, language) for form in forms}) == 1


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("da", ["øl", "ol"]),
        ("pl", ["łaska", "laska"]),
        ("vi", ["ma", "má", "mà", "mả", "mã", "mạ"]),
        ("ru", ["и", "й"]),
        ("uk", ["і", "ї"]),
        ("mk", ["г", "ѓ"]),
        ("ar", ["شئ", "شي"]),
        ("hi", ["कि", "की", "क"]),
        ("th", ["ไก่", "ไก"]),
        ("ja", ["が", "か"]),
        ("ug", ["ى", "ي"]),
        ("sd", ["ڪ", "ک"]),
        ("tr", ["ı", "i"]),
        ("en", ["3.14", "314"]),
    ],
)
def test_forms_with_different_foldings(language: str, forms: list[str]) -> None:
    assert len({fold(form, language) for form in forms}) == len(forms)


@pytest.mark.parametrize("language", ["en", "tr", "vi", "ar", "ug"])
def test_folding_is_stable_for_every_character(language: str) -> None:
    """Every assigned character but the regular Hangul syllables and rare ideographs, alone."""
    folding = folder(language)
    for code in [*range(0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x11000), *range(0x1D400, 0x1F200)]:
        character = chr(code)
        once = folding(character)
        assert folding(once) == once, hex(code)
        if once != character:
            assert folding(unicodedata.normalize("NFC", character)) == once, hex(code)
            assert folding(unicodedata.normalize("NFD", character)) == once, hex(code)


def test_every_language_folds_plain_words_alike() -> None:
    for language in LANGUAGES:
        assert fold("Hello", language) == "hello"
        assert fold("2024", language) == "2024"


def test_the_cache_is_bounded() -> None:
    for number in range(70_000):
        fold(f"é{number}", "eo")
        assert len(folded_words("eo")) <= 65_536
