"""What denies in a statement or a sentence, what only looks so, and what follows for what they say of each other."""

from __future__ import annotations

import pytest

from dragoman.engine.qa.judging.denials import differs_by_denial, is_opposed
from dragoman.engine.qa.judging.denying import denies, surely_denies
from dragoman.engine.qa.judging.words import AnalysedText, Linker
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.indexes.analysis.pipeline import analysis


def analyse(text: str, language: str) -> AnalysedText:
    return Linker(analysis, Snapshot((), {})).analyse(text, language, language)


CLOSED = "The mayor closed the school."
NOT_CLOSED = [
    ("en", "The mayor did not close the school."),
    ("ru", "Мэр не закрыл школу."),
    ("es", "El alcalde no cerró la escuela."),
    ("ja", "市長は学校を閉鎖しなかった。"),
    ("fr", "Le maire n'a pas fermé l'école."),
]


@pytest.mark.parametrize(("language", "denied"), NOT_CLOSED)
def test_what_denies_never_says_what_does_not_in_any_language(language: str, denied: str) -> None:
    told, other = analyse(CLOSED, "en"), analyse(denied, language)
    assert is_opposed(told, other) and is_opposed(other, told)
    assert not is_opposed(other, other) and not is_opposed(told, told)


def test_a_long_sentence_that_denies_does_not_say_a_short_statement() -> None:
    long = (
        "Large studies of more than a million children have shown again and again that the vaccine does not cause"
        " autism."
    )
    assert is_opposed(analyse("The vaccine causes autism.", "en"), analyse(long, "en"))


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The mayor closed not only the school but the library."),
        ("en", "No less than 40 houses burned."),
        ("en", "No fewer than 40 houses burned."),
        ("en", "The mayor closed school No. 5."),
        ("de", "Der Bürgermeister schloss nicht nur die Schule, sondern auch die Bibliothek."),
        ("de", "Er schloss ohne Zweifel die Schule."),
        ("ru", "Мэр закрыл не только школу, но и библиотеку."),
        ("ru", "Мэр не мог не закрыть школу."),
        ("hi", "मेयर ने न केवल स्कूल बल्कि पुस्तकालय भी बंद किया।"),
        ("th", "นายกเทศมนตรีปิดไม่เพียงโรงเรียนแต่รวมถึงห้องสมุด"),
        ("ar", "أغلق العمدة ليس فقط المدرسة بل المكتبة أيضا."),
        ("ja", "市長は学校だけでなく図書館も閉鎖した。"),
        ("ja", "市長は学校を閉鎖しなければならなかった。"),
        ("ja", "水が少ない。"),
        ("ja", "その道は危ない。"),
        ("fr", "Le maire du Pas-de-Calais a fermé l'école."),
        ("fr", "C'est un pas vers la paix."),
        ("zh", "不丹在喜马拉雅山。"),
        ("zh", "不锈钢桥"),
        ("zh", "无人机飞过无锡。"),
        ("vi", "Không quân có mặt trong không gian."),
        ("vi", "Hãng hàng không mở cửa."),
        ("ko", "연못이 깊다."),
        ("cs", "Nemocnice stojí v Praze. Nejvyšší věž nechal starosta opravit."),
        ("tr", "Ali Yılmaz namaz kıldı."),
        ("sw", "Habari hii ni ya halmashauri."),
    ],
)
def test_what_only_looks_like_a_denial_is_none(language: str, text: str) -> None:
    assert not denies(text, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("fr", "L'école n'a plus de toit."),
        ("fr", "L’école n’est que ruine."),
        ("en", "He mustn't close it."),
        ("en", "He needn’t close it."),
        ("en", "It ain't closed."),
        ("en", "Not until Monday was it closed."),
        ("en", "The vaccine does not necessarily cause autism."),
        ("de", "Niemand schloss die Schule."),
        ("de", "Die Schule ist nirgends zu sehen."),
        ("de", "Er schloss kaum Schulen."),
        ("es", "Nada cerró."),
        ("it", "Nulla si chiuse, neanche la scuola."),
        ("pt", "Ninguém fechou a escola."),
        ("nl", "Niemand sloot de school."),
        ("nl", "Hij sloot niets."),
        ("ru", "Никто закрыл школу."),
        ("uk", "Ніхто закрив школу."),
        ("cs", "Starosta nezavřel školu."),
        ("fa", "شهردار مدرسه را نبست."),
        ("zh", "市长没关闭学校。"),
        ("tr", "Okulu kapatmaz."),
        ("tr", "Okulu kapatmamalı."),
        ("sw", "Meya hafungi shule."),
        ("sw", "Meya hasikii."),
        ("sw", "Hakufunga shule."),
        ("ko", "시장은 학교를 안 닫았다."),
    ],
)
def test_what_denies_is_seen(language: str, text: str) -> None:
    assert denies(text, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("es", "El alcalde no cerró más que la escuela."),
        ("it", "Il sindaco non ha chiuso che la scuola."),
        ("fr", "Le maire n'a fermé que l'école."),
        ("en", "No more than 40 houses burned."),
        ("ja", "市長は学校を閉鎖したかもしれない。"),
        ("ja", "市長は学校しか閉鎖しなかった。"),
        ("ko", "시장은 학교밖에 닫지 않았다."),
        ("ar", "لم يغلق العمدة سوى المدرسة."),
    ],
)
def test_what_may_only_restrict_neither_says_nor_denies(language: str, text: str) -> None:
    assert denies(text, language) and surely_denies(text, language) is None
    assert not differs_by_denial(analyse(text, language), analyse(text, language))


@pytest.mark.parametrize(
    ("language", "first", "second"),
    [
        ("en", "Prices in Salmara have not increased.", "Prices in Salmara have decreased."),
        ("en", "The act of the mayor was not unlawful.", "The act of the mayor was lawful."),
        ("en", "The mayor closed the school and the library.", "The mayor closed not only the school but the library."),
        ("en", "The mayor closed school 5.", "The mayor closed school No. 5."),
        ("ru", "Мэр Иван Петров не открыл школу.", "Мэр Иван Петров закрыл школу."),
        ("de", "Anna Weiss kaufte das alte Haus nicht.", "Anna Weiss verkaufte das alte Haus."),
        ("ru", "Мэр не мог не закрыть школу.", "Мэр мог закрыть школу."),
        ("es", "El alcalde no cerró más que la escuela.", "El alcalde cerró la escuela."),
    ],
)
def test_what_says_the_same_with_a_denial_is_not_called_false(language: str, first: str, second: str) -> None:
    for statement, sentence in ((first, second), (second, first)):
        assert not differs_by_denial(analyse(statement, language), analyse(sentence, language))


@pytest.mark.parametrize(
    ("language", "told", "denied"),
    [
        ("en", CLOSED, "The mayor did not close the school."),
        ("de", "Anna Weiss kaufte das alte Haus.", "Anna Weiss kaufte das alte Haus nicht."),
        ("ru", "Мэр Иван Петров закрыл школы.", "Мэр Иван Петров не закрывал школы."),
        ("sw", "Meya Juma Hassan alifunga shule.", "Meya Juma Hassan hakufunga shule."),
    ],
)
def test_a_denial_alone_makes_the_difference(language: str, told: str, denied: str) -> None:
    assert differs_by_denial(analyse(told, language), analyse(denied, language))
    assert differs_by_denial(analyse(denied, language), analyse(told, language))
