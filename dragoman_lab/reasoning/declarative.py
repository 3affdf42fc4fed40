"""Statements made of questions and their answers: the question word gives its place to the answer.

Where question words stand in the place of what they ask for (Chinese, Hindi, Thai, Turkish, Vietnamese) any will do.
Elsewhere only those are rewritten that leave a sentence: subjects, and in German, whose verb is second, most others.
"""

from __future__ import annotations

import regex

__all__ = ["make_statement"]

_AUXILIARY = r"(?:is|are|was|were|did|does|do|has|have|had|can|could|would|will|of|in|kind|type|year)\b"
_PAST = (
    r"(?:(?:(?!(?:does|was|is|has)\b)(?:\w+ed|\w+s))"
    r"|won|led|made|ran|sent|became|began|held|took|gave|wrote|built|lost|found|beat|sang|spoke)\b"
)
_START = r"(?:^|(?<=,\s))[¿]?"
_RULES: dict[str, list[tuple[str, str]]] = {
    "en": [
        (
            r"^How many (?!.*\b(?:did|does|do|had|can|could|would|will)\b)"
            r"(?=\w+ (?:\w+ )?(?:is|are|was|were|have|has)\b)",
            "{} ",
        ),
        (
            rf"^(?:Which|What) (?:(?!{_AUXILIARY})[\w-]+ ){{1,3}}"
            r"(?=(?:is|was|are|were|has|have)\b(?! (?:the|a|an|[A-Z])))",
            "{} ",
        ),
        (rf"^(?:Which|What) (?:(?!{_AUXILIARY})[\w-]+ ){{1,3}}(?={_PAST})", "{} "),
        (r"^(?:Who|What) (?=(?:is|was|are|were) (?:the|a|an|one)\b)", "{} "),
        (rf"^(?:Who|What) (?=(?:\w+ly |first )?{_PAST})", "{} "),
        (r"^(?:Who|What) (?=(?:has|have|was|were|is|are|can|could|would|will) (?:\w+ed|\w+ing|be|been)\b)", "{} "),
        (r"\b(in|on|at|by|from|of|to|for|with) (?:what|which)(?: \w+)?\?$", r"\1 {}"),
    ],
    "de": [
        (_START + r"Wie viele?\b", "{}"),
        (
            _START + r"(In|Im|An|Am|Aus|Von|Vor|Mit|Bei|Auf|Nach|Zu|Zum|Für|Durch|Unter|Um) "
            r"(?:welche[mnrs]?|was|wem|wen)(?: [\p{L}-]+)?",
            r"\1 {}",
        ),
        (_START + r"Welche[mnrs]? (?:[\p{Ll}-]+ )?[\p{L}-]+", "{}"),
        (_START + r"(?:Wer|Wen|Wem|Was|Wann|Wo|Wohin|Woher|Wodurch)\b", "{}"),
    ],
    "es": [
        (_START + r"(En|A|De|Con|Por|Para|Desde) qué(?: \p{L}+)?", r"\1 {}"),
        (_START + r"[Cc]uánt[oa]s?\b", "{}"),
        (_START + r"[Qq]ué (?!es\b|son\b|era\b|fue\b|se\b|\p{L}+(?:ó|aron|ieron|aba|ía)\b)\p{L}+", "{}"),
        (_START + r"(?:[Qq]uién(?:es)?|[Cc]uál(?:es)?|[Cc]uándo|[Dd]ónde|[Qq]ué)\b", "{}"),
    ],
    "ru": [
        (_START + r"(В|Во|На|С|Со|К|Из|От|Под|Над|При) как(?:ом|ой|ую|их|им|ими|ого)\b(?=\s\p{L}+)", r"\1 {}"),
        (_START + r"Как(?:ой|ая|ое|ие|ую|ого|их) \p{L}+", "{}"),
        (_START + r"(?:[Кк]то|[Кк]ого|[Кк]ому|[Чч]то(?! такое)|[Сс]колько|[Кк]огда|[Гг]де|[Кк]ем)\b", "{}"),
    ],
    "el": [
        (_START + r"(Σε|Από|Με|Για|Στο|Στη) ποι\p{L}+(?: \p{L}+)?", r"\1 {}"),
        (_START + r"[Ππ]όσ\p{L}+", "{}"),
        (_START + r"[Ππ]οι\p{L}+ (?=(?:είναι|ήταν|έχει|είχε)\b)", "{} "),
        (_START + r"[Ππ]οιον\b", "{}"),
        (_START + r"[Ππ]οι\p{L}+ \p{L}+", "{}"),
        (_START + r"(?:[Ππ]ότε|[Ππ]ού|[Ππ]ου|[Ττ]ι)\b", "{}"),
    ],
    "ar": [
        (r"(?:^|(?<=[،,]\s))(في|من|إلى|على|بـ?) أي(?: \p{L}+)?", r"\1 {}"),
        (r"(?:^|(?<=[،,]\s))كم\b", "{}"),
        (r"(?:^|(?<=[،,]\s))(?:ما هو|ما هي|من هو|من هي|من هم|ما الذي|من الذي)\b", "{} هو"),
        (r"(?:^|(?<=[،,]\s))(?:من|متى|أين|ماذا)(?=\s)", "{}"),
    ],
    "hi": [
        (r"किसने", "{} ने"),
        (r"कौन[ -]?(?:सा|सी|से) \S+", "{}"),
        (r"किस (\S+)", r"{} \1"),
        (r"(?:कितने|कितनी|कितना|कौन|कब|कहाँ|कहां|(?<!^)क्या)(?=\s)", "{}"),
    ],
    "th": [
        (r"(?:เมื่อใด|เมื่อไร|เมื่อไหร่)", " {} "),
        (r"(?:ปี|วัน|เดือน)(?:ใด|ไหน|อะไร)", " {} "),
        (r"(?:เท่าไร|เท่าไหร่|เท่าใด|กี่|ใคร|อะไร)", " {} "),
        (r"ที่(?:ไหน|ใด)", "ที่ {} "),
    ],
    "tr": [
        (r"\b(?:[Nn]e zaman|[Nn]erede|[Kk]imdir|[Kk]imin|[Kk]im|[Nn]edir|[Nn]eydi|[Nn]eyi|[Nn]e kadar)\b", "{}"),
        (r"\b[Kk]aç(?: tane)?\b", "{}"),
        (r"\b[Hh]angi \p{L}+", "{}"),
    ],
    "vi": [
        (r"(?:[Kk]hi nào|[Ll]úc nào|[Bb]ao nhiêu|[Cc]ái gì|[Đđ]iều gì)", "{}"),
        (r"(?<!\p{L})(?:[Aa]i|gì)(?!\p{L})", "{}"),
        (r"(?:ở )?đâu(?!\p{L})", "ở {}"),
    ],
    "zh": [
        (r"(?:什么时候|什麼時候|何时|哪一年|哪年)", "{}"),
        (r"哪一?(?:个|位|支|种|座|家|届|条|些)", "{}"),
        (r"(?:谁|哪里|哪儿|何处|多少|什么)", "{}"),
    ],
}
_PATTERNS = {language: [(regex.compile(pattern), put) for pattern, put in rules] for language, rules in _RULES.items()}
_ENDS = " ?？؟;¿"
_STOPS = {"zh": "。", "hi": "।", "th": ""}
_SUFFIX = regex.compile(r"(?<=\S)(?:呢|吗)$")


def make_statement(question: str, answer: str, language: str) -> str | None:
    """The statement that an answer makes of a question; None where no rule fits."""
    answer = answer.strip(" .,;،。、")
    text = question.strip()
    for pattern, put in _PATTERNS.get(language, []):
        matches = list(pattern.finditer(text))
        if len(matches) != 1:
            continue
        match = matches[0]
        place = match.expand(put.replace("{}", "\0")) if "\\" in put else put.replace("{}", "\0")
        statement = text[: match.start()] + place.replace("\0", answer) + text[match.end() :]
        statement = " ".join(_SUFFIX.sub("", statement.strip(_ENDS)).replace("¿", "").split())
        if _PATTERNS_LEFT.search(statement):
            return None
        return statement[:1].upper() + statement[1:] + _STOPS.get(language, ".")
    return None


_PATTERNS_LEFT = regex.compile(r"[?？؟]|\b(?:[Ww]hich|[Ww]here|[Ww]arum|[Pp]or qué|[Пп]очему|[Γγ]ιατί|did|does)\b")
"""A statement that still asks."""
