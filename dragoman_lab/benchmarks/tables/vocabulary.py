# ruff: noqa: E501
"""A small vocabulary in several languages, and the words by which people name the columns of their glossaries."""

from __future__ import annotations

_WORDS = """
en: house|tree|water|bread|heart attack|stroke|hospital|doctor|knee|bridge|railway station|newspaper|election|government|court|tax|insurance|contract|school|teacher|bicycle|engine|screw|coal mine|harbour|fisherman|cheese|butter|mountain|winter
de: Haus|Baum|Wasser|Brot|Herzinfarkt|Schlaganfall|Krankenhaus|Arzt|Knie|Brücke|Bahnhof|Zeitung|Wahl|Regierung|Gericht|Steuer|Versicherung|Vertrag|Schule|Lehrer|Fahrrad|Motor|Schraube|Kohlebergwerk|Hafen|Fischer|Käse|Butter|Gebirge|Winter
fr: maison|arbre|eau|pain|crise cardiaque|accident vasculaire cérébral|hôpital|médecin|genou|pont|gare|journal|élection|gouvernement|tribunal|impôt|assurance|contrat|école|enseignant|vélo|moteur|vis|mine de charbon|port|pêcheur|fromage|beurre|montagne|hiver
es: casa|árbol|agua|pan|infarto de miocardio|ictus|hospital|médico|rodilla|puente|estación de tren|periódico|elección|gobierno|tribunal|impuesto|seguro|contrato|escuela|maestro|bicicleta|motor|tornillo|mina de carbón|puerto|pescador|queso|mantequilla|montaña|invierno
pl: dom|drzewo|woda|chleb|zawał serca|udar mózgu|szpital|lekarz|kolano|most|dworzec|gazeta|wybory|rząd|sąd|podatek|ubezpieczenie|umowa|szkoła|nauczyciel|rower|silnik|śruba|kopalnia węgla|port|rybak|ser|masło|góra|zima
cs: dům|strom|voda|chléb|srdeční infarkt|mozková příhoda|nemocnice|lékař|koleno|most|nádraží|noviny|volby|vláda|soud|daň|pojištění|smlouva|škola|učitel|jízdní kolo|motor|šroub|uhelný důl|přístav|rybář|sýr|máslo|hora|zima
ru: дом|дерево|вода|хлеб|инфаркт|инсульт|больница|врач|колено|мост|вокзал|газета|выборы|правительство|суд|налог|страхование|договор|школа|учитель|велосипед|двигатель|винт|угольная шахта|порт|рыбак|сыр|масло|гора|зима
uk: будинок|дерево|вода|хліб|інфаркт|інсульт|лікарня|лікар|коліно|міст|вокзал|газета|вибори|уряд|суд|податок|страхування|договір|школа|вчитель|велосипед|двигун|гвинт|вугільна шахта|порт|рибалка|сир|масло|гора|зима
el: σπίτι|δέντρο|νερό|ψωμί|έμφραγμα|εγκεφαλικό|νοσοκομείο|γιατρός|γόνατο|γέφυρα|σταθμός|εφημερίδα|εκλογές|κυβέρνηση|δικαστήριο|φόρος|ασφάλιση|σύμβαση|σχολείο|δάσκαλος|ποδήλατο|κινητήρας|βίδα|ανθρακωρυχείο|λιμάνι|ψαράς|τυρί|βούτυρο|βουνό|χειμώνας
tr: ev|ağaç|su|ekmek|kalp krizi|felç|hastane|doktor|diz|köprü|istasyon|gazete|seçim|hükümet|mahkeme|vergi|sigorta|sözleşme|okul|öğretmen|bisiklet|motor|vida|kömür madeni|liman|balıkçı|peynir|tereyağı|dağ|kış
ja: 家|木|水|パン|心臓発作|脳卒中|病院|医者|ひざ|橋|駅|新聞|選挙|政府|裁判所|税金|保険|契約|学校|先生|自転車|エンジン|ねじ|炭鉱|港|漁師|チーズ|バター|山|冬
ko: 집|나무|물|빵|심장마비|뇌졸중|병원|의사|무릎|다리|기차역|신문|선거|정부|법원|세금|보험|계약|학교|선생님|자전거|엔진|나사|탄광|항구|어부|치즈|버터|산|겨울
zh: 房子|树|水|面包|心脏病发作|中风|医院|医生|膝盖|桥|火车站|报纸|选举|政府|法院|税|保险|合同|学校|老师|自行车|发动机|螺丝|煤矿|港口|渔民|奶酪|黄油|山|冬天
ar: بيت|شجرة|ماء|خبز|نوبة قلبية|سكتة دماغية|مستشفى|طبيب|ركبة|جسر|محطة|جريدة|انتخابات|حكومة|محكمة|ضريبة|تأمين|عقد|مدرسة|معلم|دراجة|محرك|برغي|منجم فحم|ميناء|صياد|جبن|زبدة|جبل|شتاء
"""
WORDS: dict[str, list[str]] = {line[:2]: line[4:].split("|") for line in _WORDS.strip().splitlines()}
"""The same concepts in each language."""

