"""The scripts and letters of languages, by which a text's encoding and a column's language are told."""

from __future__ import annotations

from functools import cache

import regex

_SCRIPTS = {
    "Cyrillic": "ab av ba be bg ce cu cv kk kv ky mk mn os ru sr tg tt uk",
    "Greek": "el",
    "Hebrew": "he yi",
    "Arabic": "ar fa ks ku ps sd ug ur",
    "Armenian": "hy",
    "Georgian": "ka",
    "Devanagari": "hi mr ne pi sa",
    "Bengali": "as bn",
    "Gurmukhi": "pa",
    "Gujarati": "gu",
    "Oriya": "or",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml",
    "Sinhala": "si",
    "Thai": "th",
    "Lao": "lo",
    "Khmer": "km",
    "Myanmar": "my",
    "Tibetan": "bo dz",
    "Ethiopic": "am ti",
    "Thaana": "dv",
    "Yi": "ii",
    "Hangul": "ko",
    "Han": "zh",
    "Kana": "ja",
}
_SCRIPT_OF = {code: script for script, codes in _SCRIPTS.items() for code in codes.split()}
_CLASSES = {"Kana": r"\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}ー々", "Hangul": r"\p{Hangul}\p{Script=Han}"}
_TWO_SCRIPTS = frozenset({"ku", "sr", "tt", "ug", "ks", "pa", "sd", "mn", "bs"})
"""Languages that are written in Latin letters too, or in a script besides the one above."""

_LATIN = {
    "af": "áèéêëíîïóôúûý",
    "az": "çəğıöşüi̇",
    "br": "âêîôûùñéà",
    "bs": "čćđšž",
    "ca": "àçéèíïóòúü·",
    "cs": "áčďéěíňóřšťúůýž",
    "cy": "âêîôûŵŷáéíóúäëïö",
    "da": "æøåé",
    "de": "äöüß",
    "en": "",
    "eo": "ĉĝĥĵŝŭ",
    "es": "áéíñóúü",
    "et": "äõöüšž",
    "eu": "ñçü",
    "fi": "äöåšž",
    "fo": "áðíóúýæø",
    "fr": "àâæçéèêëîïôœùûüÿ",
    "fy": "âêôúûéäëïö",
    "ga": "áéíóú",
    "gd": "àèìòùáéó",
    "gl": "áéíñóúüï",
    "ha": "ɓɗƙƴ",
    "hr": "čćđšž",
    "ht": "èéòàñ",
    "hu": "áéíóöőúüű",
    "ig": "ịọụṅńǹàáèéìíòóùúẹ",
    "is": "áéðíóúýþæö",
    "it": "àèéìíîòóùú",
    "ku": "çêîşû",
    "lb": "äéëöüß",
    "lt": "ąčęėįšųūž",
    "lv": "āčēģīķļņšūž",
    "mt": "ċġħżàèìòù",
    "nb": "æøåéèêóòôà",
    "nl": "áéëïóöüèêà",
    "nn": "æøåéèêóòôà",
    "no": "æøåéèêóòôà",
    "oc": "àáçèéíïòóúü",
    "pl": "ąćęłńóśźż",
    "pt": "ãáàâçéêíóôõúü",
    "rm": "àèéìòù",
    "ro": "ăâîșțşţ",
    "sk": "áäčďéíĺľňóôŕšťúýž",
    "sl": "čšž",
    "sq": "çë",
    "sr": "čćđšž",
    "sv": "åäöé",
    "tk": "çäňöşüýž",
    "tl": "ñ",
    "tr": "çğıöşüâîûi̇",
    "uz": "ʻʼ",
    "vi": "ăâđêôơư",
    "wo": "àéëñóŋ",
    "yo": "ẹọṣàáèéìíòóùúńǹ",
}
_CYRILLIC = {
    "be": "абвгдеёжзійклмнопрстуўфхцчшыьэюя",
    "bg": "абвгдежзийклмнопрстуфхцчшщъьюя",
    "mk": "абвгдѓежзѕијклљмнњопрстќуфхцчџш",
    "ru": "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
    "sr": "абвгдђежзијклљмнњопрстћуфхцчџш",
    "uk": "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя",
}
FREQUENT = frozenset(
    "的一是不了人我在有他这這中大来來上国國个個到说說们們为為子和你地出道也时時年得就那要下以生会會自着著去之过過家学學对對可她里裡后後小么"
    "麼心多天而能好都然没沒日于於起还還发發成事只作当當想看文无無开開手十用主行方又如前所本见見经經头頭面公同三已老从從动動两兩长長知民样樣现現分"
    "将將外但身些与與高意进進把法此实實回二理美点點月明其种種声聲全工己话話儿兒者向情部正名定女问問力机機给給等几幾很业業最间間新什打便位因"
    "重被走电電四第门門相次东東政海口使教西再平真听聽世气氣信北少关關并並内內加化由却卻代军軍产產入先山五太水万萬市眼体體别別处處总總才场場师"
    "師书書比住员員九笑性通目华華报報立马馬命张張活难難神数數件安表原车車白应應路期叫死常提感金何更反合放做系係计計或司利受光王果亲親界及今京"
    "务務制解各任至清物台象记記边邊共风風战戰干接它许許八特觉覺望直服毛林题題建南度统統色字请請交爱愛让讓认認算论論百吃义義科怎元社术術结結六"
    "功指思非流每青管夫连連远遠资資队隊跟带帶花快条條院变變联聯权權往展该該领領传傳近留红紅治决決周保达達办辦运運武半候七必城父强強步完革"
    "深区區即求品士转轉量空甚众眾技轻輕程告江语語英基派满滿式李息写寫呢识識极極令黄黃德收脸臉钱錢党倒未持取设設始版双雙历歷越史商千片容研"
    "像找友孩站广廣改议議形委早房音火际際则則首单單据據导導影失拿网網香似斯专專石若兵弟谁誰校读讀志飞飛观觀争爭究包组組造落视視济濟喜离離虽雖"
    "坏壞断斷医醫药藥病院税稅银銀行船港油煤铁鐵铺鋪桥橋楼樓窗衣食饭飯菜茶酒肉鱼魚鸡雞狗猫貓牛羊树樹草木土田河湖雨雪冬春夏秋冷热熱右左黑蓝藍绿綠"
)
"""The characters that are most frequent in Chinese, in both scripts."""
_WESTERN = frozenset("àâäáãåæçèéêëìíîïñòóôöõøùúûüýÿßœ")
"""Letters that names and loans bring into every language of Latin letters."""


