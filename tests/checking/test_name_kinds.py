"""Kinds of names that are written otherwise and those that only look like it; without an encoder."""

from __future__ import annotations

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.checking import Knowledge, check_sentence
from dragoman.checking.naming.katakana import list_spoken, romanise_katakana
from dragoman.checking.naming.small_words import is_small
from dragoman.checking.naming.sounds import measure_sound
from dragoman.checking.sentence import Pair
from dragoman.deadline import DeadlinePassed, deadline
from dragoman.indexes.analysis.common_words import common_words
from dragoman.indexes.analysis.japanese_names import list_name_forms
from dragoman.indexes.analysis.transliteration import romanise

RIGHT = [
    ("ar", "وصل إلى الصين وإيطاليا ثم سافر بإثيوبيا.", "He reached China and Italy, then travelled in Ethiopia."),
    ("ar", "يتم بث المحتوى بصيغة أم بي إي جي على إن إف إل.", "The content is broadcast as MPEG by the NFL."),
    ("hi", "एनएफएल और बीबीसी ने आज इसकी घोषणा की।", "The NFL and the BBC announced it today."),
    ("de", "Die Russen kamen am Freitag.", "On Friday came the Russians."),
    ("de", "Es kostete 30 Mio. GBP.", "It cost £30 million."),
    ("ru", "Он прибыл из Южной Кореи в Северную Корею.", "He came from South Korea to North Korea."),
    ("ru", "Премьер-министр Новой Зеландии ушёл в отставку.", "The prime minister of New Zealand resigned."),
    ("ja", "ジョン・フィッシャーがティム・ウィリアムズに会った。", "John Fisher met Tim Williams."),
    ("ja", "チャールズ・カーターはケンブリッジで学んだ。", "Charles Carter studied at Cambridge."),
    ("ja", "アメリカ合衆国はエールフランスに抗議した。", "The United States and France protested."),
    ("ja", "アラブ首長国連邦の首都", "The capital of the United Arab Emirates"),
    ("ja", "ドミニカ共和国の島", "An island of the Dominican Republic"),
    ("ja", "ロシア連邦とインド洋", "Russia and the Indian Ocean"),
    ("ja", "ラテンアメリカの歌", "A song of Latin America"),
    ("ja", "ポールとローラがシカゴでシラクに会った。", "Paul and Laura met Chirac in Chicago."),
    ("ja", "インドネシアの島", "An island of Indonesia"),
    ("de", "Die nordamerikanische Gruppe kam.", "The North American group came."),
    ("de", "Er legte seine Afghanistan-Doktrin vor.", "He presented his Afghan doctrine."),
    ("de", "Die hugenottische Gemeinde wuchs.", "The Huguenot community grew."),
    ("de", "Er sprach im Namen der Vereinigten Staaten.", "He spoke on behalf of the USA."),
    ("de", "So gab der Oberste Gerichtshof den Zentren Unterstützung.", "So the judges gave help to them all."),
    ("es", "La televisión paquistaní lo mostró.", "It was shown on Pakistani television."),
    ("ru", "Джонсон встретил Дэниела Старриджа.", "Johnson met Daniel Sturridge."),
    ("el", "Ο Τζόνσον έφυγε.", "There Johnson left."),
    ("el", "Η Nokia αγόρασε πύραυλο από τη Νάσα.", "Nokia bought a rocket from NASA."),
    ("ru", "Дом построила Икея для Nokia.", "The house was built by IKEA for Nokia."),
    ("ja", "ハロウィーンの祭り", "A festival of Halloween"),
    ("de", "Neue Studien zeigen das. Politische Gegner lachen.", "Research shows this. Those on the other side laugh."),
    ("el", "Η κυβέρνηση του Ηνωμένου Βασιλείου παραιτήθηκε.", "The government of the United Kingdom resigned."),
    ("de", "Das Weiße Haus schwieg.", "Those in power were silent."),
    ("de", "Die Dingos stammen von südasiatischen Wölfen ab.", "Dingoes descend from south Asian wolves."),
    ("de", "Das Gas fließt nach Südeuropa.", "The gas flows to southern Europe."),
    ("de", "Die Iren stimmten ab.", "The Irish voted."),
    ("de", "Sie lernt die Amerikanische Gebärdensprache.", "She learns how American people sign."),
    ("de", "Die Muslimbruderschaft verlor.", "The Muslim Brotherhood lost."),
    ("de", "Die US-Armee zog ab.", "The army left."),
    ("de", "Der Generalrat der Region (PS) tagte.", "The council of the region met."),
    ("de", "Der Premier sprach im Parlament.", "The Prime Minister spoke in parliament."),
    ("de", "Die Nato tagte mit der UNO.", "NATO met the UN."),
    ("fr", "L'OTAN a refusé.", "NATO refused."),
    ("de", "Stunden später kam er.", "Hours later he came."),
    ("fr", "La majorité a gagné.", "Majority won."),
    ("ja", "久保の活躍", "Kubo's play"),
    ("ja", "マクナニーを迎えた。", "They greeted McEnany."),
    ("ja", "ひらまつ病院の医者", "A doctor of Hiramatsu hospital"),
    ("ja", "フレンチトーストを食べた。", "She ate French toast."),
    ("ja", "昨日、なりたさんが来た。", "Narita came yesterday."),
    ("ja", "林さんは先生です。", "Mr. Hayashi is a teacher."),
    ("de", "Der IWF warnte am Montag vor einer Rezession.", "The IMF warned of a recession on Monday."),
    ("ru", "МВФ предупредил в понедельник.", "The IMF warned on Monday."),
]
WRONG = [
    ("ru", "Он прибыл из Южной Кореи.", "He came from New Zealand.", "New Zealand"),
    ("de", "Der australische Sender zeigte es.", "The Australian Sky News showed it.", "Australian Sky News"),
    ("de", "Der NATO-General sprach in Rom.", "The NATO general Cherie Blair spoke in Rome.", "Cherie Blair"),
    ("de", "Dort sah man das Team.", "The team of Thomas Davis was seen there.", "Thomas Davis"),
    ("de", "Dort war keiner, sondern nur Wind.", "There was nobody but Sanders.", "Sanders"),
    ("de", "Dann kam es zu Sky, als alle schliefen.", "Then it came to Sky from MLS, as all slept.", "MLS"),
    ("ja", "インターネットで見た。", "It was seen in India.", "India"),
    ("ja", "ポイントを得た。", "A point was won in India.", "India"),
    ("zh", "他去了印度尼西亚。", "He went to India.", "India"),
    ("ja", "アラブの音楽", "Music of the United Arab Emirates", "United Arab Emirates"),
    ("ja", "彼はインドアゲームを買う。", "He buys a game from India.", "India"),
    ("ja", "プロシアの軍隊", "The army of Russia", "Russia"),
    ("ja", "スタイルが好きだ。", "The style of Thailand is liked.", "Thailand"),
    ("ar", "وصل الوفد إلى المدينة أمس.", "The delegation of the BBC arrived in the city yesterday.", "BBC"),
    ("de", "Die IAEA meldete es.", "The IAAF reported it.", "IAAF"),
    ("de", "Die NASA meldete es.", "The NHS reported it.", "NHS"),
    ("de", "Die US-Armee zog ab.", "The army of Mexico left.", "Mexico"),
    ("de", "Peter sah es.", "Wang saw it.", "Wang"),
    ("ja", "フレンチトーストを食べた。", "She ate German toast.", "German"),
    ("ja", "ひらまつ病院の医者", "A doctor of Kawasaki hospital", "Kawasaki"),
    ("ja", "佐藤さんは本があります。", "Ms. Arima has a book.", "Arima"),
    ("ja", "今日は行かないと言った。", "It was Kanai who said so.", "Kanai"),
    ("ja", "医者になりたいと言った。", "A doctor, Narita said.", "Narita"),
    ("ja", "彼は帰宅したら寝た。", "Later at home Shitara slept.", "Shitara"),
    ("ja", "彼はいまだに来ない。", "Until now Imada does not come.", "Imada"),
    ("ja", "佐藤が選挙に勝った。", "Flores won the election.", "Flores"),
    ("ja", "彼は日本の人です。", "It was Jin who is Japanese.", "Jin"),
    ("ja", "祭りは年に一度ある。", "Once more Toshi has a festival.", "Toshi"),
    ("ja", "彼は中に入った。", "Then Naka went in.", "Naka"),
    ("ja", "国は認めた。", "Then Kuni agreed.", "Kuni"),
    ("de", "Eine enge Straße führt ins Dorf.", "A narrow road leads to the village in England.", "England"),
    ("de", "Sie holen Wasser.", "They fetch water in Holland.", "Holland"),
    ("de", "Nordirland stimmte ab.", "It was Ireland that voted.", "Ireland"),
    ("fr", "La Chine a voté.", "They voted in Indochina.", "Indochina"),
    ("de", "Das FBI ermittelt seit Montag.", "The CIA is investigating since Monday.", "CIA"),
    ("de", "Die UN stimmten ab.", "The UNHCR voted.", "UNHCR"),
]


