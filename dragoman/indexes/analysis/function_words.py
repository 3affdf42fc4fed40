"""Function words: words of a question that say nothing about its topic."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import stopwordsiso

from dragoman.lexicon.text.tokens import PlainAnalysis

_FUNCTION_WORDS = {
    "en": "what which who whom whose when where why how many much "
    "am is are was were be been do does did doing done have has had having "
    "can could shall should would must "
    "i me my we our ours you your yours he him his she her hers it its they them their theirs "
    "a an the this that these those there here "
    "and or but nor if than as so because while of in on at by for with to from into about not no",
    "de": "wer wen wem wessen was wann warum weshalb wieso wozu wo wohin woher wie wieviel wieviele "
    "wievielen viele vielen "
    "welche welcher welches welchem welchen wurde wurden worden",
    "es": "qué quién quiénes cuál cuáles cuándo dónde adónde cómo cuánto cuánta cuántos cuántas",
    "fr": "qui que quoi quand où pourquoi comment combien quel quelle quels quelles lequel laquelle "
    "lesquels lesquelles",
    "it": "chi che cosa quando dove perché come quale quali quanto quanta quanti quante",
    "pt": "quem que quê quando onde aonde porque como qual quais quanto quanta quantos quantas",
    "nl": "wie wiens wat waar wanneer waarom hoe hoeveel vele welk welke",
    "pl": "co kto kogo komu kim kiedy gdzie skąd dokąd dlaczego czemu jak ile jaki jaka jakie jacy który która które "
    "którzy którego której czy czyj czyja czyje a i oraz lub ale w we z ze na do o od po za dla przez przy się nie to "
    "ten ta te jest są był była było były być",
    "ru": "кто кого кому кем что чего чему чем какой какая какое какие какого каком каких какую когда где куда откуда "
    "почему зачем сколько как чей чья чьё чьи который которая которое которые ли",
    "el": "ποιος ποια ποιο ποιοι ποιες ποιον ποιου τι πότε πού πώς γιατί πόσο πόσος πόση πόσοι πόσες πόσα",
    "tr": "kim kime kimin kimler ne neyi neyin neden niçin nasıl nerede nereye nereden hangi hangisi kaç mi mı mu mü",
    "ar": "من ما ماذا متى أين لماذا كيف كم أي أية هل",
    "fa": "چه کی چرا کجا چگونه چطور چند کدام آیا",
    "hi": "कौन क्या कब कहाँ कहां क्यों कैसे कैसा कितना कितने कितनी किस किसने किसका किसके किसकी किसे किन कौनसा कौनसी",
    "th": "ใคร อะไร เมื่อไร เมื่อไหร่ ที่ไหน ไหน ทำไม อย่างไร กี่ เท่าไร เท่าไหร่ ใด",
    "zh": "什么 甚么 谁 哪 哪个 哪些 哪里 哪儿 哪一 何 何时 何处 何人 如何 为何 为什么 怎么 怎样 怎么样 多少 几 吗 呢 "
    "的 地 得 了 着 过 是 在 有 和 与 及 或 而 但 也 都 就 被 把 将 对 从 到 于 以 为 由 这 那 这个 那个 这些 那些 其 "
    "我 你 他 她 它 我们 你们 他们 她们 它们",
    "vi": "gì ai nào đâu nhiêu mấy là và hay hoặc nhưng của các những một được bị có đã đang sẽ "
    "này kia đó ấy cho trong với từ khi ở tại bởi vì do như để thì mà cũng nó họ tôi chúng",
    "sw": "nani nini lini wapi gani vipi ngapi ipi upi yupi zipi je mbona na ya wa za la cha vya kwa katika ni si au "
    "lakini kuwa kwamba ambaye ambao ambayo ambalo ambacho ambazo hii hiyo huyu huyo hawa hao hizi hizo ile yule wale "
    "zile yake wake zake lake chake vyake yao wao zao yeye mimi sisi ninyi alikuwa ilikuwa walikuwa zilikuwa",
    "so": "maxay maxaa muxuu kuma yaa ayo goorma xaggee halkee sidee immisa intee kee tee oo iyo ee ama laakiin ku "
    "ka u la in ay uu aan ayaa ayuu ayay waa waxa waxaa waxay waxuu inuu inay soo ah ahaa yahay tahay ahayd",
}
"""Closed-class words: all of them if Lucene has no stop words for the language, else those that its list lacks."""

_LISTED_AS = {"nb": "no"}
"""Languages that the package has under another code."""
_NO_LIST = frozenset({"ms"})
"""Languages whose list in the package contains ordinary words of news text."""


@lru_cache(maxsize=256)
def function_words(language: str) -> frozenset[str]:
    """Folded words that cross-lingual queries leave out, in addition to the analyzer's stop words.

    They stay in indexes and tables: removing them from documents as well loses more than it gains.
    """
    return _folded(_FUNCTION_WORDS.get(language, "").split(), language)


@lru_cache(maxsize=256)
def common_words(language: str) -> frozenset[str]:
    """Folded common words of a language, for language detection; empty for a language without a list."""
    listed = _LISTED_AS.get(language, language)
    known = stopwordsiso.has_lang(listed) and listed not in _NO_LIST
    return _folded(stopwordsiso.stopwords(listed), language) if known else frozenset()


@lru_cache(maxsize=256)
def common_letters(language: str) -> frozenset[str]:
    """The letters of a language's common words as they are written, in lower case; empty without a list."""
    listed = _LISTED_AS.get(language, language)
    return frozenset("".join(stopwordsiso.stopwords(listed)).lower()) if stopwordsiso.has_lang(listed) else frozenset()


def _folded(entries: Iterable[str], language: str) -> frozenset[str]:
    """The folded entries that are one word; a Chinese entry always is."""
    whole = PlainAnalysis(language, lambda run: [(0, len(run))], "whole")
    found = (whole.tokens(entry) for entry in entries)
    return frozenset(tokens[0].word for tokens in found if len(tokens) == 1 and not tokens[0].word.isdigit())
