from __future__ import annotations

import unicodedata
from collections import Counter
from functools import cache
from itertools import product

import pytest
import regex

from dragoman_lab.reasoning.theories.generate import generate
from dragoman_lab.reasoning.theories.languages import GRAMMARS
from dragoman_lab.reasoning.theories.logic import Fact, Rule, Statement
from dragoman_lab.reasoning.theories.render import LANGUAGES, order_sentences, render, render_part, render_statement
from dragoman_lab.reasoning.theories.vocabulary import ANIMALS, ATTRIBUTES, PERSONS, RELATIONS
from tests.lab.reasoning.theories.gold import PARTS, SENTENCES, not_so, so

SCRIPTS = {"ru": "Cyrillic", "el": "Greek", "ar": "Arabic", "zh": "Han", "hi": "Devanagari"}


def said(part: Statement | Rule, language: str) -> str:
    return render_part(part, language) if isinstance(part, Rule) else render_statement(part, language)


@cache
def statements() -> list[Statement]:
    facts = [Fact(*of) for names in (PERSONS, ANIMALS) for of in product(names, ATTRIBUTES)]
    facts += [Fact(a, verb, b) for names in (PERSONS, ANIMALS) for a, verb, b in product(names, RELATIONS, names)]
    return [Statement(fact, positive) for fact in facts for positive in (True, False)]


@cache
def rules() -> list[Rule]:
    return list(dict.fromkeys(rule for seed in range(40) for rule in generate(seed, 3).theory.rules))


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_are_those_that_were_proofread(language: str) -> None:
    assert [said(part, language) for part in PARTS] == SENTENCES[language].strip().splitlines()


def test_there_are_eleven_languages_of_five_scripts_and_more() -> None:
    assert set(LANGUAGES) == set(SENTENCES) >= {"en", "de", "fr", "es", "tr", "sw", *SCRIPTS}


@pytest.mark.parametrize(
    ("language", "statement", "sentence"),
    [
        ("de", not_so("fox", "help", "mouse"), "Der Fuchs hilft der Maus nicht."),
        ("de", so("Anna", "feed", "David"), "Anna füttert David."),
        ("fr", so("horse", "visit", "mouse"), "Le cheval rend visite à la souris."),
        ("fr", not_so("cow", "avoid", "squirrel"), "La vache n'évite pas l'écureuil."),
        ("fr", not_so("Maria", "happy"), "Maria n'est pas heureuse."),
        ("es", so("cow", "trust", "dog"), "La vaca confía en el perro."),
        ("es", not_so("squirrel", "clean"), "La ardilla no está limpia."),
        ("ru", so("mouse", "quiet"), "Мышь тихая."),
        ("ru", so("Thomas", "trust", "Elena"), "Томас доверяет Елене."),
        ("ru", not_so("lion", "avoid", "mouse"), "Лев не избегает мыши."),
        ("el", so("mouse", "lazy"), "Το ποντίκι είναι τεμπέλικο."),
        ("el", so("Thomas", "chase", "Sophia"), "Ο Θωμάς κυνηγάει τη Σοφία."),
        ("el", not_so("goat", "feed", "duck"), "Η κατσίκα δεν ταΐζει την πάπια."),
        ("ar", not_so("cow", "white"), "البقرة ليست بيضاء."),
        ("ar", not_so("bear", "red"), "الدب ليس أحمر."),
        ("ar", so("cat", "fear", "dog"), "القطة تخاف من الكلب."),
        ("zh", not_so("duck", "white"), "鸭子不是白色的。"),
        ("zh", so("David", "smart"), "大卫很聪明。"),
        ("hi", so("cow", "hungry"), "गाय भूखी है।"),
        ("hi", not_so("Anna", "help", "dog"), "अन्ना कुत्ते की मदद नहीं करती।"),
        ("tr", so("cow", "hungry"), "İnek açtır."),
        ("tr", not_so("Anna", "fear", "squirrel"), "Anna sincaptan korkmaz."),
        ("sw", not_so("lion", "trust", "cow"), "Simba hamwamini ng'ombe."),
        ("sw", so("cat", "like", "mouse"), "Paka anampenda panya."),
    ],
)
def test_forms_agree_and_objects_have_their_case(language: str, statement: Statement, sentence: str) -> None:
    assert render_statement(statement, language) == sentence


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_statements_are_said_alike(language: str) -> None:
    sentences = Counter(render_statement(statement, language) for statement in statements())
    assert sentences.most_common(1)[0][1] == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_rules_are_said_alike(language: str) -> None:
    assert len({render_part(rule, language) for rule in rules()}) == len(rules())


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_are_of_the_language_s_letters_and_well_formed(language: str) -> None:
    script = SCRIPTS.get(language, "Latin")
    letters = regex.compile(rf"[\p{{{script}}}\p{{M}} .,'،。，、।]+")
    for sentence in [said(part, language) for part in (*statements(), *rules())]:
        assert letters.fullmatch(sentence), sentence
        assert sentence == unicodedata.normalize("NFC", sentence)
        assert sentence.endswith(GRAMMARS[language].full_stop)
        assert sentence[0].upper() == sentence[0]
        assert "  " not in sentence


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_theory_s_statements_are_told_from_its_sentences(language: str) -> None:
    """A given fact is said as the theory says it, and nothing that is not given is."""
    for seed in range(12):
        puzzle = generate(seed, 2)
        sentences = render(puzzle.theory, language, seed)
        for question in puzzle.questions:
            given = question.statement.positive and question.statement.fact in puzzle.theory.facts
            assert (render_statement(question.statement, language) in sentences) == given


def test_texts_of_all_languages_are_parallel() -> None:
    theory = generate(1, 4).theory
    parts = order_sentences(theory, 5)
    assert Counter(parts) == Counter([*theory.facts, *theory.rules])
    for language in LANGUAGES:
        assert render(theory, language, 5) == [render_part(part, language) for part in parts]


def test_the_order_is_the_seed_s() -> None:
    theory = generate(1, 4).theory
    assert order_sentences(theory, 5) == order_sentences(theory, 5)
    assert len({tuple(order_sentences(theory, seed)) for seed in range(5)}) == 5


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(KeyError):
        render_statement(Statement(Fact("Anna", "big")), "xx")