LOST = [
    ("fr", "La Finlande a gagné.", "It won and is fine.", "Finlande"),
    ("de", "Am Mittag kam Dennis Hofmann zurück.", "At noon he came back.", "Dennis Hofmann"),
    ("de", "Der Verlag lud Clara Hornung ein.", "The publisher invited her.", "Clara Hornung"),
    ("de", "Abends las Robert Schelling daraus.", "In the evening he read from it.", "Robert Schelling"),
    ("de", "Abends sprach Präsident Duda darüber.", "In the evening he spoke about it.", "Duda"),
    ("de", "Abends sprach Kanzlerin Merkel darüber.", "In the evening the chancellor spoke about it.", "Merkel"),
    ("de", "Abends sprach Dr. Wagner darüber.", "In the evening the doctor spoke about it.", "Wagner"),
]
OTHER_SOUNDS = [
    ("彼女はジョンソンに会った。", "She met Jackson."),
    ("彼女はクリントンに会った。", "She met Clayton."),
    ("彼女はウィルソンに会った。", "She met Wilkinson."),
    ("彼女はケリーに会った。", "She met Carroll."),
]


def name_reasons(language: str, source: str, translation: str) -> list[tuple[str | None, str | None]]:
    knowledge = Knowledge(
        source=language, target="en", romanise=romanise, common=common_words, name_forms=list_name_forms
    )
    check = check_sentence(source, translation, knowledge)
    return [(reason.source, reason.text) for reason in check.reasons if reason.code == "name"]


