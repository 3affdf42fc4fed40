"""What denies by the meaning of a word, such as *failed to*, in any language, and what only looks so."""

from __future__ import annotations

import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.qa.judging.denials import differs_by_denial, is_opposed
from dragoman.engine.qa.judging.implicit import _PATTERNS, count_implicit
from dragoman.engine.qa.judging.words import AnalysedText, Linker
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.indexes.analysis.pipeline import analysis

TOLD = {
    "ar": "أغلق العمدة المدرسة.",
    "bg": "Кметът затвори училището.",
    "cs": "Starosta zavřel školu.",
    "da": "Borgmesteren lukkede skolen.",
    "de": "Der Bürgermeister schloss die Schule.",
    "el": "Ο δήμαρχος έκλεισε το σχολείο.",
    "en": "The mayor closed the school.",
    "es": "El alcalde cerró la escuela.",
    "fa": "شهردار مدرسه را بست.",
    "fi": "Pormestari sulki koulun.",
    "fr": "Le maire a fermé l'école.",
    "he": "ראש העיר סגר את בית הספר.",
    "hi": "मेयर ने स्कूल बंद किया।",
    "id": "Wali kota menutup sekolah.",
    "it": "Il sindaco ha chiuso la scuola.",
    "ja": "市長は学校を閉鎖した。",
    "ko": "시장은 학교를 폐쇄했다.",
    "nl": "De burgemeester sloot de school.",
    "pl": "Burmistrz zamknął szkołę.",
    "pt": "O prefeito fechou a escola.",
    "ru": "Мэр закрыл школу.",
    "sv": "Borgmästaren stängde skolan.",
    "sw": "Meya alifunga shule.",
    "th": "นายกเทศมนตรีปิดโรงเรียน",
    "tr": "Belediye başkanı okulu kapattı.",
    "uk": "Мер закрив школу.",
    "vi": "Thị trưởng đóng cửa trường học.",
    "zh": "市长关闭了学校。",
}
DENIED = [
    ("ar", "رفض العمدة إغلاق المدرسة."),
    ("ar", "فشل العمدة في إغلاق المدرسة."),
    ("ar", "نفى العمدة إغلاق المدرسة."),
    ("bg", "Кметът отказа да затвори училището."),
    ("bg", "Вместо да затвори училището, кметът го ремонтира."),
    ("cs", "Starosta odmítl zavřít školu."),
    ("cs", "Starosta málem zavřel školu."),
    ("da", "Borgmesteren undlod at lukke skolen."),
    ("da", "Borgmesteren nægtede at lukke skolen."),
    ("de", "Der Bürgermeister war nicht in der Lage, die Schule zu schließen."),
    ("de", "Der Bürgermeister hat es versäumt, die Schule zu schließen."),
    ("de", "Der Bürgermeister weigerte sich, die Schule zu schließen."),
    ("de", "Der Bürgermeister lehnte es ab, die Schule zu schließen."),
    ("de", "Dem Bürgermeister misslang es, die Schule zu schließen."),
    ("de", "Der Bürgermeister hätte die Schule beinahe geschlossen."),
    ("de", "Statt die Schule zu schließen, baute der Bürgermeister sie aus."),
    ("el", "Ο δήμαρχος αρνήθηκε να κλείσει το σχολείο."),
    ("el", "Ο δήμαρχος απέτυχε να κλείσει το σχολείο."),
    ("en", "The mayor failed to close the school."),
    ("en", "The mayor refused to close the school."),
    ("en", "The mayor declined to close the school."),
    ("en", "The mayor was unable to close the school."),
    ("en", "The mayor lacks a school that is closed."),
    ("en", "The mayor left without closing the school."),
    ("en", "The mayor was too weak to close the school."),
    ("en", "The mayor nearly closed the school."),
    ("en", "The mayor denied that the school was closed."),
    ("en", "It is false that the mayor closed the school."),
    ("en", "The mayor repaired the school instead of closing it."),
    ("en", "The mayor vetoed the closing of the school."),
    ("en", "The mayor gave up closing the school."),
    ("en", "The mayor would have closed the school."),
    ("en", "The mayor forgot to close the school."),
    ("en", "The mayor almost shut the school."),
    ("en", "The mayor has yet to close the school."),
    ("de", "Der Bürgermeister vergaß, die Schule zu schließen."),
    ("de", "Es ist eine falsche Behauptung, der Bürgermeister habe die Schule geschlossen."),
    ("es", "El alcalde olvidó cerrar la escuela."),
    ("fr", "Le maire a oublié de fermer l'école."),
    ("fr", "Le maire a presque fermé l'école."),
    ("it", "Il sindaco ha quasi chiuso la scuola."),
    ("it", "Il sindaco dimenticò di chiudere la scuola."),
    ("pt", "O prefeito esqueceu de fechar a escola."),
    ("ru", "Мэр забыл закрыть школу."),
    ("uk", "Мер забув закрити школу."),
    ("tr", "Belediye başkanı okulu kapatmayı unuttu."),
    ("zh", "市长忘记关闭学校。"),
    ("zh", "市长几乎关闭了学校。"),
    ("es", "El alcalde se negó a cerrar la escuela."),
    ("es", "El alcalde casi cerró la escuela."),
    ("es", "El alcalde rechazó cerrar la escuela."),
    ("fa", "شهردار از بستن مدرسه خودداری کرد."),
    ("fa", "شهردار بستن مدرسه را رد کرد."),
    ("fi", "Pormestari kieltäytyi sulkemasta koulua."),
    ("fi", "Pormestari lähti sulkematta koulua."),
    ("fr", "Le maire a refusé de fermer l'école."),
    ("fr", "Le maire a failli fermer l'école."),
    ("fr", "Le maire aurait fermé l'école."),
    ("fr", "Le maire nie avoir fermé l'école."),
    ("he", "ראש העיר סירב לסגור את בית הספר."),
    ("he", "ראש העיר נכשל בסגירת בית הספר."),
    ("hi", "मेयर ने स्कूल बंद करने से इनकार किया।"),
    ("hi", "मेयर स्कूल बंद करने में असफल रहे।"),
    ("id", "Wali kota menolak menutup sekolah."),
    ("id", "Wali kota gagal menutup sekolah."),
    ("it", "Il sindaco si è rifiutato di chiudere la scuola."),
    ("it", "Il sindaco nega di aver chiuso la scuola."),
    ("ja", "市長は学校の閉鎖を拒否した。"),
    ("ja", "市長は学校の閉鎖に失敗した。"),
    ("ja", "市長は学校を閉鎖するところだった。"),
    ("ko", "시장은 학교 폐쇄를 거부했다."),
    ("ko", "시장은 학교를 폐쇄할 뻔했다."),
    ("nl", "De burgemeester weigerde de school te sluiten."),
    ("nl", "De burgemeester heeft nagelaten de school te sluiten."),
    ("pl", "Burmistrz odmówił zamknięcia szkoły."),
    ("pl", "Burmistrz zaprzeczył, że zamknął szkołę."),
    ("pt", "O prefeito recusou-se a fechar a escola."),
    ("pt", "O prefeito deixou de fechar a escola."),
    ("ru", "Мэр отказался закрыть школу."),
    ("ru", "Мэр отрицает, что закрыл школу."),
    ("ru", "Мэр закрыл бы школу."),
    ("ru", "Мэр почти закрыл школу."),
    ("sv", "Borgmästaren vägrade stänga skolan."),
    ("sv", "Borgmästaren underlät att stänga skolan."),
    ("sw", "Meya alikataa kufunga shule."),
    ("sw", "Meya alishindwa kufunga shule."),
    ("th", "นายกเทศมนตรีปฏิเสธที่จะปิดโรงเรียน"),
    ("th", "นายกเทศมนตรีเกือบปิดโรงเรียน"),
    ("tr", "Belediye başkanı okulu kapatmayı reddetti."),
    ("tr", "Belediye başkanı okulu kapatmaktan vazgeçti."),
    ("uk", "Мер відмовився закрити школу."),
    ("uk", "Мер заперечує, що закрив школу."),
    ("vi", "Thị trưởng từ chối đóng cửa trường học."),
    ("vi", "Thị trưởng suýt đóng cửa trường học."),
    ("zh", "市长拒绝关闭学校。"),
    ("zh", "市长差点关闭了学校。"),
]
NOT = [
    ("en", "The mayor did not close the school."),
    ("de", "Der Bürgermeister schloss die Schule nicht."),
    ("es", "El alcalde no cerró la escuela."),
    ("fr", "Le maire n'a pas fermé l'école."),
    ("ru", "Мэр не закрыл школу."),
    ("zh", "市长没有关闭学校。"),
]
BESIDE = [
    ("en", "In May the mayor closed the school instead of the bank."),
    ("en", "The mayor, who lacked money, closed the school."),
    ("de", "Der Bürgermeister schloss die Schule statt der Bank."),
    ("es", "El alcalde cerró la escuela en lugar del banco."),
    ("fr", "Le maire a fermé l'école au lieu de la banque."),
    ("ru", "Мэр закрыл школу вместо банка."),
    ("zh", "市长关闭了学校，避免了损害。"),
]
"""What denies with a *not*, and what tells the same beside a word that denies something else."""
LISTED = [
    ("en", "The mayor canceled the festival.", "The mayor refused to cancel the festival."),
    ("en", "The mayor canceled the festival.", "The mayor declined to cancel the festival."),
    ("en", "The mayor abandoned the plan.", "The mayor denied that she had abandoned the plan."),
    ("de", "Der Bürgermeister sagte das Fest ab.", "Der Bürgermeister weigerte sich, das Fest abzusagen."),
    ("es", "El alcalde canceló la fiesta.", "El alcalde rechazó cancelar la fiesta."),
    ("fr", "Le maire a annulé la fête.", "Le maire a refusé d'annuler la fête."),
    ("it", "Il sindaco ha annullato la festa.", "Il sindaco rifiutò di annullare la festa."),
    ("pt", "O prefeito cancelou a festa.", "O prefeito recusou cancelar a festa."),
    ("ru", "Мэр отменил праздник.", "Мэр отказался отменить праздник."),
    ("tr", "Belediye başkanı festivali iptal etti.", "Belediye başkanı festivali iptal etmeyi reddetti."),
    ("ja", "市長は祭りを中止した。", "市長は祭りの中止を拒否した。"),
    ("zh", "市长取消了节日。", "市长拒绝取消节日。"),
]
"""A listed word, and the same below another one."""


