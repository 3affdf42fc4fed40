"""Word splitting: offsets are exact, and equivalent spellings give the same words."""

import sys
import unicodedata
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.text import compatibility
from dragoman.lexicon.text import tokens as module
from dragoman.lexicon.text.compatibility import write_out
from dragoman.lexicon.text.languages import UnknownLanguage
from dragoman.lexicon.text.segmentation import UNSPACED_LETTERS
from dragoman.lexicon.text.tokens import PlainAnalysis, Token, fold, fold_term, is_elided, word_forms, words

SCRIPTS = {
    "en": "abcxyzABCXYZ",
    "fr": "lLaeéèçœÉàqu’'",
    "de": "aäöüßẞÄs",
    "tr": "iıIİşŞçğa",
    "vi": "aăâđếỗợƯưỳ",
    "ro": "aășşțţŢ",
    "ru": "аёйЁщЙь",
    "uk": "їіґ'’м",
    "el": "αάςΣϊΐΏ",
    "ar": "اأإآىيةهكلـَُّ",
    "fa": "یيکكهۀەم\u200cآ",
    "he": 'שלוםךָּ״׳"',
    "hi": "कखिीुं़्ज़",
    "ml": "നൻ്രർ\u200d",
    "th": "กขน้ำาํเแ",
    "km": "កខា្ិ",
    "my": "ကခ်ာ့",
    "zh": "我爱北京々〇",
    "ja": "がかゴごーｶﾞ語",
    "ko": "한국어가각",
    "am": "አማርኛ",
    "hy": "եւևՀ՞",
    "so": "go'ańx",
    "yo": "ẹọṣéà",
}
SEPARATORS = " \t\n.,;:!?-–'’\"()[]/·0123456789٣३１\u00a0"
INVISIBLE = "\u200c\u200d\u200e\u200f\u00ad\u2060\u061c\ufeff"

languages = st.sampled_from(sorted(SCRIPTS))


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    """A text in the letters of one language, among separators, digits and anything else at all."""
    language = draw(languages)
    own = st.sampled_from(SCRIPTS[language])
    pieces = draw(
        st.lists(st.one_of(own, own, own, st.sampled_from(SEPARATORS + INVISIBLE), st.characters()), max_size=30)
    )
    return language, "".join(pieces)


@st.composite
def ordinary(draw: st.DrawFn) -> tuple[str, str]:
    """A text of assigned letters, marks, digits and common separators: what people write."""
    language = draw(languages)
    alphabet = SCRIPTS[language] + SEPARATORS + "abcé"
    return language, draw(st.text(st.sampled_from(alphabet), max_size=30))


def folded(text: str, language: str) -> list[str]:
    return [token.word for token in words(text, language)]


@given(texts())
def test_offsets_are_exact_and_in_order(sample: tuple[str, str]) -> None:
    language, text = sample
    previous = 0
    for token in words(text, language):
        assert token.start < token.end <= len(text)
        whole = text[token.start : token.end]
        several = write_out(whole) is not None  # both words of a fraction have its place
        assert previous <= token.start or several
        within = fold(whole, language)
        assert fold(token.word, language) in within if several else fold(token.word, language) == within
        assert token.term == ("" if is_elided(token.word) else token.word)
        assert token.word and not any(character.isspace() for character in token.word)
        previous = token.end


@given(texts())
def test_nothing_but_separators_lies_between_words(sample: tuple[str, str]) -> None:
    language, text = sample
    if language == "en" or language == "tr":
        return
    covered = {i for token in words(text, language) for i in range(token.start, token.end)}
    for i, character in enumerate(text):
        if unicodedata.category(character) in ("Lu", "Ll", "Lo", "Nd") and i not in covered:
            assert not fold(character, language).strip() or regex.match(r"[\uFC5E-\uFC63\uFE70-\uFE7E]", character)


@given(texts())
def test_canonically_equivalent_texts_have_the_same_words(sample: tuple[str, str]) -> None:
    language, text = sample
    assert folded(unicodedata.normalize("NFD", text), language) == folded(text, language)
    assert folded(unicodedata.normalize("NFC", text), language) == folded(text, language)


@given(texts())
def test_fold_is_idempotent(sample: tuple[str, str]) -> None:
    language, text = sample
    once = fold(text, language)
    assert fold(once, language) == once
    assert fold(unicodedata.normalize("NFD", text), language) == once


