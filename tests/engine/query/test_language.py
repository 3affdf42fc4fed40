from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.engine.query import language as language_module
from dragoman.engine.query.language import detect

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
    assert detect("pasta solar", CANDIDATES, nothing).language != "en"
    knows = dictionary(en="pasta solar house", de="klima haus", fr="maison change")
    assert detect("pasta solar", CANDIDATES, knows).language == "en"
    assert detect("Haus", CANDIDATES, knows).language == "de"


def test_of_words_of_several_languages_those_count_more_that_can_be_searched_from() -> None:
    assert detect("inflation", ["en", "fr"], nothing, {"en": 1.0, "fr": 0.2}.__getitem__).language == "en"
    assert detect("Restaurant", ["en", "fr"], nothing, {"en": 0.0, "fr": 1.0}.__getitem__).language == "fr"
    assert detect("Restaurant", ["en", "fr"], nothing, {"en": 1.0, "fr": 0.0}.__getitem__).language == "en"
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


ENGLISH = (
    "coal mine accident",
    "election fraud",
    "art theft",
    "Anna is nice.",
    "golden parachute",
    "air pollution",
    "iron ore",
    "wooden spoon",
    "heart attack",
    "bridge collapse",
    "water shortage",
    "train strike",
    "museum robbery",
    "forest fire",
    "bank merger",
    "flood damage",
)
COLLECTIONS = ("ar", "de", "el", "en", "es", "fr", "hi", "id", "it", "nl", "pt", "ru", "tr", "vi", "zh")


@pytest.mark.parametrize("query", ENGLISH)
def test_plain_english_is_english_with_collections_in_fifteen_languages(query: str) -> None:
    assert detect(query, COLLECTIONS, nothing).language == "en"
    assert detect(query, COLLECTIONS, nothing, readers=["en"]).language == "en"


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("Bankraub in Hamburg", "de"),
        ("accidente de tren", "es"),
        ("accident de train", "fr"),
        ("kebakaran hutan", "id"),
        ("sciopero dei treni", "it"),
        ("woningbrand gisteren", "nl"),
        ("incêndio na floresta", "pt"),
        ("orman yangını", "tr"),
        ("cháy rừng", "vi"),
        ("лесной пожар", "ru"),
        ("森林火灾", "zh"),
        ("finde mir den Film The Yellow Carpet", "de"),
        ("Sky να", "el"),
    ],
)
@pytest.mark.parametrize("readers", [(), ("en",)])
def test_other_short_queries_are_told_beside_english_readers(
    query: str, language: str, readers: tuple[str, ...]
) -> None:
    assert detect(query, COLLECTIONS, nothing, readers=readers).language == language


def test_a_word_of_several_languages_is_the_readers() -> None:
    for language in ("en", "fr", "nl"):
        assert detect("Restaurant", COLLECTIONS, nothing, readers=[language]).language == language


def test_a_reader_s_language_is_a_candidate_and_stands_in_where_nothing_tells() -> None:
    assert detect("2019", ["en", "de"], nothing, readers=["sw"]).language == "sw"
    assert detect("maji safi na usafi wa mazingira", ["en"], nothing, readers=["sw"]).language == "sw"


def test_a_sentence_is_told_whoever_reads_it() -> None:
    for text, language in (("Wer entdeckte das Penicillin?", "de"), ("who discovered penicillin", "en")):
        found = detect(text, COLLECTIONS, nothing, readers=["fr"])
        assert found.language == language and found.probability > 0.9 and not found.unsure


def test_an_ambiguous_word_is_less_sure_than_a_sentence() -> None:
    assert detect("Panama", COLLECTIONS, nothing).probability < 0.9
    assert detect("2019", COLLECTIONS, nothing).unsure


def test_memory_that_models_took_to_be_read_is_returned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    returned: list[bool] = []
    monkeypatch.setattr(language_module, "_LOADED", set())
    monkeypatch.setattr(language_module, "return_freed", lambda: returned.append(True))
    for candidates in (["de", "en"], ["de", "en"], ["de"], ["de", "en", "fr"]):
        detect("Das Schiff liegt im Hafen.", candidates, lambda language, word: False)
    assert len(returned) == 2


def test_a_decomposed_text_is_as_its_composed_form() -> None:
    composed = detect("giả thiết", COLLECTIONS, nothing)
    assert composed.language == "vi"
    assert detect(unicodedata.normalize("NFD", "giả thiết"), COLLECTIONS, nothing) == composed


@settings(max_examples=100, deadline=None)
@given(
    st.text(max_size=40),
    st.lists(st.sampled_from(CANDIDATES), min_size=1, unique=True),
    st.lists(st.sampled_from(CANDIDATES), max_size=3, unique=True),
)
def test_a_reader_makes_their_language_no_less_likely(text: str, candidates: list[str], readers: list[str]) -> None:
    plain, read = detect(text, {*candidates, *readers}, nothing), detect(text, candidates, nothing, readers=readers)
    assert 0.0 < read.probability <= 1.0
    if plain.language in readers:
        assert read.language in readers
    if not readers:
        assert (read.language, read.decided) == (plain.language, plain.decided)
        assert read.probability == pytest.approx(plain.probability)


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=60),
    st.lists(st.sampled_from([*CANDIDATES, "bem", "am", "fon"]), min_size=1, unique=True),
)
def test_the_answer_is_always_a_candidate(text: str, candidates: list[str]) -> None:
    assert detect(text, candidates, nothing).language in candidates