def analyse(text: str, language: str) -> AnalysedText:
    return Linker(analysis, Snapshot((), {})).analyse(text, language, language)


@given(st.sampled_from(sorted(TOLD.items())), st.sampled_from(DENIED), st.sampled_from(("NFC", "NFD")), st.booleans())
def test_no_sentence_says_what_it_denies_by_the_meaning_of_a_word_in_any_two_languages(
    told: tuple[str, str], denied: tuple[str, str], form: str, longer: bool
) -> None:
    language, statement = told
    text = unicodedata.normalize(form, denied[1] + (" Anna Weiss, 1889." if longer else ""))
    first, second = analyse(statement, language), analyse(text, denied[0])
    assert is_opposed(first, second) and is_opposed(second, first)
    assert not is_opposed(second, second)


@given(st.sampled_from(NOT), st.sampled_from(BESIDE))
def test_a_not_and_another_word_that_denies_do_not_make_up_for_each_other(
    denied: tuple[str, str], beside: tuple[str, str]
) -> None:
    first, second = analyse(denied[1], denied[0]), analyse(beside[1], beside[0])
    assert is_opposed(first, second) and is_opposed(second, first)


@given(st.sampled_from(LISTED), st.sampled_from(LISTED))
def test_a_listed_word_below_another_does_not_say_the_word_alone(
    told: tuple[str, str, str], denied: tuple[str, str, str]
) -> None:
    first, second = analyse(told[1], told[0]), analyse(denied[2], denied[0])
    assert is_opposed(first, second) and is_opposed(second, first)


