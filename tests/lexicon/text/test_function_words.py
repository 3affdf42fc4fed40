"""Function words: the lists are well formed, and words are held against them as they are written."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.text.folding import fold
from dragoman.lexicon.text.function_words import folded_function_words, function_words, is_function_word, read_rows
from dragoman.lexicon.text.languages import LANGUAGES
from dragoman.lexicon.text.tokens import words

LISTED = sorted(language for language in LANGUAGES if function_words(language))
REQUIRED = (
    "ar bg bn ca cs da de el en es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko ky lo lt lv mk ml "
    "mr ms my nb ne nl nn no pa pl ps pt ro ru rw si sk sl so sq sr sv sw ta te tg th tl tr uk ur uz vi xh yo zh zu af "
    "am az be"
)
TYPED_ALIKE = {"fa", "kk", "ml", "ps", "ro", "ru", "ur", "yi"}
"""Languages in which a letter is another's equal."""


def _whole(run: str) -> list[tuple[int, int]]:
    return [(0, len(run))]


def _upper(letter: str, language: str) -> str:
    return {"i": "İ", "ı": "I"}.get(letter, letter.upper()) if language in ("tr", "az") else letter.upper()


def test_required_languages_have_lists() -> None:
    assert [language for language in REQUIRED.split() if len(function_words(language)) < 60] == []
    assert function_words("no") == function_words("nb")


@pytest.mark.parametrize("language", LISTED)
def test_listed_words_are_single_words(language: str) -> None:
    listed = function_words(language)
    assert [word for word in listed if unicodedata.normalize("NFC", word) != word] == []
    apart = {word: [token.word for token in words(word, language, _whole)] for word in listed}
    assert {word: found for word, found in apart.items() if found != [fold(word, language)]} == {}
    assert folded_function_words(language) == {fold(word, language) for word in listed}
    assert [word for word in listed if any(character.isdigit() for character in word)] == []


@pytest.mark.parametrize(
    ("language", "content"),
    [
        ("ru", "жизнь человек мир дом год"),
        ("es", "té Estado estado parte vida"),
        ("cs", "zprávy místo život"),
        ("hi", "घर कर मत"),
        ("nl", "haar wees tijd"),
        ("it", "faccia stato anno"),
        ("tr", "on bin yüz"),
        ("fr", "sûr été or point"),
        ("de", "Mann mann Waren Würde Zeit"),
        ("en", "may might mine make go say today three"),
        ("ar", "علي حرب أم"),
        ("ko", "사람 은 도"),
        ("ja", "こと 人"),
        ("xx", "the"),
        ("", "the"),
    ],
)
def test_content_words_are_none(language: str, content: str) -> None:
    assert [word for word in content.split() if is_function_word(word, language)] == []


@pytest.mark.parametrize(
    ("language", "written"),
    [
        ("es", "te Qué que quién"),
        ("fr", "sur Sur SUR e\u0302tes Quelqu’un"),
        ("en", "the How many can will don’t DON'T"),
        ("de", "der dass daß AUSSER außer wieviele"),
        ("ru", "кто ЧЬЁ чье её ее чь\u0435\u0308 ч\u0435\u0301м"),
        ("ar", "مِنْ من هٰذا فـي أَنَّ"),
        ("he", "שֶׁל של אֲנִי"),
        ("yi", "אַלע אלע"),
        ("fa", "كه این اين می\u200cشود میشود"),
        ("tr", "HANGİ KAÇ Nasıl NASIL için İÇİN"),
        ("az", "HANSI NİYƏ"),
        ("el", "ΑΥΤΌΣ αυτός"),
        ("sr", "који koji"),
        ("uz", "bo‘lgan boʻlgan бўлган"),
        ("hy", "ինչպե՞ս և եւ"),
        ("ml", "എന്റെ എൻറെ എന\u0d4d\u200dറെ"),
        ("zh", "什么 什麼 谁"),
        ("vi", "của cu\u0309a"),
        ("no", "ikke"),
    ],
)
def test_function_words_as_they_are_written(language: str, written: str) -> None:
    assert [word for word in written.split() if not is_function_word(word, language)] == []


def test_accents_of_latin_and_greek_letters_matter() -> None:
    assert not is_function_word("té", "es") and "te" in folded_function_words("es")
    assert not is_function_word("αυτος", "el")
    assert not is_function_word("thé", "en")
    assert not is_function_word("a" + "\u0301" * 100_000, "es")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("en\tthe\n# note\nen\ta", "line 3: en has a row already"),
        ("en\tthe a the", "line 1: the is twice"),
        ("en\tThe", "line 1: The is not in lower case"),
        ("es\tque\u0301", "line 1: .* is not in lower case and NFC"),
        ("en\tthe  a", "line 1: words are separated by single spaces"),
        ("en\t", "line 1: words are separated by single spaces"),
        ("\nxx\tthe", "line 2: unknown language code 'xx'"),
        ("no\tikke", "line 1: no is written under nb"),
        ("en the", "line 1: a row is a language, a tab and words"),
        ("en\tthe\ta", "line 1: a row is a language, a tab and words"),
    ],
)
def test_malformed_rows_name_their_line(rows: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_rows(rows)


def test_rows() -> None:
    assert read_rows("# of closed classes\nen\tthe a\ntr\tkaç hangi\n") == {
        "en": frozenset({"the", "a"}),
        "tr": frozenset({"kaç", "hangi"}),
    }


@given(st.data())
def test_any_case_of_a_listed_word_is_found(data: st.DataObject) -> None:
    language = data.draw(st.sampled_from(LISTED))
    word = data.draw(st.sampled_from(sorted(function_words(language))))
    upper = data.draw(st.lists(st.booleans(), min_size=len(word), max_size=len(word)))
    written = "".join(_upper(letter, language) if high else letter for letter, high in zip(word, upper, strict=True))
    assert is_function_word(written, language)
    assert is_function_word(unicodedata.normalize("NFD", written), language)


@given(st.data())
def test_a_word_with_a_letter_more_is_none_unless_it_is_listed(data: st.DataObject) -> None:
    language = data.draw(st.sampled_from([code for code in LISTED if code not in TYPED_ALIKE]))
    listed = sorted(function_words(language))
    word = data.draw(st.sampled_from(listed))
    letter = data.draw(st.sampled_from(sorted({letter for word in listed for letter in word if letter.isalpha()})))
    place = data.draw(st.integers(0, len(word)))
    longer = unicodedata.normalize("NFC", word[:place] + letter + word[place:])
    assert is_function_word(longer, language) == (longer in function_words(language))