def script(language: str) -> str | None:
    """The script of a language, None for Latin letters."""
    return _SCRIPT_OF.get(language)


def one_script(language: str) -> bool:
    """Whether a language is written in the script of :func:`script` alone."""
    return language not in _TWO_SCRIPTS


@cache
def of_script(name: str | None) -> regex.Pattern[str]:
    """Matches a letter or mark of a script; Latin letters for None."""
    inside = _CLASSES.get(name or "", rf"\p{{Script={name or 'Latin'}}}")
    return regex.compile(rf"[{inside}]")


@cache
def letters(language: str) -> frozenset[str]:
    """The letters, in both cases, that a language has beside a to z; empty where they are those of its script."""
    small = _CYRILLIC.get(language) if script(language) else _LATIN.get(language)
    return frozenset((small or "") + (small or "").upper())


@cache
def own_letters(language: str, other: str) -> frozenset[str]:
    """Letters of the first language that the second and loans into it do not have."""
    if not letters(language) or script(language) != script(other):
        return frozenset()
    shared = letters(other) if letters(other) else frozenset()
    return letters(language) - shared - (_LOANS if other in _LATIN else frozenset())


_LOANS = frozenset("éèêàâçñôïÉÈÊÀÂÇÑÔÏ")


def fitness(letter: str, language: str) -> float:
    """How well a letter beyond ASCII fits a language: 1 its own, 0.6 a usual loan, 0.3 one of its script, 0 none."""
    if script(language) is None and language not in _LATIN:
        return 0.6 if letter.lower() in _WESTERN else 0.3 if of_script(None).match(letter) else 0.0
    if letter in letters(language):
        return 1.0
    if not of_script(script(language)).match(letter):
        return 0.0
    if script(language) is None:
        if language == "vi" and "\u1ea0" <= letter <= "\u1ef9":
            return 1.0
        return 0.6 if letter.lower() in _WESTERN else 0.3
    return 0.3 if letters(language) else _fitness_of_ideograph(letter, language)


def _fitness_of_ideograph(letter: str, language: str) -> float:
    """Rare characters are what a text in another encoding turns into."""
    if language == "zh":
        return 1.0 if _common(letter, "gb2312", 0xB0, 0xD7) or _common(letter, "big5", 0xA4, 0xC6) else 0.2
    if language == "ko":
        return 1.0 if _encodes(letter, "euc_kr") and "가" <= letter <= "힣" else 0.2
    if language == "ja":
        if "\uff61" <= letter <= "\uff9f":
            return 0.1
        return 1.0 if "\u3040" <= letter <= "\u30ff" else 0.9 if _common(letter, "euc_jp", 0xB0, 0xCF) else 0.2
    return 1.0


@cache
def _encodes(letter: str, encoding: str) -> bool:
    try:
        return bool(letter.encode(encoding))
    except UnicodeEncodeError:
        return False


def _common(letter: str, encoding: str, first: int, last: int) -> bool:
    """Whether the character is in the rows of the most usual characters of a national standard."""
    return _encodes(letter, encoding) and first <= letter.encode(encoding)[0] <= last