@pytest.mark.parametrize(("language", "source", "translation"), RIGHT)
def test_names_that_are_there_are_recognised(language: str, source: str, translation: str) -> None:
    assert name_reasons(language, source, translation) == []


@pytest.mark.parametrize(("language", "source", "translation", "added"), WRONG)
def test_a_place_does_not_vouch_for_the_words_beside_it(
    language: str, source: str, translation: str, added: str
) -> None:
    assert added in {text for _, text in name_reasons(language, source, translation)}


@pytest.mark.parametrize(("language", "source", "translation", "lost"), LOST)
def test_names_of_persons_are_lost_whatever_they_end_in_and_whoever_bears_them(
    language: str, source: str, translation: str, lost: str
) -> None:
    assert lost in {text for text, _ in name_reasons(language, source, translation)}


@pytest.mark.parametrize(("source", "translation"), OTHER_SOUNDS)
def test_a_name_of_other_consonants_or_vowels_is_another_name(source: str, translation: str) -> None:
    assert name_reasons("ja", source, translation) != []


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKD"])
@pytest.mark.parametrize("written", ["デイビッド", "ﾃﾞｲﾋﾞｯﾄﾞ"])
def test_katakana_is_read_in_any_form(form: Literal["NFC", "NFD", "NFKD"], written: str) -> None:
    source = unicodedata.normalize(form, f"{written}が来た。")
    assert name_reasons("ja", source, "David came.") == []
    assert name_reasons("ja", source, "Peter came.") != []


def test_a_long_run_of_katakana_is_left_at_the_deadline() -> None:
    pair = Pair.read("John Fisher", "アイウエオカキクケコ" * 1000, Knowledge(source="en", target="ja"))
    with pytest.raises(DeadlinePassed), deadline(0.0):
        measure_sound("Fisher", pair, Knowledge(source="en", target="ja", romanise=romanise))


@pytest.mark.parametrize(
    ("katakana", "read"),
    [
        ("フィッシャー", "fisha"),
        ("ジョン", "jon"),
        ("チェコ", "cheko"),
        ("ウィリアム", "wiriamu"),
        ("キャメロン", "kyameron"),
        ("シュミット", "shumito"),
        ("デュポン", "dyupon"),
        ("イェール", "yeru"),
        ("ﾃｨﾑ", "timu"),
    ],
)
def test_katakana_is_read_with_its_small_signs(katakana: str, read: str) -> None:
    assert romanise_katakana(katakana, romanise) == read


def test_words_that_are_seldom_written_with_a_capital_are_known() -> None:
    assert all(is_small(word, "en") for word in ["courage", "earlier", "avoid", "brands"])
    assert is_small("majorité", "fr") and is_small("сегодня", "ru")
    assert not any(is_small(word, "en") for word in ["wang", "khan", "maria", "peter", "paris", "turkey"])
    assert not any(
        is_small(word, "en") for word in ["flores", "porter", "campos", "guerra", "pence", "gloria", "weiss"]
    )
    assert not is_small("обама", "ru")


def test_english_is_spelt_in_the_sounds_of_katakana() -> None:
    assert list_spoken("carter") == {"karter", "kate"} and "serbantes" in list_spoken("cervantes")
    assert list_spoken("philip") == {"firip"} and list_spoken("campbell") == {"kanpber"}


@given(st.text("アイウエオカキシチニジフテデヴウァィゥェォャュョッーンツ", max_size=20))
def test_any_katakana_is_read(katakana: str) -> None:
    letters = romanise_katakana(katakana, romanise)
    assert letters == "" or (letters.isascii() and letters.isalpha())