@pytest.mark.parametrize("language", sorted(_PATTERNS))
def test_no_gap_of_a_pattern_goes_beyond_a_word_without_a_bound(language: str) -> None:
    assert not regex.search(r"(?<!\\p\{(?:L|Ll|M)\})[*+]", _PATTERNS[language].pattern)


@pytest.mark.parametrize(("language", "denied"), DENIED)
def test_each_is_opposed_to_what_it_denies(language: str, denied: str) -> None:
    told = analyse(TOLD[language], language)
    assert is_opposed(told, analyse(denied, language)) and not is_opposed(told, told)


@pytest.mark.parametrize(
    ("told", "denied"),
    [
        ("The mayor closed the school.", "The mayor did not fail to close the school."),
        ("The mayor did not close the school.", "The mayor did not refuse to close the school."),
        ("The mayor failed to close the school.", "The mayor did not fail to close the school."),
    ],
)
def test_what_denies_twice_does_not_say_what_denies_once_or_not_at_all(told: str, denied: str) -> None:
    first, second = analyse(told, "en"), analyse(denied, "en")
    assert is_opposed(first, second) and is_opposed(second, first)


def test_a_word_that_denies_by_its_meaning_makes_nothing_false_by_rule() -> None:
    for language, denied in DENIED:
        assert not differs_by_denial(analyse(TOLD[language], language), analyse(denied, language))


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ar", "زعماء الكادر في الغابة."),
        ("cs", "Zákazník má zakázku."),
        ("de", "Das Fest fand gestern statt. Die Schule gehört der Stadt, und er hört Musik."),
        ("en", "Miss Smith came to power, close to the bus stop. Dennis and Denise met a few people."),
        ("es", "Por supuesto, el negocio abrió."),
        ("hi", "मेयर ने कमीशन के साथ त्योहार मनाया।"),
        ("id", "Hampir 40 rumah lebih besar daripada sekolah."),
        ("it", "Una scuola privata in Vietnam."),
        ("ko", "시장의 부인은 사막은 덥다고 했다."),
        ("sw", "Mkataba wa wakati huu."),
        ("th", "วันหยุดของโรงเรียน"),
        ("tr", "Sözünü yerine getirdi."),
        ("vi", "Thiếu niên gặp tác giả."),
        ("zh", "紫禁城在北京。"),
        ("en", "Ban Ki-moon saw the River Bann. Lackawanna has a failsafe, an unabridged book and a falsetto."),
        ("en", "The town grew in the past few years, three blocks from here. Its people declined to about 3,000."),
        ("en", "The first few and every few days, the Centers for Disease Control and Prevention sell rare earths."),
        ("en", "A ceasefire began close to Beijing. The train stopped in Rome. The Forbidden City is in Beijing."),
        ("fa", "او وارد شد. ایران نفت وارد کرد. آن مرد می‌رود."),
        ("zh", "日本可以制造火箭。他基本可以走路。他是否决定来？"),
        ("es", "René Descartes y Evita Perón. El bloque soviético tenía ocho países."),
        ("pt", "Um vetor tem uma direção. O homem careca leu René Descartes."),
        ("he", "בירת סרביה היא בלגרד. הרב שלח מכתב דחוף. המנעול כאן. גרמניה ויתר המדינות חתמו."),
        ("fi", "Hän puhuu suomen kieltä. Vesi on välttämätöntä. Saimaassa elää hylkeitä. Lakka kasvaa suolla."),
        ("ko", "이 부족은 강가에 살았다. 네덜란드는 저지대에 있다. 조선의 대신들이 모였다. 남방지역에 산다."),
        ("de", "Das Konzert fand 1990 in Berlin statt und war ausverkauft. Er sagte, dass er ab Montag arbeitet."),
        ("de", "Er hörte das Lied auf dem Weg. Er ging zu Fuß, um Brot zu kaufen. Sie bestritt 100 Spiele."),
        ("de", "Er starb auf dem Scheiterhaufen. Es gibt ihn ausschließlich in Bonn. Die Verbotene Stadt ist groß."),
        ("de", "Er begann zu sparen, um ein Haus zu kaufen. Er sagt, das Haus sei ab 100 Euro zu mieten."),
        ("fr", "Nia Long est championne du jeu d'échecs. La démence. Ce droit est exclusif. La faillite et la faille."),
        ("it", "Il figlio, invece, nacque a Roma. Il club esclusivo raccoglie rifiuti. Un numero negativo."),
        ("ru", "В метро пять веток, ветка и веточка. Отложения и отклонение."),
        ("pl", "Miasto ma unikalny zamek. Zabrany list."),
        ("cs", "Popřál mu štěstí. Lze jet vlakem, popř. autobusem. To je chyba."),
        ("tr", "Yerine oğlu Mehmet geçti. Sonuç kaçınılmaz oldu. Engelleri aştı."),
        ("id", "Batalion infanteri itu berbasis di Bandung. Kereta berhenti di Jakarta."),
        ("vi", "Tử Cấm Thành nằm ở Bắc Kinh. Chùa Thiếu Lâm nằm ở Hà Nam."),
        ("ar", "زرع الجيش ألغاما عند منعطف الطريق."),
        ("el", "Έγραφε με το ψευδώνυμο Κόραξ. Ο κρατούμενος αποφυλακίστηκε."),
        ("da", "Opgaven blev løst. Opgave 3 er let."),
        ("bg", "Той живее в Липсия."),
        ("sv", "Hon var inställd på resan. Det underlättade resan."),
        ("hi", "रोकेट ऊपर गया।"),
        ("ja", "オンデマンドで見られる。あそこなら見える。車を止めた。水は生活に欠かせない。"),
        ("th", "พวกเขากินห้ามื้อต่อวัน มีคนเกือบ 100 คน"),
        ("uk", "Він утримував замок десять років."),
        ("sw", "Uongozi wa shule. Takataka zilikusanywa."),
        ("nl", "Het stopcontact is van 1990. De Verboden Stad is groot."),
        ("id", "Hampir bersamaan mereka tiba."),
        ("hi", "कीमत में कमी आई।"),
        ("zh", "他们几乎同时到达。"),
        ("nl", "De trein rijdt bijna dagelijks."),
        ("ja", "怠け者の猫。"),
        ("th", "ข้อผิดพลาดของนักเรียน"),
        ("xx", "The mayor failed to close the school."),
        ("en", "Each hive gives barely two litres, and scarcely more was sold."),
        ("en", ""),
    ],
)
def test_what_only_looks_so_denies_nothing(language: str, text: str) -> None:
    assert not count_implicit(text, language)