@given(ordinary())
def test_full_width_forms_make_no_difference(sample: tuple[str, str]) -> None:
    language, text = sample
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    assert folded(wide, language) == folded(text, language)


@given(ordinary(), st.data())
def test_invisible_characters_inside_a_word_make_no_difference(sample: tuple[str, str], data: st.DataObject) -> None:
    language, text = sample
    plain = words(text, language)
    inner = [i for token in plain for i in range(token.start + 1, token.end)]
    if not inner:
        return
    place = data.draw(st.sampled_from(inner))
    mark = data.draw(st.sampled_from(INVISIBLE))
    if regex.match(r"[\d.,'’\u00a0]", text[place - 1]) or regex.match(r"[\d.,'’\u00a0]", text[place]):
        return
    marked = text[:place] + mark + text[place:]
    assert folded(marked, language) == [token.word for token in plain]


@given(ordinary())
def test_a_joined_term_splits_into_the_same_words(sample: tuple[str, str]) -> None:
    language, text = sample
    apart = folded(text, language)
    assert folded(" ".join(apart), language) == apart
    term = fold_term(text, language)
    assert fold_term(term, language) == term


@pytest.mark.parametrize(
    ("language", "text", "term"),
    [
        ("en", "  To-the  dog's HOUSE! ", "to the dog house"),
        ("zh", "北京大学 ２", "北京大学 2"),
        ("th", "สวัสดี", "สวัสดี"),
        ("de", "…", ""),
    ],
)
def test_terms_are_folded_words_with_unspaced_runs_whole(language: str, text: str, term: str) -> None:
    assert fold_term(text, language) == term


@given(ordinary())
def test_case_makes_no_difference(sample: tuple[str, str]) -> None:
    language, text = sample
    if language == "tr" or "ß" in text:
        return
    upper, lower = (folded(one, language) for one in (text.upper(), text.lower()))
    assert [fold(word, language) for word in upper] == [fold(word, language) for word in lower]


@given(st.text(st.sampled_from("abzAZéÜßñạẾЖжіαΩ09 .,'’-–\n«»!€_@"), max_size=40), languages)
def test_the_fast_path_finds_what_the_general_pattern_finds(text: str, language: str) -> None:
    assert module._PLAIN_TEXT.fullmatch(text)
    fast = [match.span() for match in module._PLAIN_WORD.finditer(text)]
    assert fast == [match.span() for match in module._WORD.finditer(text)]


GENERAL = regex.compile(module._WORD.pattern.removeprefix(f"{module._ORDINARY}|"), regex.V1)


@given(
    st.text(st.sampled_from("abAéαЖàн\u0301\u0302אبكпकाี้ก我カー〇ⅫⅣ09٣.．,'’·\"״\u00ad\u200c\u0640 -\n"), max_size=24)
)
def test_trying_ordinary_words_first_changes_none(text: str) -> None:
    assert [found.span() for found in module._WORD.finditer(text)] == [found.span() for found in GENERAL.finditer(text)]


PIECES = ["don't", "L’été", "l'eau", "Größe", "1,000", "U.S.", "我爱", "ΆΣ", "—", "x·y", "'"]


@given(st.lists(st.sampled_from(PIECES), max_size=6), st.sampled_from(["en", "fr", "tr", "de", "zh", "el"]))
def test_word_forms_are_the_words(parts: list[str], language: str) -> None:
    texts = [" ".join(parts), "".join(parts), *parts]
    assert word_forms(texts, language) == [[token.word for token in words(text, language)] for text in texts]


@pytest.mark.parametrize("language", ["ja", "en"])
def test_plain_ideographs_are_unchanged(language: str) -> None:
    for code in range(0x4E00, 0xA000):
        assert fold(chr(code), language) == chr(code)


def test_a_chinese_ideograph_stays_one_character() -> None:
    """What `segment_run` relies on: a folded run has the offsets of the run."""
    every = "".join(chr(code) for code in range(0x4E00, 0xA000))
    simplified = fold(every, "zh")
    assert len(simplified) == len(every)
    assert fold(simplified, "zh") == simplified
    assert sum(a != b for a, b in zip(every, simplified, strict=True)) > 3000


@pytest.mark.parametrize(
    ("traditional", "simplified"),
    [("圖書館", "图书馆"), ("學習自然語言處理", "学习自然语言处理"), ("後來裡面", "后来里面")],
)
def test_traditional_and_simplified_chinese_are_one_word(traditional: str, simplified: str) -> None:
    assert fold(traditional, "zh") == fold(simplified, "zh") == simplified
    assert fold_term(traditional, "zh") == simplified
    assert fold(traditional, "ja") == traditional


