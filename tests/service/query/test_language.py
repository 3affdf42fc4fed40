from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.service.query.language import detect

CANDIDATES = [
    "en",
    "de",
    "es",
    "fr",
    "ru",
    "zh",
    "ar",
    "ja",
    "sw",
    "so",
    "hi",
    "th",
    "vi",
    "tr",
    "el",
    "fa",
    "nl",
]


def nothing(language: str, word: str) -> bool:
    return False


def dictionary(**sides: str) -> Callable[[str, str], bool]:
    known = {(language, word) for language, words in sides.items() for word in words.split()}
    return lambda language, word: (language, word) in known


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("who discovered penicillin", "en"),
        ("Wer entdeckte das Penicillin?", "de"),
        ("¿quién descubrió la penicilina?", "es"),
        ("кто открыл пенициллин", "ru"),
        ("谁发现了青霉素", "zh"),
        ("ペニシリンを発見したのは誰ですか", "ja"),
        ("من اكتشف البنسلين", "ar"),
        ("chi phí điện mặt trời là bao nhiêu", "vi"),
        ("maji safi na usafi wa mazingira", "sw"),
        ("ποιος ανακάλυψε την πενικιλίνη", "el"),
    ],
)
def test_a_sentence_is_told_by_its_letters_alone(text: str, language: str) -> None:
    assert detect(text, CANDIDATES, nothing).language == language


@pytest.mark.parametrize(
    "question",
    [
        "When was the last eruption of the volcano?",
        "Where is the volcano?",
        "Who built the harbour?",
        "What is the interest rate?",
        "How old is the bridge?",
        "Is the drought over?",
        "When does the night train leave?",
    ],
)
def test_a_short_question_is_told_though_a_table_lacks_the_words_of_questions(question: str) -> None:
    tables = dictionary(en="volcano harbour", de="vulkan hafen was die last war is", es="volcan puerto", it="eruzione")
    assert detect(question, CANDIDATES, tables).language == "en"


def test_words_that_a_table_knows_outweigh_the_letters() -> None:
    assert detect("solar tomb", CANDIDATES, nothing).language != "en"
    knows = dictionary(en="solar tomb house", de="klima haus", fr="maison change")
    assert detect("solar tomb", CANDIDATES, knows).language == "en"
    assert detect("Haus", CANDIDATES, knows).language == "de"


def test_of_words_of_several_languages_those_count_more_that_can_be_searched_from() -> None:
    assert detect("inflation", ["en", "fr", "de"], nothing).language != "en"
    assert detect("inflation", ["en", "fr"], nothing, {"en": 1.0, "fr": 0.2}.__getitem__).language == "en"
    assert (
        detect("le taux d'inflation en France", ["en", "fr"], nothing, {"en": 1.0, "fr": 0.2}.__getitem__).language
        == "fr"
    )


def test_a_word_known_in_one_language_only_is_that_language() -> None:
    knows = dictionary(es="gato perro", it="cane")
    assert detect("gato", ["en", "es", "it"], knows).language == "es"


def test_a_language_without_a_model_is_told_by_its_words() -> None:
    knows = dictionary(bem="amenshi ubumi", en="water")
    assert detect("amenshi", ["bem", "en"], knows).language == "bem"
    assert detect("water", ["bem", "en"], knows).language == "en"


@pytest.mark.parametrize(("text", "language"), [("ውሃ ንጹህ", "am"), ("ရေ", "my"), ("ದೇಶ", "kn"), ("ජලය", "si")])
def test_a_script_of_its_own_tells_a_language_without_a_model(text: str, language: str) -> None:
    found = detect(text, ["en", "am", "my", "kn", "si", "bem"], nothing)
    assert (found.language, found.decided) == (language, True)


@pytest.mark.parametrize("text", ["2019", "???", "12.5 %", "🙂", "-- !!"])
def test_a_query_without_letters_is_undecided_and_taken_as_english(text: str) -> None:
    found = detect(text, CANDIDATES, nothing)
    assert (found.language, found.decided) == ("en", False)


def test_letters_of_no_candidate_are_undecided() -> None:
    found = detect("שלום", ["en", "de", "bem"], nothing)
    assert (found.language, found.decided) == ("en", False)


def test_without_english_the_first_candidate_stands_in() -> None:
    assert detect("2019", ["ru", "de"], nothing).language == "de"


def test_one_candidate_that_fits_is_taken() -> None:
    assert detect("Regierung", ["de"], nothing).language == "de"


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=60),
    st.lists(st.sampled_from([*CANDIDATES, "bem", "am", "fon"]), min_size=1, unique=True),
)
def test_the_answer_is_always_a_candidate(text: str, candidates: list[str]) -> None:
    assert detect(text, candidates, nothing).language in candidates
