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
    """How well a letter beyond ASCII fits a language: 1 its own, 0.6 a usual loan, 0.3 another of its script, 0 none."""
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
