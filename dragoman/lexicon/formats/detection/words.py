# ruff: noqa: E501
"""The words by which people name the columns of a glossary, in the usual languages of such files."""

from __future__ import annotations

import unicodedata

SOURCE = """
source|src|from|original|source language|source term|source text|source word|l1|lang1|language 1
quelle|quellsprache|quellbegriff|quellterm|quelltext|quellwort|ausgangssprache|ausgangsbegriff|ausgangsterm
ausgangstext|ausgangswort|ausgangsbenennung|quellbenennung
langue source|terme source|texte source|mot source|langue de départ|terme de départ|terme original
origen|fuente|idioma de origen|lengua de origen|término de origen|término origen|idioma origen|texto de origen
lingua di partenza|lingua di origine|termine di partenza|termine di origine|origine|partenza|sorgente
língua de origem|idioma de origem|termo de origem|língua de partida|origem
bron|brontaal|bronterm|bronwoord|brontekst|kilde|kildesprog|kildespråk|källa|källspråk|källterm|källord|lähde|lähdekieli
lähtökieli|źródło|język źródłowy|termin źródłowy|zdroj|zdrojový jazyk|zdrojový termín|zdrojový výraz|forrás|forrásnyelv
sursă|limba sursă|termen sursă|izvor|izvorni jezik|източник|изходен език|источник|исходный язык|исходный термин|исходный текст
оригинал|язык оригинала|джерело|вихідна мова|мова оригіналу|πηγή|γλώσσα πηγής|όρος πηγής|kaynak|kaynak dil|kaynak terim
שפת המקור|מקור|المصدر|مصدر|لغة المصدر|المصطلح الأصلي|زبان مبدأ|مبدأ|स्रोत|स्रोत भाषा|मूल शब्द
原文|源语言|源语|源|源術語|源术语|来源语言|來源語言|原語|ソース|ソース言語|起点言語|원문|원어|출발어|소스|소스 언어
nguồn|ngôn ngữ nguồn|bahasa sumber|sumber|istilah sumber|ภาษาต้นทาง|ต้นฉบับ|ต้นทาง
"""
TARGET = """
target|tgt|trg|to|translation|translations|translated|target language|target term|target text|target word|equivalent
l2|lang2|language 2|meaning
ziel|zielsprache|zielbegriff|zielterm|zieltext|zielwort|zielbenennung|übersetzung|übersetzungen|uebersetzung|entsprechung
traduction|traductions|langue cible|terme cible|texte cible|mot cible|cible|langue d'arrivée|équivalent
destino|idioma de destino|lengua de destino|término de destino|término meta|lengua meta|traducción|traducciones|traduccion
idioma destino|término destino|equivalente|texto de destino
lingua di arrivo|lingua di destinazione|termine di arrivo|destinazione|arrivo|traduzione|traduzioni
língua de destino|idioma de destino|termo de destino|língua de chegada|tradução|traduções|traducao|alvo
doel|doeltaal|doelterm|doelwoord|doeltekst|vertaling|vertalingen|mål|målsprog|målspråk|målterm|oversættelse|översättning
oversettelse|käännös|kohde|kohdekieli|cel|język docelowy|termin docelowy|tłumaczenie|tłumaczenia|překlad|cíl|cílový jazyk
cílový termín|preklad|cieľ|cieľový jazyk|fordítás|cél|célnyelv|traducere|țintă|limba țintă|prijevod|prevod|ciljni jezik|cilj
превод|целеви език|перевод|переводы|целевой язык|язык перевода|целевой термин|переклад|цільова мова|мова перекладу
μετάφραση|γλώσσα στόχος|στόχος|hedef|hedef dil|hedef terim|çeviri|tercüme|תרגום|שפת היעד|יעד|ترجمة|الترجمة|الهدف|لغة الهدف
ترجمه|زبان مقصد|مقصد|अनुवाद|लक्ष्य|लक्ष्य भाषा|译文|譯文|翻译|翻譯|目标|目标语言|目標語言|目标术语|译语|訳|訳語|訳文|翻訳|対訳
ターゲット|ターゲット言語|目標言語|释义|釋義|词义|对应词|意味|訳文語|対訳語|ความหมาย|번역|번역어|역어|대상|대상 언어|도착어|타겟|bản dịch|dịch|đích|ngôn ngữ đích|terjemahan
bahasa sasaran|bahasa target|sasaran|คำแปล|ภาษาปลายทาง|ปลายทาง
"""
TERM = """
term|terms|word|words|expression|phrase|headword|lemma|entry|terminology|preferred term|main term
begriff|begriffe|benennung|wort|wörter|terminus|stichwort|ausdruck|eintrag|fachbegriff|fachwort|vokabel
mot|mots|terme|termes|vocable|entrée|palabra|palabras|término|términos|termino|vocablo|parola|parole|termine|termini|vocabolo
termo|termos|palavra|palavras|woord|woorden|begrip|ord|begreb|begrepp|begrep|termi|sana|termin|słowo|słowa|hasło|slovo|výraz
termín|pojem|szó|kifejezés|szakkifejezés|cuvânt|termen|riječ|izraz|pojam|beseda|дума|термин|слово|слова|термін|понятие
λέξη|όρος|kelime|terim|sözcük|מילה|מונח|كلمة|مصطلح|المصطلح|الكلمة|واژه|کلمه|शब्द|词|词语|术语|單詞|单词|詞|術語|用語|単語|語|言葉|見出し語|見出し|词条|詞條|词汇|詞彙|生词|词目|원어|표제어
용어|단어|낱말|từ|thuật ngữ|kata|istilah|คำ|คำศัพท์
"""
PROBABILITY = """
probability|prob|probabilities|translation probability|p|p(t|s)|p(target|source)|p_ts|p ts|p(e|f)|p target given source
wahrscheinlichkeit|übersetzungswahrscheinlichkeit|probabilité|probabilidad|probabilità|probabilidade|waarschijnlijkheid
sandsynlighed|sannolikhet|sannsynlighet|todennäköisyys|prawdopodobieństwo|pravděpodobnost|valószínűség|probabilitate
вероятность|ймовірність|вероятност|πιθανότητα|olasılık|הסתברות|احتمال|الاحتمال|प्रायिकता|概率|機率|確率|확률|xác suất
"""
INVERSE = """
p(s|t)|p(source|target)|p_st|p st|p(f|e)|inverse probability|inverse|inverse prob|reverse probability|p source given target
backward probability
"""
SOURCE_LANGUAGE = "source_lang|source language code|source_language|src_lang|source lang|sl|quellsprachcode"
TARGET_LANGUAGE = "target_lang|target language code|target_language|tgt_lang|trg_lang|target lang|tl|zielsprachcode"
OTHER = """
id|ids|nr|no|num|number|#|index|idx|key|row|line|code|uuid|guid|entry id|term id|concept id|concept|lfd nr|nummer|numéro|numero
número|номер|numer|číslo|sorszám|编号|番号|번호|序号|序號
pos|part of speech|partofspeech|word class|wordclass|word type|category|categories|class|grammar|gender|genus|number
wortart|wortklasse|kategorie|klasse|grammatik|geschlecht|genre|classe|catégorie|nature|partie du discours|classe grammaticale
categoría|categoría gramatical|género|clase de palabra|categoria|genere|parte del discorso|classe gramatical|gênero|woordsoort
ordklass|ordklasse|część mowy|slovní druh|szófaj|часть речи|частина мови|род|sözcük türü|词性|詞性|词类|品詞|품사|từ loại
comment|comments|note|notes|remark|remarks|description|definition|definitions|example|examples|usage|context|explanation|info
kommentar|kommentare|bemerkung|bemerkungen|anmerkung|anmerkungen|hinweis|hinweise|notiz|beschreibung|definition|beispiel|beispiele
kontext|erläuterung|erklärung|commentaire|commentaires|remarque|remarques|exemple|exemples|contexte|définition|explication
comentario|comentarios|nota|notas|observaciones|observación|definición|descripción|ejemplo|ejemplos|contexto
commento|commenti|note|definizione|descrizione|esempio|esempi|contesto|comentário|comentários|observações|definição|exemplo
opmerking|opmerkingen|toelichting|definitie|voorbeeld|bemærkning|anmärkning|merknad|huomautus|määritelmä|uwagi|uwaga|komentarz
definicja|przykład|poznámka|poznámky|definice|příklad|megjegyzés|definíció|példa|observații|definiție|exemplu|napomena|opomba
бележка|комментарий|комментарии|примечание|примечания|определение|пример|контекст|коментар|примітка|σχόλιο|σχόλια|ορισμός|παράδειγμα
açıklama|not|notlar|örnek|yorum|הערה|הערות|הגדרה|ملاحظة|ملاحظات|تعريف|مثال|توضیحات|टिप्पणी|परिभाषा|उदाहरण
备注|備註|注释|说明|定义|例句|例子|備考|注記|コメント|定義|例|例文|説明|비고|메모|정의|예문|설명|ghi chú|định nghĩa|ví dụ|catatan
domain|subject|subject field|field|area|topic|theme|fachgebiet|sachgebiet|bereich|domäne|thema|domaine|thème|dominio|ámbito|tema
campo|domeinnaam|vakgebied|dziedzina|obor|szakterület|domeniu|область|предметная область|тематика|галузь|领域|領域|分野|분야|lĩnh vực
status|state|approved|date|created|updated|modified|created at|updated at|created by|author|user|owner|reference|url|link|freigabe
datum|autor|stand|erstellt|geändert|statut|auteur|fecha|estado|data|stato|autore|статус|дата|автор|状态|日期|作者|状態|日付|상태|날짜
frequency|freq|count|counts|occurrences|rank|score|scores|weight|confidence|häufigkeit|anzahl|fréquence|frecuencia|частота|频率|頻度
plural|singular|pronunciation|ipa|transcription|transliteration|romanization|pinyin|reading|aussprache|umschrift|lautschrift
prononciation|pronunciación|発音|読み|よみがな|かな|拼音|발음|произношение|транскрипция
synonym|synonyms|synonyme|antonym|abbreviation|abbreviations|acronym|abkürzung|abkürzungen|sigle|sinónimo|sinónimos|синоним
register|level|type|typ|product|client|customer|project|kunde|projekt|produkt|tag|tags|etymology|case sensitive|forbidden|priority
language|lang|sprache|langue|idioma|lingua|taal|язык|语言|言語|언어
"""
FILLER = """
language|languages|lang|locale|text|name|value|column|string|equivalent|version|variant|preferred|of|the|in|and|code|iso|main
sprache|sprachig|sprachige|sprachiger|bezeichnung|bevorzugt|in|auf|der|die|das|langue|en|le|la|les|du|de|des|idioma|lengua|el
lingua|in|italiana|língua|em|taal|sprog|språk|kieli|język|jazyk|nyelv|limba|język|язык|на|мова|език|jezik|γλώσσα|dil|dili|bahasa
tiếng|भाषा|语|语言|語言|言語|언어|文|版|ภาษา|اللغة|لغة|زبان|שפה|british|american|brazilian|european|simplified
traditional|modern|standard|us|uk|gb|br|cn|tw|usa|hans|hant|latn|cyrl|approved
"""
LANGUAGES = {
    "英文": "en",
    "英语": "en",
    "英語": "en",
    "德文": "de",
    "法文": "fr",
    "西文": "es",
    "俄文": "ru",
    "日文": "ja",
    "韩文": "ko",
    "韓文": "ko",
    "韓語": "ko",
    "国文": "zh",
    "汉语": "zh",
    "漢語": "zh",
    "华语": "zh",
    "華語": "zh",
    "中文": "zh",
    "中国語": "zh",
    "日语": "ja",
    "日語": "ja",
    "日本语": "ja",
    "国語": "ja",
    "영문": "en",
    "한글": "ko",
    "국어": "ko",
    "일어": "ja",
    "일문": "ja",
    "중문": "zh",
    "mandarin": "zh",
    "castellano": "es",
    "castilian": "es",
    "farsi": "fa",
    "flemish": "nl",
    "hochdeutsch": "de",
    "norsk": "no",
    "bahasa indonesia": "id",
    "bahasa melayu": "ms",
    "filipino": "tl",
    "brazilian": "pt",
    "brasilianisch": "pt",
}
"""Names of languages that CLDR does not have."""


def parse_list(text: str) -> frozenset[str]:
    """The words and phrases of one of the lists above, in normal form KC."""
    lines = unicodedata.normalize("NFKC", text).splitlines()
    return frozenset(phrase.strip() for line in lines for phrase in line.split("|") if phrase.strip())