NAMES = {
    "en": ["English", "Englisch", "anglais", "inglés", "английский", "英語", "EN", "en", "en-US", "en_GB", "eng"],
    "de": ["German", "Deutsch", "allemand", "alemán", "немецкий", "ドイツ語", "DE", "de", "de-DE", "de_AT", "deu"],
    "fr": ["French", "Französisch", "français", "francés", "французский", "フランス語", "FR", "fr", "fr-FR", "fr_CA"],
    "es": [
        "Spanish",
        "Spanisch",
        "espagnol",
        "español",
        "испанский",
        "スペイン語",
        "ES",
        "es",
        "es-ES",
        "es_MX",
        "spa",
    ],
    "pl": ["Polish", "Polnisch", "polonais", "polski", "польский", "PL", "pl", "pl-PL", "pol"],
    "cs": ["Czech", "Tschechisch", "tchèque", "čeština", "чешский", "CS", "cs", "cs-CZ", "cze"],
    "ru": ["Russian", "Russisch", "russe", "русский", "ロシア語", "RU", "ru", "ru-RU", "rus"],
    "uk": ["Ukrainian", "Ukrainisch", "ukrainien", "українська", "украинский", "UK", "uk-UA", "ukr"],
    "el": ["Greek", "Griechisch", "grec", "Ελληνικά", "греческий", "EL", "el", "el-GR", "ell"],
    "tr": ["Turkish", "Türkisch", "turc", "Türkçe", "турецкий", "TR", "tr", "tr-TR", "tur"],
    "ja": ["Japanese", "Japanisch", "japonais", "日本語", "японский", "JA", "ja", "ja-JP", "jpn"],
    "ko": ["Korean", "Koreanisch", "coréen", "한국어", "корейский", "KO", "ko", "ko-KR", "kor"],
    "zh": ["Chinese", "Chinesisch", "chinois", "中文", "китайский", "ZH", "zh", "zh-CN", "zh_Hans", "zho"],
    "ar": ["Arabic", "Arabisch", "arabe", "العربية", "арабский", "AR", "ar", "ar-SA", "ara"],
}
"""How a column of a language is called, in several languages and as a code."""
FRAMES = ["{}", "{}", "{}", "Term ({})", "{} term", "Begriff ({})", "term_{}", "{} Wort", "[{}]", "Terme {}"]
ROLES = [
    ("source", "target"),
    ("Source", "Target"),
    ("src", "tgt"),
    ("Source Language", "Target Language"),
    ("source term", "target term"),
    ("Quelle", "Ziel"),
    ("Ausgangssprache", "Zielsprache"),
    ("Quellbegriff", "Zielbegriff"),
    ("Begriff", "Übersetzung"),
    ("Term", "Translation"),
    ("word", "translation"),
    ("Langue source", "Langue cible"),
    ("Terme", "Traduction"),
    ("Idioma de origen", "Idioma de destino"),
    ("Término", "Traducción"),
    ("parola", "traduzione"),
    ("Termo", "Tradução"),
    ("woord", "vertaling"),
    ("Język źródłowy", "Język docelowy"),
    ("слово", "перевод"),
    ("Исходный термин", "Целевой термин"),
    ("kaynak", "hedef"),
    ("原文", "訳文"),
    ("用語", "翻訳"),
    ("源语言", "目标语言"),
    ("术语", "译文"),
    ("용어", "번역"),
    ("المصدر", "الهدف"),
]
"""How the source and the target are called where no language is named."""
EXTRAS = {
    "id": ["ID", "Nr.", "id", "#", "Nummer"],
    "pos": ["POS", "part of speech", "Wortart", "Catégorie", "Word class"],
    "comment": ["Comment", "Kommentar", "Bemerkung", "Remarque", "Notes", "Definition"],
    "date": ["Date", "created", "Datum", "geändert"],
}
PROBABILITY = ["probability", "Wahrscheinlichkeit", "p", "P(t|s)", "prob", "Probabilité"]
ENCODINGS = {
    "en": ["windows-1252", "iso-8859-15"],
    "de": ["windows-1252", "iso-8859-15", "cp850"],
    "fr": ["windows-1252", "iso-8859-15", "mac-roman"],
    "es": ["windows-1252", "iso-8859-15"],
    "pl": ["windows-1250", "iso-8859-2"],
    "cs": ["windows-1250", "iso-8859-2"],
    "ru": ["windows-1251", "koi8-r", "cp866"],
    "uk": ["windows-1251", "koi8-u"],
    "el": ["windows-1253", "iso-8859-7"],
    "tr": ["windows-1254", "iso-8859-9"],
    "ja": ["shift_jis", "cp932", "euc-jp"],
    "ko": ["euc-kr", "cp949"],
    "zh": ["gb18030", "gbk", "big5"],
    "ar": ["windows-1256", "iso-8859-6"],
}
"""The old encodings that files in a language are in."""
