"""Words that deny by what they mean: who *failed to* close a school, or *refused to*, did not close it."""

from __future__ import annotations

from unicodedata import normalize

import regex

__all__ = ["count_implicit"]

_STEMS = {
    "ar": "امتناع إنكار",
    "bg": "отказ отхвърл отрич отрече забран предотврат попреч избегн отмен лишен невъзмож неспособ провал невярн"
    " престан пропусн пренебрегн",
    "cs": "odmít zamít popír zakáz(?:al|án|an|at) zákaz(?!n) zabrán zruš postrád chyběl nedostat neschop nemožn"
    " nepravd údajn přestal vyhnul zanedbal selhal opom",
    "da": "undlod undlad nægt afvis afslog benægt mangl forbyd forbød forbudt forhindr undgik undgå aflys umulig"
    " falsk angivelig mislyk forsøm ophør",
    "de": "versäum (?:miss|miß)(?:lang|ling|lung|glück) gescheiter scheiter(?!hauf) fehlschl[aäu]g fehlgeschl"
    r" (?:ver|ge)?weiger abgelehnt ablehn entbehr (?:ge)?leugne abstritt abgestritten bestr(?:eit|itt)\p{L}*(?=,)"
    r" dementier verhinder verbiet verbot(?!ene\p{L}?\sstadt) untersag vermeid vermied verzicht unterl[aä]ss unterließ"
    " abgesagt ab(?:zu)?sag abzulehn abzustreit auszuschließ unfähig unmöglich unwahr angeblich fälschlich vermeintlich"
    " ausgeschlossen ausschließ(?!lich)"
    " ausschloss verschob blockier aufgegeben",
    "el": "απέτυχ αποτυγχ αποτυχ αρν(?:ή|ού|εί|ιέ|ηθ) απέρριψ απορρ[ίι] στερ(?:εί|ή|ού) έλλειψ διέψευσ διαψε"
    " απαγ[όο]ρ εμπόδισ εμποδίζ εμποδίσ απέτρεψ αποτρέ απέφυγ αποφεύγ αποφύγ αποφυγ ακύρω ακυρώ αδύνατ αδυνατ ανίκαν"
    " ψευδ(?!ών|ων) ψέμα υποτιθέμεν έπαψ παρέλειψ παραλεί αμέλησ",
    "en": "refus reject prohibit cancel abandon neglect omit omission incorrect hoax alleged supposed exclud averted"
    " postpon abstain impossib",
    "es": "fracas nieg rehus rechaz carec impedi impidi impide impiden prohib cancel renunci abandon incapa imposib"
    " omiti omite desmint desmient aplaz",
    "fa": "ناکام امتناع خودداری انکار تکذیب جلوگیری ممنوع اجتناب پرهیز ناتوان غیرممکن دروغ نادرست غفلت",
    "fi": "epäonnistu kieltäyty kielsi kieltää kieltäv kieltän kiellet hylkäsi hylkää hylätty hylätti hylänny puuttu"
    " estää estäv estän estett vältt(?!ämät) perui peruut luopu mahdoto kykenemät väitet lakkasi lakkaut laiminl",
    "fr": "échou refus manqu néglig rejet empêch interdi évit annul(?!aire) renonc(?!ul) abandonn incapa impossib"
    " dépourv bloqu exclu(?!si)",
    "hi": "असफल विफल नाकाम इनकार इंकार अस्वीकार खारिज ख़ारिज अभाव वंचित निषेध प्रतिबंध रद्द असमर्थ असंभव झूठ गलत ग़लत कथित खंडन",
    "id": "menolak ditolak kekurang ketiadaan membantah dibantah menyangkal mencegah dicegah melarang dilarang"
    " menghindar membatal dibatal mengabai menghentik",
    "it": "respin vieta(?!n) proib annull rinunci abbandon incapac impossibil presunt smett smess omess omett smenti"
    " trascur",
    "nl": "misluk nagelaten naliet verzuim (?:ge)?weiger ontbre[ek] ontbrak ontken afgewezen verwierp verhinder verbied"
    r" verbood verboden(?!\sstad) vermeed vermijd vermeden afgelast geannul onmogelijk onbekwaam onwaar valselijk",
    "pl": "odm[óo]w odrzuc zaprzecz zabron zabrania zabrakł zakaz zapobie uniemożliw niemożliw niezdoln unikn odwoł"
    " zrezygn zaniedb fałsz rzekom przesta[łl] nieprawd pozbawi zaniecha",
    "pt": "fracass recus rejeit impeç proib proíb cancel renunci abandon incapa imposs desment omiti omite supost",
    "ru": "отказ неспособ неудач неверн неправд невозмож отверг отклони отрица(?:л|ет|ют|ть|я|ни) опроверг запре[тщ]"
    " предотвра(?!щени) помеша избе[жг] отмен(?!н) лиш[её]н лишил отсутств нехват ложн перестал прекра[тщ] отложил"
    " заблокир исключил воздерж упусти пренебрег провалил",
    "sv": "underlåt vägra avvis avslog förnek sakna förbjud förbjöd förbud hindra förhindr undvik undvek omöjlig falsk"
    " misslyck försumma oförmög upphör",
    "sw": r"\p{L}*shindw \p{L}*katao \p{L}*kataa \p{L}*kataz \p{L}*kanush \p{L}*zuia(?!ji) \p{L}*zuiw"
    r" \p{L}*ghairi \p{L}*futwa \p{L}*epuk \p{L}*(?:li|me)kos[ae] \p{L}*(?:li|me)sahau",
    "tr": "başarısız redde reddi [iİ]nk[aâ]r yalanla engelle(?:d|n|m|y) yasak [iİ]ptal vazgeç(?!il) kaçın(?!c|ıl)"
    " eksik yoksun [iİ]mk[aâ]nsız [iİ]hmal",
    "uk": "відмов нездат невда неможлив неправд відхили відкин запереч спростув заборон запоб[іи] завади[влт] уникн"
    " скасув позбавл відсутн бракує бракувал провал хибн припин перестал утрима(?:вс|лис|лас|тис) знехтув",
}
"""How such words begin, each a pattern: of verbs, what all their forms have."""
_WORDS = {
    "ar": "(?:فشل|أخفق|اخفق|رفض|امتنع|افتقر|أنكر|منع|حظر|تجنب|عجز|أهمل)(?:ت|وا|ه|ها|هم)?"
    " [يت](?:فشل|رفض|متنع|فتقر|منع|حظر|تجنب|لغي|عجز) ينكر ألغ(?:ى|ت|وا|ي) مستحيل استحال(?:ت)? عدم انعدام بدلا"
    " كاد(?:ت|وا)? يكاد تكاد كاذب(?:ة)? خاطئ(?:ة)? مزعوم(?:ة)? زعم(?:ت|وا)? نادرا تخلى تخلت تخلوا ينقص"
    " غاب(?:ت|وا)? غياب",
    "bg": "липс(?:а|ва|ваше|ват|ваха) мним(?:а|о|и|ия|ият|ата|ите)? рядко вместо уж",
    "cs": "popř(?:el[aoiy]?|ít|en|ení) chybí chybějí namísto zřídka málem",
    "da": "opgav sjældent",
    "de": r"(?:\p{L}{3,})?mangel mangel(?:t|te|ten) selten vetos? falsch hätten? anstelle stattdessen außerstande"
    " aufgehört fehl(?:t|te|ten|en|end|ende[mnrs]?)",
    "el": "αντί δίχως δήθεν παραλίγο σπάνια",
    "en": "fail(?:s|ed|ing|ures?)? lack(?:s|ed|ing)? den(?:y|ied|ies|ying|ials?) prevent(?:s|ed|ing)?"
    r" forbid(?:s|ding)? forbade forbidden(?!\scity) avoid(?:s|ed|ing)? inability unable incapable false(?:ly)? untrue"
    " wrongly devoid absent absence hardly rarely seldom ceas(?:e|es|ed|ing) veto(?:es|ed)? blocked blocking powerless"
    " missed misses missing (?-i:bans?) bann(?:ed|ing) instead unlike except",
    "es": "neg(?:ó|ar|aron|aba|aban|ad[oa]s?|ando) evit(?:ó|ar|aron|aba|aban|ad[oa]s?|ando|an) fals[oa]s? falsamente"
    r" (?<!por\s)supuest[oa]s? supuestamente ausentes? ausencia habría(?:n)? vet(?:o|ó|ar|ad[oa]s?)"
    " bloque(?:ó|ar|aron|ad[oa]s?) descart(?:ó|a|an|ar|aron|ad[oa]s?) falt(?:a|ó|aba|an|aron)",
    "fa": "فاقد کمبود مانع لغو عاجز",
    "fi": "esti estivät kielto harvoin sijasta sijaan"
    r" (?!huoli|riippu|välttä|otta)\p{L}{3,}m(?:atta|ättä)",
    "fr": "échec om(?:is|ise|it|et|ettre|ettent) fausse(?:s|ment)? faux prétend(?:u|ue|us|ues|ument|ent|it|ait)?"
    " rarement aurai(?:t|ent) v[eé]to absen(?:te?s?|ce) cess(?:e|a|é|er|ent|èrent) démen(?:t|ti|tie|tis|tit|tir|tent)"
    " failli (?-i:ni(?:e|es|ent|er|a|ait|aient|é|ée|és))",
    "he": "[וש]?(?:נכשל|סירב|מסרב|סרב|הכחיש|ביטל|בוטל|נמנע|מנע|אסר|הפסיק|חדל|הזניח|נעדר|חסר)(?:ה|ו|ים|ת)?"
    " [וש]?סירוב [וש]?(?:דחה|דחתה|דחו|נדחה|נדחתה|נדחו) מכחיש(?:ה|ים)? אסור שקר כוזב(?:ת)? לכאורה ב?היעדר ללא",
    "hi": "रोक(?:ा|ी|े|ने|ना|कर)? बजाय बजाए टाल(?:ा|ी|े|ने)? चूक बगैर बग़ैर",
    "id": "gagal enggan batal mustahil alih-alih palsu keliru konon jarang lalai",
    "it": "fall(?:ì|it[oaie]|isce|irono|imento) rifiut(?:a|ò|at[oaie]|arono|ano|are|arsi|ava)"
    " manc(?:a|ò|ano|ava|at[oaie]|arono|anza) neg(?:a|ò|are|at[oaie]|arono|ava|avano|ano)"
    " imped(?:ì|ire|isce|it[oaie]|irono) evit(?:a|ò|are|at[oaie]|arono|ano) anziché fals[oaie] falsamente raramente"
    " avrebbe(?:ro)? veto rinvi(?:ò|at[oaie]|are|arono) blocc(?:ò|at[oaie]|are|arono) esclus[oaie] esclud(?:e|ere|ono)",
    "nl": "faal faalt faalden? falen gefaald gebrek zelden gemist",
    "pl": "brak(?:u|uje|owało)? unika(?:ł|ła|li|ją|ć)? zamiast rzadko omal",
    "pt": "falh(?:ou|aram|ar|ad[oa]s?) neg(?:ou|ar|aram|ad[oa]s?|ava|avam|am) carec(?:e|em|ia|iam|eu)"
    " imped(?:e|em|ia|iu|iram|ir|id[oa]s?) evit(?:ou|ar|aram|ad[oa]s?|ava|avam|am) fals[oa]s? falsamente raramente"
    " ausentes? ausência teria(?:m)? vet(?:o|ou|ar|aram|ad[oa]s?) adi(?:ou|aram|ar|ad[oa]s?)"
    " bloque(?:ou|ar|aram|ad[oa]s?) descart(?:ou|ar|aram|ad[oa]s?) falt(?:a|ou|ava|am|aram)",
    "ru": "вместо якобы мним(?:ый|ая|ое|ого|ой|ым) редко вето отложен[аоы]? провал(?:а|ом|у)? бы",
    "sv": "underlät inställ(?:d|da|t|des|ts)(?!\\spå) istället sällan",
    "sw": "badala uongo nadra pasipo",
    "tr": "yanlış sözde nadiren sahte",
    "uk": "браку замість нібито рідко",
}
"""Such words in all their forms, each a pattern of a whole word."""
_NOT_MANY = (
    r"(?! ?(?:\p{N}|al|elk|ieder|hele|half|helft|de helft|tve|två|to |tre|halv|alt|alltid|hundr|tusen|honderd|duizend"
    r"|dagelijks|altijd))"
)
"""What follows a *nearly* that says how many, or how often."""
_PHRASES = {
    "ar": r"\b[وف]?(?:نفى|نفت|ينفي|تنفي|كف عن|كفت عن|توقف عن|توقفت عن|[يت]توقف عن|نسيت? أن)\b",
    "bg": r"\bзабрави\p{L}* (?=да\b)",
    "cs": r"\bmísto toho\b|\bvzdal\p{L}* se\b|\bzapomněl[aiy]? (?=\p{L}+t\b)",
    "da": rf"\bi stedet\b|\bholdt op\b|\bnæsten\b{_NOT_MANY}|\bglem(?:te|mer|t) (?=at\b)",
    "de": r"\b(?:lehn|sag)(?:t|te|ten|en)\b(?=[^.,;:]{0,60}\bab ?(?:[.,;:!?]|$|und\b|oder\b))"
    r"|\bstritt(?:en)?\b(?=[^.,;:]{0,60}\bab ?(?:[.,;:!?]|$|und\b|oder\b))"
    r"|\bhört(?:e|en)?\b(?=[^.,;:]{0,60}\bauf ?(?:[.,;:!?]|$|und\b|zu\b))"
    r"|\b(?:an)?statt\b(?= (?!und\b|oder\b|sowie\b|wie\b|als\b)\p{L})"
    r"|\bwären?\b(?=[^.,;:]{0,60}\b(?:fast|beinahe)\b)|\b(?:fast|beinahe)(?= wäre)"
    r"|\bzu (?-i:\p{Ll}{2,20}(?<!en|ln|rn)), (?:um|als dass)\b|\bverg(?:aß|aßen|isst|essen)\b(?=,)"
    r"|\bfalsche[mnrs]?(?= (?:behauptung|meldung|gerücht|nachricht|aussage))",
    "el": r"\bξέχασ\p{L}+ (?=να\b)|\bσταμ(?:άτησ|ατ)\p{L}+ (?=να\b)",
    "en": r"\b(?:rather than|far from (?=\p{L}+ing\b)|short of (?=\p{L}+ing\b)|free of (?!charge)"
    r"|too \p{L}+ (?=(?:for [\p{L} ]{1,30})?to\b)|in vain|r(?:ule|uled|ules|uling) out|g(?:ive|ave|iven|iving) up"
    r"|c(?:all|alled) off|(?:would|could|should|might) have|f(?:orget|orgets|orgot|orgotten) (?=to \p{L})"
    r"|yet (?=to \p{L})|miss (?=(?:the|an?|his|her|its|their)\b)|a myth that"
    r"|(?:almost|nearly) (?=(?:(?!hundred)\p{L}{2,}ed|shut|had|was|were|lost|won|made|took|went|came|fell|sold|built"
    r"|left|got|hit|met|cut|ran|broke|gave|did)\b)|c(?:ame|ome|omes) close (?=to (?-i:\p{Ll}+ing)\b)"
    r"|declin(?:e|es|ed|ing) (?=to (?!(?:about|around|nearly|almost|just|the|an?|less|more|fewer|only|some|over|under"
    r"|below|one|two|three|four|five|six|seven|eight|nine|ten|zero)\b)\p{L})"
    r"|stop(?:s|ped|ping)? (?=(?:the|an?|his|her|its|their|all|\p{L}+ing)\b))"
    r"|(?<!\b(?:a|the|past|next|last|first|every|these|those) )\bfew\b",
    "es": r"\ben (?:lugar|vez) de\b|\brara vez\b|\bdej(?:ó|aron|a|ar|an) de\b|\bpor poco\b|\ba punto de\b"
    r"|\bcasi (?=\p{L}+(?:ó|aron|ieron)\b)|\bdemasiad[oa]s? \p{L}+ (?=(?:como )?para\b)"
    r"|\bolvid(?:ó|aron|ado|a|an) (?=(?:de )?\p{L}+[aei]r\b)",
    "fa": r"\b(?:رد (?:کرد|می[\u200c ]?کن)|شکست خورد|به[ \u200c]?جای|به ندرت|سر باز زد|غیر ممکن|فراموش کرد)",
    "fi": r"\bmelkein\b(?! (?:\p{N}|kaik|joka|sata|puol|koko))|\bunohti(?:vat)? (?=\p{L}+[aä]\b)",
    "fr": r"\bau lieu d(?:e\b|['’])|\bplutôt que\b|\btrop \p{L}+ (?=pour\b)|\boubli(?:é|e|a|ent) d(?:e\b|['’])"
    r"|\b(?:a|ont|avait|avaient) presque (?=\p{L}+(?:é|i|u|is|it)e?s?\b)",
    "he": r"\bאי[- ]אפשר|\bבלתי אפשרי|\bבמקום (?:זאת|זה|ל)|\bויתר(?:ה|ו)? על\b|\bכמעט\b(?! (?:\p{N}|כל|מאה|חצי))"
    r"|\bשכח(?:ה|ו)? (?=ל)",
    "hi": r"\bमना (?=क)|(?<=\bकी )कमी(?![\p{L}\p{M}])|\bशायद ही|\bत्याग (?=दि)|\bभूल (?=ग)",
    "id": r"\bhampir (?=me|di(?!a\b)|saja)|\bberhenti (?=me|ber)|\blupa (?=me)",
    "it": r"\binvece (?=d(?:i|el|ell|ella|ello|ei|egli)\b|che\b)|\bpriv[oaie] (?=di\b|d['’])"
    r"|\b(?:ha|hanno|aveva|avevano) quasi (?=\p{L}+[ts][oaie]\b)|\bdimentic(?:ò|ato|ata|ati|arono) (?=di\b)",
    "ja": "拒[否絶んみむま]|断[らりるっ念]|失敗|失念|怠(?!け者)|欠(?!か[させ])[いくけ如か]|不足|否定|否認|却下|禁止"
    "|禁[じず]|妨げ|阻止|阻ん|防[いぐ]|避け(?!られ|が)|回避|中止|取り?消|取りやめ|延期|不可能|不能|代わりに|ところだった|虚偽|誤[りっ]"
    r"|嘘(?!を?つ)|(?<![ァ-ヶー])デマ(?![ァ-ヶー])|(?<!\p{Hiragana})やめ[たてるら]|無し|(?<!\p{Hiragana})なしに|損ね|そびれ"
    "|し忘れ|[のと]を忘れ",
    "ko": r"거부|거절|실패|(?<!\p{Hangul})부족(?=[하했한함해])|결여|부인(?=[하했한할])|부정(?=[하했한할])|기각|금지"
    r"|(?<!사)막[았아는]|방지(?=[하했한됐된])|(?<!\p{Hangul})저지(?=[하했한됐된])|(?<!대)피했|회피|취소|포기(?=[하했한됐된])"
    r"|불가능|불능|는 대신(?!\p{Hangul})|대신에(?!게)|뻔했|뻔하|거짓|허위|중단|무산[되됐된]|소홀|게을리|불참|것을 잊",
    "nl": rf"\bin plaats\b|\bbijna\b{_NOT_MANY}|\bafgezien (?=van\b)|\b(?:stopte|stopten|gestopt) (?=met\b)"
    r"|\bvergat(?:en)?\b(?=[^.,;:]{0,60} te \p{L})",
    "pl": r"\bzapomnia\p{L}+ (?=\p{L}+ć\b)",
    "pt": r"\bem vez d|\bao invés\b|\bdeix(?:ou|aram|a|ar|am) de\b|\bquase (?=\p{L}+(?:ou|aram)\b)"
    r"|\besquec(?:eu|eram)(?:-se)? (?=(?:de )?\p{L}+[aei]r\b)",
    "ru": r"\bпочти (?=\p{L}+л[аои]?\b)|\bслишком (?=[\p{L} ]{1,30}, чтобы\b)|\bзабы(?:л|ла|ли) (?=\p{L}+т[ьи]\b)",
    "sv": rf"\bi stället\b|\bnästan\b{_NOT_MANY}|\bslutade? (?=att\b)|\bglömde (?=(?:att )?\p{{L}}+a\b)",
    "sw": "acha ku",
    "th": r"ปฏิเสธ|ล้มเหลว|(?<!ผิด)พลาด|(?<!เด็ด)ขาด|ปราศจาก|ห้าม(?!\p{M})|ขัดขวาง|ระงับ|ยกเลิก|หลีกเลี่ยง|แทนที่จะ|เท็จ|แทบ"
    r"|เกือบ(?! ?(?:\p{N}|ทั้ง|ทุก|สอง|สาม|สี่|ห้า|หก|เจ็ด|แปด|เก้า|สิบ|ร้อย|พัน|ครึ่ง))|หยุด(?=การ)|ละเลย|งดเว้น|ลืม(?!ตา)",
    "tr": r"m[ae]k yerine\b|\baz kalsın\b|\bneredeyse\b(?! (?:\p{N}|tüm|her|bütün|yüz|bin))|m[ae]y[ıi] (?=unut)",
    "uk": r"\bмайже (?=\p{L}+(?:в|ла|ли|ло)\b)|\bзабу(?:в|ла|ли) (?=\p{L}+ти\b)",
    "vi": r"\b(?:từ chối|thất bại|thiếu(?! (?:niên|nữ|tướng|tá|úy|gia|nhi|lâm)\b)|bác bỏ|phủ nhận|ngăn (?:cản|chặn"
    r"|ngừa)|(?<!tử |sông )cấm|tránh|hủy|huỷ|bỏ (?:lỡ|qua)|bất lực|bất khả|thay vì|suýt|sai (?:lầm|sự thật)|hiếm khi"
    r"|ngừng|vắng(?! vẻ)|(?<!lãng )quên)\b",
    "zh": "拒[绝絕]|拒不|失[败敗]|缺[乏少席失]|(?<![是能可])否[认認决決定]|[驳駁]回|(?<!紫)禁[止令]|阻[止碍礙拦攔]|防止"
    "|避免|取消|放[弃棄]|代替|(?<![日基根])本可|推[迟遲]|[险險]些|(?<![误誤偏落温溫时時])差[点點]|[虚虛]假|[错錯][误誤]地|[谣謠]言"
    r"|停止|忽[视視略]|免于|(?:几|幾)乎(?!所有|全|每|没|沒|不|无|無|是|占|一|同|与|與|和|相|\p{N}|半)|忘[记記了]",
}
"""Other words and phrases. What may deny in its turn is looked at, not taken, and every gap has a bound."""

_BEFORE = {"ar": "[وفب]?(?:ال)?"}
"""What is written together with a word before it."""
_BEGINS, _ENDS = r"(?<![\p{L}\p{M}])", r"\p{M}*(?![\p{L}\p{M}])"


def _compile(language: str) -> regex.Pattern[str]:
    begins = _BEGINS + _BEFORE.get(language, "")
    parts = [_PHRASES[language]]
    if language in _STEMS:
        parts.append(f"{begins}(?:{'|'.join(_STEMS[language].split())})")
    if language in _WORDS:
        parts.append(f"{begins}(?:{'|'.join(_WORDS[language].split())}){_ENDS}")
    return regex.compile(normalize("NFC", "|".join(parts)), regex.IGNORECASE)


_PATTERNS = {language: _compile(language) for language in sorted(_PHRASES)}


def count_implicit(text: str, language: str) -> int:
    """How many words of a text in NFC may deny what they stand with, and are no *not*; 0 without a list."""
    pattern = _PATTERNS.get(language)
    return 0 if pattern is None else sum(1 for _ in pattern.finditer(text))