def test_every_letter_of_the_fast_path_is_a_letter_of_the_general_one() -> None:
    for code in range(0x250):
        character = chr(code)
        if module._PLAIN_TEXT.fullmatch(character):
            assert bool(module._PLAIN_WORD.match(character)) == bool(module._WORD.match(character)), character
    for code in (*range(0x370, 0x530), *range(0x1E00, 0x1F00)):
        character = chr(code)
        if module._PLAIN_TEXT.fullmatch(character) and unicodedata.category(character) != "Cn":
            assert bool(module._PLAIN_WORD.match(character)) == bool(module._WORD.match(character)), character


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "en",
            "Don't feed the dog's well-known bone",
            ["don't", "feed", "the", "dog", "well", "known", "bone"],
        ),
        ("en", "O’Neill’s rock'n'roll", ["o'neill", "rock'n'roll"]),
        ("en", "The U.S. and the U.S.A., e.g. a.bc", ["the", "US", "and", "the", "usa", "eg", "a", "bc"]),
        (
            "en",
            "1,000 and 1,234.56 and 10km, 1,000km, 3.14",
            ["1000", "and", "1234", "56", "and", "10km", "1000km", "3", "14"],
        ),
        ("de", "1.000 Straßen, 11.09.2001", ["1000", "strassen", "11", "09", "2001"]),
        ("fr", "L’homme d'aujourd'hui qu'on aime", ["l'", "homme", "d'", "aujourd'hui", "qu'", "on", "aime"]),
        ("it", "dell'anno un'altra", ["dell'", "anno", "un'", "altra"]),
        (
            "it",
            "l' olio d’ oliva, vitamina D, 'd' e l'8 settembre",
            ["l'", "olio", "d'", "oliva", "vitamina", "d", "d", "e", "l'", "8", "settembre"],
        ),
        ("it", "quest'anno a Sant'Anna", ["quest'", "anno", "a", "sant'", "anna"]),
        ("tr", "Türkiye'nin İSTANBUL’da ISPARTA O'Connor", ["turkiye", "istanbul", "ısparta", "o'connor"]),
        ("ca", "col·legi d'estiu · fi", ["col·legi", "d'", "estiu", "fi"]),
        ("uk", "м'ята п’ять", ["м'ята", "п'ять"]),
        ("he", 'צה״ל צה"ל "שלום" ג׳ורג׳', ["צהל", "צהל", "שלום", "גורג"]),
        ("so", "go'aan lo'", ["go'aan", "lo"]),
        ("hy", "ինչպե՞ս", ["ինչպես"]),
        ("ar", "١٬٢٣٤ مُحَمَّد", ["1234", "محمد"]),
        ("hi", "२०२० हिन्दी", ["2020", "हिन्दी"]),
        ("th", "๑๒ น้ำ", ["12", "น้ำ"]),
        ("zh", "我爱ABC公司，２０２０", ["我", "爱", "abc", "公", "司", "2020"]),
        ("ja", "サーバーｶﾞ", ["サー", "バー", "ガ"]),
        ("my", "မြန်မာ", ["မြန်မာ"]),
        ("en", "a\u200bb snake_case x²", ["a", "b", "snake", "case", "x2"]),
        ("en", "\u0301 \u200f ـ 😀 — …", []),
    ],
)
def test_words_of_real_texts(language: str, text: str, expected: list[str]) -> None:
    assert folded(text, language) == expected


@pytest.mark.parametrize(
    ("language", "text"),
    [("it", "gioielli d'oro"), ("ca", "gioielli d’oro"), ("oc", "gioielli d' oro"), ("ga", "gioielli d'oro")],
)
def test_an_elided_word_has_no_term(language: str, text: str) -> None:
    assert [(token.word, token.term) for token in words(text, language)] == [
        ("gioielli", "gioielli"),
        ("d'", ""),
        ("oro", "oro"),
    ]
    assert fold_term(text, language) == fold_term(fold_term(text, language), language) == "gioielli d' oro"


def test_spans_include_characters_that_folding_drops() -> None:
    text = "\u200fکتاب\u200c\u200fها\u200f!"
    assert words(text, "fa") == [Token("كتابها", "كتابها", 1, len(text) - 2)]


