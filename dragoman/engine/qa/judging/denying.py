"""Whether a text denies, by the words of its language: what only looks like a denial is left aside first."""

from __future__ import annotations

import regex

from dragoman.checking.negation import count_negations, is_negation, leave_aside
from dragoman.lexicon.text.tokens import fold, words

__all__ = ["denies", "is_denying", "surely_denies"]

_FURTHER = {
    "ar": "ولا ولم ولن فلم فلن وليس وليست لست لسنا",
    "bg": "никой нищо никъде нямаше",
    "cs": "nikdo nic nikde žádný žádná žádné bez",
    "da": "ingenting uden",
    "de": "niemand niemandem niemanden nirgends nirgendwo kaum keinerlei keineswegs",
    "el": "δε μη κανείς κανένα τίποτα πουθενά",
    "en": "nowhere",
    "es": "nada",
    "fi": "et eikä ilman",
    "he": "אינם אינן",
    "hi": "नही",
    "id": "tak tiada jangan",
    "it": "nulla niente neanche neppure nemmeno nessun",
    "nl": "niemand niets nergens",
    "pl": "nikt nikogo nic nigdzie żaden żadna żadne",
    "pt": "ninguém nada tampouco",
    "ru": "никто никого никому ничего ничто нигде никак никакой никакого никаких ни",
    "sv": "ingenting inga",
    "uk": "ніхто нікого нікому нічого ніщо ніде жоден жодна жодного жодної нема",
}
"""Words that deny and that the check of translations does not count."""
_FORMS = {
    "cs": r"\bne(?!ch|j|děl[ei]\b)\p{Ll}{2,}l[aoiy]?\b"
    r"|\b[Nn]e(?:má|mají|měl\p{L}?|bude|budou|může|mohou|smí|byl\p{L}?)\b",
    "en": r"\b\p{L}+n['’]t\b",
    "fa": r"\bن(?:می|خواه|کرد|شد|داد|داشت|دار|رفت|یامد|گفت|بست|توانست|دید|گرفت)\p{L}*",
    "fr": r"\bn['’]\p{L}",
    "ja": r"無(?:い|く|かっ)",
    "ko": r"(?<!\p{L})안 (?=\p{L})",
    "sw": r"\b(?i:ha(?:wa|tu|m|i|zi|ya|li|u|ki|vi)?|si)(?:ku|ja)\p{L}{3,}"
    r"|\bha(?!(?:bari|dithi|tari|di|dhi|ki|li|ti|raki|si|lisi|lmashauri|rusi|timiliki|yati|mali|ndaki|ini|riri)\b)"
    r"\p{Ll}{2,}i\b",
    "tr": r"\p{L}{2}m(?:[ae](?:d[ıi](?:m|n|k|n[ıi]z|l[ae]r)?|y[ae]ca[kğ]\p{L}*|yece[kğ]\p{L}*"
    r"|m[ıi]ş(?!t?ır|t?ir)\p{L}*|m[ae]l[ıi]\p{L}*)|[ıiuü]yor\p{L}*)\b|\b(?!namaz)\p{Ll}{2,}m[ae]z(?:l[ae]r)?\b",
    "zh": r"(?<![沉淹埋出吞覆湮])[没沒](?!有|收|落)",
}
"""What denies within a word, or by its ending or beginning: the most frequent forms in what is told."""
_ASIDE = {
    "ar": r"غير أن|لا (?:يزال|تزال|سيما|بد|شك)|(?:ليس|ليست) فقط|(?:ليس|ليست|لم|لا)\b[^.،]{1,40}فحسب",
    "bg": r"\bне само\b",
    "da": r"\bikke (?:kun|bare|mindst)\b",
    "de": r"\bnicht (?:nur|bloß|zuletzt|weniger als)\b|, nicht wahr\?|\bnichts anderes,? als\b"
    r"|\bohne (?:jeden )?zweifel\b",
    "el": r"όχι μόνο",
    "en": r"\bnot (?:only|just|merely|least|to mention|less than|fewer than)\b|\bno (?:doubt|wonder|less|fewer)\b"
    r"|\bno\.? ?(?=\d)|\bcan(?:not|'t|’t) (?:but|help)\b|\bwithout (?:any )?doubt\b",
    "es": r"\bsin embargo\b|\bno (?:obstante|solo|sólo|solamente|únicamente|menos de)\b|\bsin duda\b|\bno\.? ?(?=\d)",
    "fa": r"نه (?:تنها|فقط)",
    "fi": r"\b(?:ei|eivät) (?:vain|ainoastaan)\b",
    "fr": r"\bn['’]importe\b|\bn['’]est-ce\b|\bn\b(?!['’])|\bpas[- ]de[- ]calais\b|\bpas moins de\b"
    r"|\b(?:un|chaque|premiers?|deux|trois|quelques|faux) pas\b|\bsans (?:aucun|nul) doute\b"
    r"|\bn(?:e |['’])[^.,;]{1,30}\bpas (?:seulement|uniquement)\b",
    "he": r"לא רק",
    "hi": r"न (?:केवल|सिर्फ|सिर्फ़|मात्र)",
    "id": r"\b(?:tidak|bukan) (?:hanya|saja|cuma)\b",
    "it": r"\bnon (?:solo|soltanto|solamente|meno di)\b|\bsenza dubbio\b",
    "ja": r"(?:だけ|ばかり)で?は?なく|のみならず"
    r"|(?:(?:なけれ|ね)ば|なくて[はも])(?:なら|いけ)(?:ない|なかっ|なく|ません)"
    r"|[少危切](?:ない|なかっ|なく)|[ま間]もなく|に(?:ほか|他)なら(?:ない|なかっ|ず)"
    r"|ざるを得な(?:い|かっ)|必ず|(?<!\p{L})まず",
    "ko": r"뿐(?:만)? ?(?:이 )?아니라|않으면 안 ?[되된됐될돼]|연못|틀림없이|끊임없이|없애",
    "nl": r"\bniet (?:alleen|slechts|enkel|minder dan)\b|\bzonder twijfel\b",
    "pl": r"\bnie (?:tylko|mniej niż|mógł nie|mogła nie)\b|\bbez wątpienia\b",
    "pt": r"\bnão (?:só|apenas|somente|obstante|menos de)\b|\bsem dúvida\b",
    "ru": r"\bне только\b|\b(?:тем )?не менее\b|\bне раз\b|\bне мо(?:г|жет|гут|гла|гло|гли) не\b"
    r"|\bнельзя не\b|\bбез сомнения\b",
    "sv": r"\binte (?:bara|endast|minst)\b|\butan (?:även|också|tvekan)\b",
    "sw": r"\b(?:si|sio) tu\b",
    "th": r"ไม่(?:ใช่)?(?:เพียง|แค่)",
    "tr": r"\b(?:sadece|yalnızca|yalnız)\b[^.;]{1,60}\bdeğil\b",
    "uk": r"\bне (?:тільки|лише|менше)\b|\b(?:тим )?не менш\b|\bне мо(?:же|жуть|г|гла|гли) не\b",
    "vi": r"\bkhông (?:quân|gian(?! lận)|khí|trung(?! th| lập)|phận|kích(?! động)"
    r"|những|chỉ(?! (?:ra|trích|định|đạo|huy|thị|dẫn)\b))\b|\b(?:hàng|trên|phòng) không\b",
    "zh": r"不丹|不[锈銹鏽]|[无無](?:人[机機]|[锡錫]|[论論])|不[过過断斷只仅僅但久]|不得不|不[论論少]",
}
"""What has a word of denial and denies nothing."""
_DOUBTFUL = {
    "ar": r"\b(?:لم|لا|لن|ليس)\b[^.،]{1,40}\b(?:سوى|إلا)\b",
    "el": r"\bδεν?\b[^.,;]{1,40}\bπαρά\b",
    "en": r"\bno (?:more|later|earlier|longer) than\b",
    "es": r"\bno\b[^.,;]{1,40}\bmás que\b",
    "fr": r"\bn(?:e |['’])[^.]{1,30}\bque\b",
    "it": r"\bnon\b[^.,;]{1,40}\bche\b",
    "ja": r"しか[^。、]{1,30}(?:ない|なかっ|ません)",
    "ko": r"밖에[^.]{1,30}[않없못]",
    "pt": r"\bnão\b[^.,;]{1,40}\b(?:mais (?:do )?que|senão)\b",
}
"""What may deny or only restrict: with it a sentence neither says nor denies what one without it says."""


