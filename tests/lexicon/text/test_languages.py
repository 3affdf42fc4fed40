import pytest

from dragoman.lexicon.text.languages import LANGUAGES, UnknownLanguage, check_language


def test_every_code_is_lower_case_and_named() -> None:
    for code, name in LANGUAGES.items():
        assert code.isascii() and code.islower() and len(code) in (2, 3)
        assert name.strip() == name and name


def test_iso_639_1_is_complete() -> None:
    assert sum(len(code) == 2 for code in LANGUAGES) == 183
    assert {"bem", "fon"} <= LANGUAGES.keys()


def test_known_code_is_returned() -> None:
    assert check_language("sw") == "sw"


def test_two_codes_of_one_language_are_one() -> None:
    assert check_language("no") == check_language("nb") == "nb"
    assert check_language("nn") == "nn"


@pytest.mark.parametrize("code", ["EN", "en-US", "en_GB", " en"])
def test_near_miss_is_refused_with_the_code_meant(code: str) -> None:
    with pytest.raises(UnknownLanguage, match="did you mean 'en'"):
        check_language(code)


@pytest.mark.parametrize("code", ["", "xx", "english", "\ud800", "../en", "e" * 10_000])
def test_unknown_code_is_refused(code: str) -> None:
    with pytest.raises(UnknownLanguage, match="unknown language code") as error:
        check_language(code)
    assert len(str(error.value)) < 200
