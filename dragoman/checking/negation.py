"""Words that deny, by language. Where a word's ending denies (Turkish -me-), nothing is seen of it."""

from __future__ import annotations

import regex

from dragoman.checking.check import Reason
from dragoman.checking.sentence import Pair, Side
from dragoman.lexicon.text.tokens import fold, words

__all__ = ["compare_negations", "count_negations", "is_negation", "leave_aside"]

_WORDS = {
    "ar": "لا لم لن ليس ليست ليسوا غير دون بدون",
    "bg": "не няма никога нито",
    "cs": "není nejsou nikdy ani",
    "da": "ikke aldrig ingen intet",
    "de": "nicht kein keine keinen keinem keiner keines nie niemals nichts ohne weder",
    "el": "δεν μην όχι ποτέ χωρίς ούτε κανένας καμία",
    "en": "not never no cannot neither nor without none nobody nothing didn't doesn't don't isn't aren't wasn't weren't"
    " won't can't couldn't hasn't haven't hadn't wouldn't shouldn't",
    "es": "no nunca jamás sin ni ningún ninguna ninguno tampoco nadie",
    "fa": "نه نیست نبود هیچ بدون",
    "fi": "ei eivät en emme ette älä",
    "fr": "ne n pas jamais aucun aucune sans ni",
    "he": "לא אין בלי אינו אינה",
    "hi": "नहीं न मत बिना कभी",
    "id": "tidak bukan tanpa belum",
    "it": "non mai nessuno nessuna senza né",
    "nl": "niet geen nooit zonder noch",
    "pl": "nie nigdy bez ani",
    "pt": "não nunca jamais sem nem nenhum nenhuma",
    "ru": "не нет ни никогда без нельзя",
    "sv": "inte aldrig ingen inget utan",
    "sw": "si hakuna hapana bila sio",
    "tr": "değil yok asla hiçbir olmadan",
    "uk": "не ні ніколи без немає",
    "vi": "không chẳng chưa chả",
}
_PARTS = {
    "ja": r"ない|なかっ|なく|ません|ず(?=に|、|。)",
    "ko": r"않|아니|없|못",
    "th": r"ไม่|มิได้|ไร้",
    "zh": r"不(?!同|断|斷|仅|僅|但|少|久)|没有|沒有|未(?!来|來)|无(?!线)|無(?!線)|并非|並非",
}
"""Of languages without spaces, or that join words, what stands within a run of letters."""
_NOT_DENYING = {
    "ar": r"غير أن|لا (?:يزال|تزال|سيما|بد)|ليس فقط",
    "de": r"\bnicht (?:nur|zuletzt|zufällig)\b|, nicht wahr\?|\bnichts anderes,? als\b",
    "el": r"όχι μόνο",
    "en": r"\bnot (?:only|just|merely|necessarily|least|to mention|until|long)\b|\bno (?:doubt|matter|sooner|wonder)\b"
    r"|\bcan(?:not|'t|’t) (?:but|help)\b",
    "es": r"\bsin embargo\b|\bno (?:obstante|solo|sólo)\b|\bsin duda\b",
    "fr": r"\bn['’]importe\b|\bn['’]est-ce\b|\bne [^.]{1,30}\bque\b|\bsans doute\b"
    r"|\bn\b(?!['’])|\b(?:un|chaque) pas\b",
    "hi": r"न केवल|न सिर्फ|ही नहीं",
    "ja": r"かもしれ(?:ない|ません)|(?:なけれ|ね)ば|なくて(?:は|も)|だけで(?:は)?なく"
    r"|に(?:違い|間違い)ない|ざるを得ない|少なく|まもなく|間もなく",
    "ru": r"не только|тем не менее|не менее|не раз\b|чуть не|пока не",
    "th": r"ไม่ว่า|ไม่เพียง|ไม่กี่|ไม่นาน",
    "zh": r"不过|不過|不断|不只|不仅|不得不|不久|不但|不管|不论|无论|不足|不满|不良|不少|是不是|会不会|能不能",
}
"""What has a word of denial and denies nothing, or only what its translation says without one."""
_DENYING_OTHERWISE = regex.compile(
    r"\b(?:un(?!der|it|ion|iv|ique|iform|il|til)\w{3,}|dis(?!c|t|p)\w{4,}|in(?:a[bcd]|cap|cor|def|dep|dir|eff|ev|suf|vis)\w+"
    r"|im(?:pos|prob|pat|perf|mat)\w+|non\w*|\w*less|fewer|few|little|hardly|barely|rarely|scarcely|rather|fail\w*"
    r"|lack\w*|prevent\w*|prohibit\w*|ban(?:s|ned)?|stop\w*|avoid\w*|refus\w*|reject\w*|den(?:y|ied|ies|ial)|ignor\w*"
    r"|miss(?:ing|ed)|difficult\w*|free|against|other(?:wise)?|unlike|without|except\w*"
    r"|declin\w*|wrong\w*|maxim\w*|at most|nowhere|\w*n['’]t|dont|doesnt|didnt|isnt|wasnt|cant|wont"
    r"|only|just|but|until|before|still|yet|too|remain\w*|continu\w*|los[est]\w*|despite|mere\w*|far)\b",
    regex.IGNORECASE,
)
"""English words that say without a *not* what another language says with one, so that there is no doubt."""
_ASIDE = {language: regex.compile(pattern, regex.IGNORECASE) for language, pattern in _NOT_DENYING.items()}
_FOLDED = {language: frozenset(fold(word, language) for word in listed.split()) for language, listed in _WORDS.items()}
_PATTERNS = {language: regex.compile(pattern) for language, pattern in _PARTS.items()}


def is_negation(word: str, language: str) -> bool:
    """Whether a folded word denies."""
    pattern = _PATTERNS.get(language)
    return word in _FOLDED.get(language, ()) or (pattern is not None and pattern.fullmatch(word) is not None)


def count_negations(text: str, language: str) -> int:
    """How many words of a text deny; 0 for a language without a list."""
    pattern = _PATTERNS.get(language)
    if pattern is not None:
        return len(pattern.findall(text))
    listed = _FOLDED.get(language, frozenset())
    return sum(token.word in listed for token in words(text, language)) if listed else 0


def leave_aside(text: str, language: str) -> str:
    """The text without what only looks like a denial."""
    pattern = _ASIDE.get(language)
    return text if pattern is None else pattern.sub(" ", text)


def compare_negations(pair: Pair) -> Reason | None:
    """The reason where a sentence denies and the English one, its source or translation, does not.

    The other way round too many human translations are doubted: other languages deny in more ways than are listed.
    """
    english, other = (pair.source, pair.target) if pair.source.language == "en" else (pair.target, pair.source)
    if english.language != "en" or other.language == "en" or not _has_words(other.language):
        return None
    ours, theirs = (leave_aside(side.text, side.language) for side in (english, other))
    denied, denies = count_negations(ours, "en"), count_negations(theirs, other.language)
    if denies and not denied and not _DENYING_OTHERWISE.search(ours):
        return _describe(pair, other, theirs)
    return None


def _has_words(language: str) -> bool:
    return language in _FOLDED or language in _PATTERNS


def _describe(pair: Pair, side: Side, text: str) -> Reason:
    """What denies, on the side that has it."""
    pattern = _PATTERNS.get(side.language)
    if pattern is not None:
        match = pattern.search(text)
        written = match.group() if match is not None else None
    else:
        written = next(
            (
                text[word.start : word.end]
                for word in words(text, side.language)
                if is_negation(word.word, side.language)
            ),
            None,
        )
    return Reason("meaning", written, None) if side is pair.source else Reason("meaning", None, written)
