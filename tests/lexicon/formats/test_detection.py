"""Files as people have them: what is detected, what is refused, and how each can be said instead."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.engine.tables.odds import odds_between
from dragoman.lexicon.formats.build import normalise
from dragoman.lexicon.formats.detection import encodings
from dragoman.lexicon.formats.detection.headers import read_header
from dragoman.lexicon.formats.items import Choices, Detected, Header, Notice, RawEntry, ReadEvent, Rejection
from dragoman.lexicon.formats.reader import TableFormatError, read

WORDS = [("house", "Haus"), ("tree", "Baum"), ("heart attack", "Herzinfarkt"), ("bridge", "Brücke"), ("knee", "Knie")]


def items(
    data: str | bytes, format: str = "auto", languages: tuple[str, str] = ("en", "de"), **said: object
) -> list[ReadEvent]:
    content = data.encode() if isinstance(data, str) else data
    choices = Choices(**said)  # type: ignore[arg-type]
    return list(read([content], format, languages=languages, choices=choices, odds=odds_between(*languages)))


def pairs(found: list[ReadEvent]) -> list[tuple[str, str]]:
    return [(one.source, one.target) for one in found if isinstance(one, RawEntry)]


def detected(found: list[ReadEvent]) -> Detected:
    assert isinstance(found[0], Detected)
    return found[0]


@pytest.mark.parametrize(
    "header",
    [
        "English,Deutsch", "en-US,de-DE", "Source Language,Target Language", "Quelle,Ziel", "Term (EN),Term (DE)",
        "EN,DE", "source,target", "anglais,allemand", "Englische Benennung,Deutsche Benennung", "term_en,term_de",
        "Terme anglais,Terme allemand", "English (US),German (Germany)", "英語,ドイツ語", "Английский,Немецкий",
        "Begriff,Übersetzung", "Langue source,Langue cible", "Deutsch (Synonym),",
    ][:-1],
)  # fmt: skip
def test_a_header_in_any_usual_wording_is_no_entry(header: str) -> None:
    found = items(f"{header}\nhouse,Haus\ntree,Baum\n")
    assert pairs(found) == [("house", "Haus"), ("tree", "Baum")]
    assert Header(tuple(header.split(","))) in found
    assert pairs(items(f"{header}\nhouse,Haus\n", header=False))[0][0] == header.split(",")[0]


@pytest.mark.parametrize(
    "header",
    ["Deutsch,English", "de-DE,en-US", "Term (DE),Term (EN)", "Ziel,Quelle", "deutsch,englisch"],
)
def test_a_header_the_other_way_round_exchanges_the_columns(header: str) -> None:
    found = items(f"{header}\nHaus,house\nBaum,tree\n")
    assert pairs(found) == [("house", "Haus"), ("tree", "Baum")]
    assert detected(found).columns == ("target", "source")
    assert detected(found).languages == ("de", "en")


@pytest.mark.parametrize(
    "line", ["source\tQuelle", "English\tEnglisch", "word\tWort", "term\tBegriff", "translation\tÜbersetzung", "it\tes",
             "German shepherd\tdeutscher Schäferhund", "French fries\tPommes",
             "English breakfast\tenglisches Frühstück"]
)  # fmt: skip
def test_two_words_for_one_thing_are_an_entry(line: str) -> None:
    found = items(f"{line}\nhouse\tHaus\n")
    assert pairs(found)[0] == tuple(line.split("\t"))


def test_a_header_of_other_languages_is_refused_with_the_parameters_that_help() -> None:
    with pytest.raises(TableFormatError, match=r"line 1: the header names French and Spanish.*columns=.*header=false"):
        items("French,Spanish\nmaison,casa\n")
    with pytest.raises(TableFormatError, match=r"evidently the other way round.*columns="):
        items("source,target\n" + "".join(f"{target},{source}\n" for source, target in WORDS))


def test_a_header_without_translations_is_refused() -> None:
    for content in ("term\tdefinition\nhouse\ta building\n", "ID;Term;Language\n1;house;en\n1;Haus;de\n"):
        with pytest.raises(TableFormatError, match=r"none of translations.*columns="):
            items(content)


def test_columns_in_each_others_language_are_exchanged_with_a_warning() -> None:
    content = "".join(f"{target}\t{source}\n" for source, target in WORDS)
    found = items(content)
    assert pairs(found) == WORDS
    assert isinstance(found[1], Notice)
    assert "other way round" in found[1].reason
    assert pairs(items(content, columns=("source", "target")))[0] == ("Haus", "house")


@pytest.mark.parametrize("alike", ["", "Art,art\nGift,gift\nHand,hand\n", "Hand,hand\nTaxi,Taxi\n" * 9])
def test_a_file_that_may_be_the_other_way_round_is_never_read_in_silence(alike: str) -> None:
    try:
        found = items(f"Buch,book\nHund,dog\n{alike}")
    except TableFormatError as fault:
        assert "other way round" in fault.reason
    else:
        assert any("other way round" in one.reason for one in found if isinstance(one, Notice))


@pytest.mark.parametrize("languages", [("en", "ru"), ("ru", "en")])
def test_scripts_tell_the_columns_of_one_line(languages: tuple[str, str]) -> None:
    expected = ("house", "дом") if languages == ("en", "ru") else ("дом", "house")
    assert pairs(items("house;дом\n", languages=languages)) == [expected]


@pytest.mark.parametrize("separator", ["\t", ",", ";", "|"])
@pytest.mark.parametrize("mark", [".", ","])
def test_separator_and_decimal_mark(separator: str, mark: str) -> None:
    number = f"0{mark}25"
    number = f'"{number}"' if mark == separator else number
    found = items(f'house{separator}"Haus"{separator}{number}\ntree{separator}Baum{separator}{number}\n')
    assert (detected(found).separator, detected(found).decimal) == (separator, mark)
    assert [one.p_ts for one in found if isinstance(one, RawEntry)] == [0.25, 0.25]


def test_numbers_cut_at_their_commas_and_two_possible_separators_are_refused() -> None:
    with pytest.raises(TableFormatError, match="decimal commas"):
        items("house,Haus,0,5\ntree,Baum,0,7\n")
    with pytest.raises(TableFormatError, match="separator="):
        items("a,b;c\nd,e;f\n")
    assert detected(items("a,b;c\nd,e;f\n", separator=";")).separator == ";"


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "iso-8859-15", "cp850"]
)
def test_encodings_and_line_ends(encoding: str, ends: str) -> None:
    content = ends.join(f"{source};{target}" for source, target in WORDS) + ends
    assert pairs(items(content.encode(encoding))) == WORDS


@pytest.mark.parametrize(
    ("language", "encoding", "words"),
    [
        ("pl", "cp1250", "dom|drzewo|chleb|żółw|gęś|łódź|świat|źródło"),
        ("pl", "iso-8859-2", "dom|drzewo|chleb|żółw|gęś|łódź|świat|źródło"),
        ("ru", "cp1251", "дом|дерево|хлеб|инфаркт|Москва"),
        ("ru", "koi8-r", "дом|дерево|хлеб|инфаркт|Москва"),
        ("ja", "cp932", "家|木|パン|心臓発作|駅"),
        ("ko", "cp949", "집|나무|빵|심장마비|기차역"),
        ("zh", "gb18030", "房子|树|面包|心脏病发作|火车站"),
        ("zh", "big5", "房子|樹|麵包|心臟病發作|火車站"),
        ("fr", "iso-8859-15", "œuvre|élève|hôpital|cœur|forêt"),
    ],
)
def test_old_encodings_are_told_by_the_languages(language: str, encoding: str, words: str) -> None:
    targets = words.split("|")
    content = "".join(f"term{chr(97 + n)},{target}\n" for n, target in enumerate(targets)).encode(encoding)
    assert [target for _, target in pairs(items(content, languages=("en", language)))] == targets
    assert [target for _, target in pairs(items(content, languages=("en", language), encoding=encoding))] == targets


@given(st.text(st.sampled_from("äöüßÄÖÜéèàçñ –„“"), min_size=1), st.sampled_from(["utf-8", "utf-16-le", "cp1252"]))
def test_any_text_of_western_letters_is_decoded_as_it_was_or_refused(text: str, encoding: str) -> None:
    raw = f"house\tHaus {text}\n".encode(encoding)
    try:
        found = encodings.detect(raw, True, ("en", "de"))
    except TableFormatError:
        return
    assert raw[found.mark :].decode(found.codec).startswith("house\tHaus")


def test_other_columns_are_ignored_with_a_warning() -> None:
    rows = "".join(f"{n};{source};noun;{target};see, page {n}\n" for n, (source, target) in enumerate(WORDS, 17))
    found = items(rows)
    assert pairs(found) == WORDS
    assert detected(found).columns == (None, "source", None, "target", None)
    assert [item.reason for item in found if isinstance(item, Notice)] == [f"column {n} is ignored" for n in (1, 3, 5)]


@pytest.mark.parametrize("cell", ["Herzinfarkt, Herzanfall", "Herzinfarkt; Herzanfall", "Herzinfarkt / Herzanfall",
                                  "1. Herzinfarkt 2. Herzanfall", "Herzinfarkt\nHerzanfall"])  # fmt: skip
def test_a_cell_of_several_translations(cell: str) -> None:
    found = items(f'heart attack\t"{cell}"\nhouse\tHaus\n')
    assert pairs(found)[:2] == [("heart attack", "Herzinfarkt"), ("heart attack", "Herzanfall")]


def test_phrases_with_commas_stay_whole() -> None:
    assert pairs(items("Paris, Texas\tParis, Texas\n1,000 days\t1.000 Tage\n"))[0] == ("Paris, Texas", "Paris, Texas")


@pytest.mark.parametrize("cell", ["n/a", "N/A", "#N/A"])
def test_what_says_that_there_is_none_is_no_translation(cell: str) -> None:
    found = items(f"house\tHaus\ntree\t{cell}\n")
    assert pairs(found) == [("house", "Haus")]
    assert isinstance(found[-1], Rejection)


@pytest.mark.parametrize("cell", ["-", "–", "?", "...", "♥", "!!!!!!!", "-, -"])
def test_marks_alone_are_no_translation_and_a_warning(cell: str) -> None:
    read = normalise(items(f"house\tHaus\ntree\t{cell}\n"), "en", "de")
    assert (list(read.table.sources), read.rejected) == (["house"], [])
    assert [(one.line, "no searchable word" in one.reason) for one in read.warnings] == [(2, True)]


@pytest.mark.parametrize(
    "content", ["12 13 0.5\n15 16 0.25\n17 18 0.1\n", "1\t2\n3\t4\n5\t6\n", "1,house\n2,tree\n3,dog\n"]
)
def test_files_of_numbers_are_refused(content: str) -> None:
    with pytest.raises(TableFormatError, match=r"numbers"):
        items(content)


SORTED = {"house": "Haus", "tree": "Baum", "water": "Wasser", "horse": "Pferd", "church": "Kirche", "winter": "Winter"}


@pytest.mark.parametrize("separator", ["\t", ";", ","])
@pytest.mark.parametrize(
    "before",
    [
        [(f"{number:05}", f"{number:05}") for number in range(2_500)],
        [(f"{number}", "ein Haus") for number in range(1_500)],
        [(f"{number}th", f"{number}.") for number in range(1_200)],
        [(f"{number:03}ab", f"x{number}") for number in range(999)],
    ],
)
def test_a_sorted_file_may_begin_with_thousands_of_numbers(before: list[tuple[str, str]], separator: str) -> None:
    words = [(f"{one} {two}", f"{SORTED[one]} {SORTED[two]}") for one in SORTED for two in SORTED]
    content = "".join(f"{one}{separator}{other}{separator}0.5{separator}0.25\n" for one, other in [*before, *words])
    found = items(content)
    assert pairs(found) == [*before, *words]
    assert detected(found).columns == ("source", "target", "probability", "inverse_probability")


@given(st.integers(1, 1_200), st.integers(1, 36), st.sampled_from(["{0}", "{0}.", "{0} %", "A{0}"]), st.booleans())
@settings(max_examples=30)
def test_any_number_of_numbers_before_any_number_of_words(numbers: int, words: int, form: str, more: bool) -> None:
    before = [(form.format(number), form.format(number)) for number in range(numbers)]
    after = [(f"{one} {two}", f"{SORTED[one]} {SORTED[two]}") for one in SORTED for two in SORTED][:words]
    rest = "\tnoun\tbuilding" if more else ""
    found = items("".join(f"{one}\t{other}{rest}\n" for one, other in [*before, *after]))
    assert pairs(found) == [*before, *after]


@pytest.mark.parametrize(
    ("languages", "header"),
    [
        (("ja", "en"), "見出し語,訳語"), (("th", "en"), "คำศัพท์,คำแปล"), (("zh", "en"), "单词,释义"),
        (("zh", "en"), "词条,翻译"), (("ko", "en"), "표제어,번역"),
    ],
)  # fmt: skip
def test_headers_in_asian_languages_are_no_entries(languages: tuple[str, str], header: str) -> None:
    words = {"ja": "家", "th": "บ้าน", "zh": "房子", "ko": "집"}
    found = items(f"{header}\n{words[languages[0]]},house\n", languages=languages)
    assert pairs(found) == [(words[languages[0]], "house")]


def test_moses_writes_the_target_first_and_escapes() -> None:
    found = items("d&apos;accord agreed 0.75\neinverstanden agreed 0.25\nHaus house 1.0\n", "moses")
    assert found[1] == RawEntry(1, "agreed", "d'accord", 0.75, None)
    assert detected(found).columns == ("target", "source", "probability")


def test_dict_cc_deepl_and_google() -> None:
    dictcc = "# DE-EN vocabulary database\tcompiled by dict.cc\n\nHaus {n}\thouse\tnoun\t\n"
    dictcc += "Altbau {m} [Haus]\told house\tnoun\t[archi.]\n"
    assert pairs(items(dictcc)) == [("house", "Haus"), ("old house", "Altbau")]
    deepl = items("house,Haus,en,de\ntree,Baum,en,de\nmaison,house,fr,en\n")
    assert (detected(deepl).format, pairs(deepl)) == ("deepl", [("house", "Haus"), ("tree", "Baum")])
    assert isinstance(deepl[-1], Rejection)
    assert pairs(items("en,de,pos,description\nhouse,Haus,noun,a thing\n")) == [("house", "Haus")]


def test_a_title_comments_and_a_separator_line_are_no_entries() -> None:
    assert pairs(items("sep=;\nhouse;Haus\n")) == [("house", "Haus")]
    assert pairs(items("Glossary 2024,,\n,,\nTerm,Translation,Note\nhouse,Haus,\n")) == [("house", "Haus")]
    assert pairs(items("# made by hand\n# English\tDeutsch\nhouse\tHaus\n")) == [("house", "Haus")]


def test_an_open_quote_does_not_swallow_the_file() -> None:
    found = items('house,Haus\n"tree,Baum\n' + "bridge,Brücke\n" * 300)
    assert len(pairs(found)) == 301
    assert [item.line for item in found if isinstance(item, Rejection)] == [2]


@given(
    st.lists(st.sampled_from(WORDS), min_size=3, unique=True), st.sampled_from("\t;|,"), st.booleans(), st.booleans()
)
def test_any_layout_of_the_same_words_is_read_alike(
    rows: list[tuple[str, str]], separator: str, swapped: bool, headed: bool
) -> None:
    ordered = [row[::-1] for row in rows] if swapped else rows
    header = [("Deutsch", "Englisch") if swapped else ("Englisch", "Deutsch")] if headed else []
    content = "".join(separator.join(row) + "\n" for row in [*header, *ordered])
    assert pairs(items(content)) == rows


TBX = """<?xml version="1.0"?><martif type="TBX"><text><body><termEntry id="1">
<langSet xml:lang="de-DE"><tig><term>Haus</term></tig><tig><term>Heim</term></tig></langSet>
<langSet xml:lang="en"><ntig><termGrp><term>house</term></termGrp></ntig></langSet>
<langSet xml:lang="fr"><tig><term>maison</term></tig></langSet></termEntry></body></text></martif>"""


def test_term_bases() -> None:
    found = items(TBX)
    assert pairs(found) == [("house", "Haus"), ("house", "Heim")]
    assert [item.reason for item in found if isinstance(item, Notice)] == ["terms in French are ignored"]
    with pytest.raises(TableFormatError, match="no concept has terms in both English and Polish"):
        items(TBX, languages=("en", "pl"))
    with pytest.raises(TableFormatError, match="declares entities"):
        items(TBX.replace("<martif", '<!DOCTYPE martif [<!ENTITY a "b">]><martif'))


def test_freedict_definitions_and_directions() -> None:
    entry = "<entry><form><orth>{}</orth></form><sense><def>{}</def></sense></entry>"
    body = "".join(entry.format(target, source) for source, target in WORDS)
    found = items(f"<?xml version='1.0'?><TEI><text><body>{body}</body></text></TEI>")
    assert pairs(found) == WORDS
    assert detected(found).languages == ("de", "en")


def test_a_json_array_and_other_xml_are_refused() -> None:
    with pytest.raises(TableFormatError, match="JSON array"):
        items('[{"source": "house", "target": "Haus"}]')
    with pytest.raises(TableFormatError, match="tmx"):
        items("<?xml version='1.0'?><tmx></tmx>")


def test_fields_named_by_language() -> None:
    found = items('{"de": "Haus", "en": "house", "pos": "noun"}\n{"de": "Baum", "en": "tree"}\n')
    assert pairs(found) == [("house", "Haus"), ("tree", "Baum")]
    assert [item.reason for item in found if isinstance(item, Notice)] == ["the field 'pos' is ignored"]


def test_a_header_says_what_only_a_header_says() -> None:
    assert read_header(["house", "Haus"], ("en", "de")) is None
    found = read_header(["Nr.", "Kommentar (EN)", "EN", "DE", "Wahrscheinlichkeit"], ("en", "de"))
    assert found is not None
    assert found.roles == (None, None, "source", "target", "probability")