def test_a_segmenter_gets_folded_runs_and_its_words_are_placed_in_the_text() -> None:
    seen: list[str] = []

    def segment(run: str) -> list[tuple[int, int]]:
        seen.append(run)
        return [(0, 2), (3, 4)]

    text = "x か\u3099キﾞ語字 y"
    assert [(t.word, t.start, t.end) for t in words(text, "ja", segment)] == [
        ("x", 0, 1),
        ("がギ", 2, 6),
        ("字", 7, 8),
        ("y", 9, 10),
    ]
    assert seen == ["がギ語字"]


@pytest.mark.parametrize("spans", [[(0, 9)], [(1, 1)], [(1, 2), (0, 1)], [(-1, 1)]])
def test_invalid_spans_of_a_segmenter_are_refused(spans: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="segmenter returned"):
        words("我爱北京", "zh", lambda run: spans)


def test_plain_analysis() -> None:
    analysis = PlainAnalysis("sw")
    assert [t.term for t in analysis.tokens("Ng'ombe ni WANYAMA")] == ["ng'ombe", "ni", "wanyama"]
    assert analysis.language == "sw"
    assert analysis.fingerprint != PlainAnalysis("so").fingerprint
    assert PlainAnalysis("zh", lambda run: [(0, 1)], "1").fingerprint != PlainAnalysis("zh").fingerprint


def test_plain_analysis_refuses_a_segmenter_without_a_version() -> None:
    with pytest.raises(UnknownLanguage):
        PlainAnalysis("xx")
    with pytest.raises(ValueError, match="version"):
        PlainAnalysis("zh", lambda run: [])


def test_words_of_hundreds_of_thousands_of_characters_are_read_whole() -> None:
    """With a step for each pair of characters this would not come to an end."""
    for text in (
        "a" * 300_000,
        "a\u200d" * 150_000,
        "a" + "\u200d" * 300_000,
        "1,000" * 60_000,
        "a." * 150_000,
        "\u0301" * 300_000,
        "ก\u200d" * 100_000 + "\u200d" * 100_000,
        "a'" * 150_000,
    ):
        found = words(text, "en")
        assert all(one.end <= other.start for one, other in pairwise(found))
        inside = bytearray(len(text))
        for token in found:
            inside[token.start : token.end] = bytes([1]) * (token.end - token.start)
        assert all(inside[place] for place, letter in enumerate(text) if letter.isalnum())


@given(texts())
def test_a_text_and_the_key_of_a_table_have_the_same_words(sample: tuple[str, str]) -> None:
    language, text = sample
    if regex.search(rf"[{UNSPACED_LETTERS}]", text):
        return  # keys have such runs whole
    found = folded(text, language)
    assert folded(fold_term(text, language), language) == found


@pytest.mark.parametrize(
    ("written", "plain", "other"),
    [("CO₂", "CO2", "CO"), ("H₂O", "h2o", "HO"), ("m²", "m2", "m"), ("½", "1/2", "12"), ("ﬁne", "fine", "ne")],
)
def test_compatibility_forms_are_written_out_before_words_are_cut(written: str, plain: str, other: str) -> None:
    assert folded(written, "en") == folded(plain, "en") != folded(other, "en")
    assert folded(f"x {written} y", "en") == ["x", *folded(plain, "en"), "y"]
    assert fold_term(written, "en") == fold_term(plain, "en")


def test_no_compatibility_form_is_in_the_planes_that_are_left_out() -> None:
    left_out = "".join(map(chr, range(compatibility._END, sys.maxunicode + 1)))
    assert " " not in unicodedata.normalize("NFKC", left_out)
    assert regex.search(r"[\p{No}\p{So}\p{Sm}]", left_out) is None


def test_a_raised_digit_after_a_longer_word_is_a_note() -> None:
    assert folded("Wasser² und m²", "de") == ["wasser", "2", "und", "m2"]


def test_powers_and_notes_are_apart_from_what_they_stand_at() -> None:
    assert folded("10⁶ 2019¹", "en") == ["10", "6", "2019", "1"]
    for form in ("NFC", "NFD"):
        assert folded(unicodedata.normalize(form, "café¹ भारत¹"), "hi") == ["cafe", "1", "भारत", "1"]


def test_one_character_for_several_words_is_cut() -> None:
    assert folded("ﷺ", "ar") == folded("صلى الله عليه وسلم", "ar")


def test_a_word_of_many_marks_is_cut_in_time() -> None:
    found = folded("a" + "\u0301\u0316" * 200_000, "en")
    assert found == ["a"]
