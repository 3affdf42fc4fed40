"""Words that deny, by language. Where a word's ending denies (Turkish -me-), nothing is seen of it."""

from __future__ import annotations

import regex

from dragoman.lexicon.text.tokens import fold, words

__all__ = ["count_negations", "is_negation"]

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