def _compile(listed: dict[str, str], flags: int = 0) -> dict[str, regex.Pattern[str]]:
    return {language: regex.compile(pattern, flags) for language, pattern in listed.items()}


_FOLDED = {
    language: frozenset(fold(word, language) for word in listed.split()) for language, listed in _FURTHER.items()
}
_FORM_PATTERNS = _compile(_FORMS)
_ASIDE_PATTERNS = _compile(_ASIDE, regex.IGNORECASE)
_DOUBTFUL_PATTERNS = _compile(_DOUBTFUL, regex.IGNORECASE)


def is_denying(word: str, language: str) -> bool:
    """Whether a folded word denies and is nothing else."""
    return is_negation(word, language) or word in _FOLDED.get(language, ())


def denies(text: str, language: str) -> bool:
    """Whether a text denies, or may deny."""
    return _has_denial(_leave(text, _ASIDE_PATTERNS.get(language)), language)


def surely_denies(text: str, language: str) -> bool | None:
    """Whether a text denies; None where that is not sure."""
    denied = denies(text, language)
    if not denied:
        return False
    left = _leave(_leave(text, _ASIDE_PATTERNS.get(language)), _DOUBTFUL_PATTERNS.get(language))
    return True if _has_denial(leave_aside(left, language), language) else None


def _has_denial(text: str, language: str) -> bool:
    form = _FORM_PATTERNS.get(language)
    if count_negations(text, language) or (form is not None and form.search(text)):
        return True
    further = _FOLDED.get(language, frozenset())
    return bool(further) and any(token.word in further for token in words(text, language))


def _leave(text: str, pattern: regex.Pattern[str] | None) -> str:
    return text if pattern is None else pattern.sub(" ", text)
