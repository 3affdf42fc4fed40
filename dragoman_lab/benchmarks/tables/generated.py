# ruff: noqa: E501
"""Table files as people have them, generated with what they mean: every way of writing a small glossary down."""

from __future__ import annotations

import csv
import io
import json
import random
import zipfile
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from dragoman_lab.benchmarks.tables.vocabulary import ENCODINGS, EXTRAS, FRAMES, NAMES, PROBABILITY, ROLES, WORDS

Entries = set[tuple[str, str, float | None]]
FORMATS = (
    *["csv"] * 8,
    *["tsv"] * 4,
    *["xlsx", "ods"] * 2,
    *["jsonl", "dictcc", "deepl", "google", "tbx", "moses", "giza", "muse", "freedict"],
)
_SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
_UNICODE = ("utf-8", "utf-8", "utf-8", "utf-8 with mark", "utf-16le", "utf-16be", "utf-16 with mark")


@dataclass
class Case:
    """A file, how it was made, and the entries that it means."""

    content: bytes
    source: str
    target: str
    entries: Entries
    choices: dict[str, str] = field(default_factory=dict)
    """The dimensions of the matrix, by name."""


def case(seed: int, index: int) -> Case:
    """The file of this index; the same for the same seed."""
    chance = random.Random(seed * 1_000_003 + index)
    source, target = chance.sample(sorted(WORDS), 2)
    if chance.random() < 0.7:
        source, target = chance.choice([("en", target), (source, "en")])
        if source == target:
            source, target = "en", "de"
    count = chance.choice([6, 10, 16, 24, 30])
    pairs = [(WORDS[source][n], WORDS[target][n]) for n in chance.sample(range(30), count)]
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    format = chance.choice(FORMATS)
    maker = _MAKERS.get(format, _table)
    generated = maker(chance, format, source, target, pairs)
    generated.choices["format"] = format
    return generated


def _encode(chance: random.Random, text: str, languages: tuple[str, str], choices: dict[str, str]) -> bytes:
    old = [encoding for language in languages for encoding in ENCODINGS[language]]
    encoding = chance.choice([*_UNICODE, *old])
    try:
        if encoding.endswith(" with mark"):
            encoded = ("\ufeff" + text).encode("utf-16le" if "16" in encoding else "utf-8")
        else:
            encoded = text.encode(encoding)
    except UnicodeEncodeError:
        encoding = "utf-8"
        encoded = text.encode()
    choices["encoding"] = encoding
    return encoded


def _table(chance: random.Random, format: str, source: str, target: str, pairs: list[tuple[str, str]]) -> Case:
    """Columns of a text file or a spreadsheet."""
    probable = chance.random() < 0.35
    decimal = "," if probable and chance.random() < 0.4 else "."
    swapped = chance.random() < 0.35
    headed = chance.choice(["languages", "languages", "roles", "none"])
    extras = chance.sample(sorted(EXTRAS), chance.choice([0, 0, 0, 1, 2]))
    several = not probable and chance.random() < 0.3
    rows, entries = _rows(chance, pairs, probable, decimal, several)
    if headed == "none" and swapped and probable:
        swapped = False  # of which side the number would be is not said
    columns = ["target", "source"] if swapped else ["source", "target"]
    if probable:
        columns.append("probability")
    for extra in extras:
        columns.insert(0 if extra == "id" and chance.random() < 0.7 else len(columns), extra)
    cells = [[row[column] for column in columns] for row in rows]
    choices = {
        "header": headed,
        "order": "swapped" if swapped else "straight",
        "decimal": decimal if probable else "none",
        "extras": "+".join(sorted(extras)) or "none",
        "several": "yes" if several else "no",
    }
    if headed != "none":
        cells.insert(0, _header(chance, columns, headed, (source, target)))
    if format in ("xlsx", "ods"):
        content = xlsx(cells) if format == "xlsx" else ods(cells)
    else:
        content = _delimit(chance, format, cells, (source, target), choices)
    return Case(content, source, target, entries, choices)


def _rows(
    chance: random.Random, pairs: list[tuple[str, str]], probable: bool, decimal: str, several: bool
) -> tuple[list[dict[str, str]], Entries]:
    rows: list[dict[str, str]] = []
    entries: Entries = set()
    for position, (term, other) in enumerate(pairs, 1):
        p = round(chance.uniform(0.05, 0.95), 3) if probable else None
        target = other
        if several and position > 1 and chance.random() < 0.4:
            second = pairs[position - 2][1]
            if second != other:
                target = chance.choice([", ", "; ", " / "]).join((other, second))
                entries.add((term, second, None))
        nothing = not probable and chance.random() < 0.05
        if nothing and position > 3:
            target = chance.choice(["n/a", "-", "?", "N/A", "–"])
            entries = {entry for entry in entries if entry[0] != term}
        else:
            entries.add((term, other, p))
        rows.append(
            {
                "source": term,
                "target": target,
                "probability": "" if p is None else str(p).replace(".", decimal),
                "id": str(1000 + position),
                "pos": chance.choice(["noun", "noun", "noun", "verb"]),
                "comment": chance.choice(
                    ["", "", "checked; final", "see list, page 3", 'so-called "old" form', "two\nlines"]
                ),
                "date": f"2023-0{1 + position % 9}-1{position % 10}",
            }
        )
    return rows, entries


def _header(chance: random.Random, columns: list[str], headed: str, languages: tuple[str, str]) -> list[str]:
    style = chance.randrange(1000)
    frame = chance.choice(FRAMES)
    roles = chance.choice(ROLES)
    names = []
    for column in columns:
        if column in ("source", "target"):
            side = ("source", "target").index(column)
            if headed == "roles":
                names.append(roles[side])
            else:
                of = NAMES[languages[side]]
                names.append(frame.format(of[style % len(of)]))
        elif column == "probability":
            names.append(chance.choice(PROBABILITY))
        else:
            names.append(chance.choice(EXTRAS[column]))
    return names


def _delimit(
    chance: random.Random, format: str, cells: list[list[str]], languages: tuple[str, str], choices: dict[str, str]
) -> bytes:
    separator = "tab" if format == "tsv" else chance.choice(["comma", "semicolon", "semicolon", "pipe", "tab"])
    quoting = chance.choice(["minimal", "all"])
    ends = chance.choice(["\n", "\r\n", "\r\n", "\r"])
    if ends == "\r":
        cells = [[cell.replace("\n", " ") for cell in row] for row in cells]
    stream = io.StringIO()
    if chance.random() < 0.05:
        stream.write(f"sep={_SEPARATORS[separator]}{ends}")
    style = csv.QUOTE_ALL if quoting == "all" else csv.QUOTE_MINIMAL
    writer = csv.writer(stream, delimiter=_SEPARATORS[separator], quoting=style, lineterminator=ends)
    trailing = quoting == "minimal" and chance.random() < 0.1
    for index, row in enumerate(cells):
        writer.writerow([*row, "", ""] if trailing else row)
        if index % 11 == 7:
            stream.write(ends)
    choices |= {"separator": separator, "quoting": quoting, "line ends": repr(ends)}
    return _encode(chance, stream.getvalue(), languages, choices)


def _plain(pairs: list[tuple[str, str]]) -> Entries:
    return {(term, other, None) for term, other in pairs}


def _jsonl(chance: random.Random, format: str, source: str, target: str, pairs: list[tuple[str, str]]) -> Case:
    keys = chance.choice([("source", "target"), (source, target), ("term", "translation")])
    order = chance.choice([1, -1])
    rows = [dict(list(zip(keys, pair, strict=True))[::order]) for pair in pairs]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n"
    return Case(text.encode(), source, target, _plain(pairs))


def _dictcc(chance: random.Random, format: str, source: str, target: str, pairs: list[tuple[str, str]]) -> Case:
    swapped = chance.random() < 0.5
    head = f"# {target.upper()}-{source.upper()}" if swapped else f"# {source.upper()}-{target.upper()}"
    lines = [f"{head} vocabulary database\tcompiled by dict.cc", "# Date and time\t2023-11-08 11:31", ""]
    for term, other in pairs:
        marked = other + chance.choice(["", " {n}", " {f}", " {m}", " {pl}", " [fig.]"])
        sides = (marked, term) if swapped else (term, marked)
        lines.append("\t".join((*sides, "noun", chance.choice(["", "[archi.]", "[med.]"]))))
    content = ("\n".join(lines) + "\n").encode()
    return Case(content, source, target, _plain(pairs), {"order": "swapped" if swapped else "straight"})


def _deepl(chance: random.Random, format: str, source: str, target: str, pairs: list[tuple[str, str]]) -> Case:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    for pair in pairs:
        writer.writerow([*pair, source, target])
    return Case(stream.getvalue().encode(), source, target, _plain(pairs))


def _google(chance: random.Random, format: str, source: str, target: str, pairs: list[tuple[str, str]]) -> Case:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    swapped = chance.random() < 0.5
    writer.writerow([target, source, "pos", "description"] if swapped else [source, target, "pos", "description"])
    for term, other in pairs:
        writer.writerow([*((other, term) if swapped else (term, other)), "noun", "in general, as usual"])
    content = stream.getvalue().encode()
    return Case(content, source, target, _plain(pairs), {"order": "swapped" if swapped else "straight"})


def _tbx(chance: random.Random, format: str, source: str, target: str, pairs: list[tuple[str, str]]) -> Case:
    new = chance.random() < 0.5
    concept, language, term = ("conceptEntry", "langSec", "termSec") if new else ("termEntry", "langSet", "tig")
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n']
    parts.append(
        "<tbx><text><body>" if new else '<!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">\n<martif><text><body>'
    )
    for index, (source_term, other) in enumerate(pairs):
        sections = [
            f'<{language} xml:lang="{code}"><{term}><term>{escape(word)}</term></{term}></{language}>'
            for code, word in ((f"{source}-XX", source_term), (target, other), ("la", "verbum"))
        ]
        chance.shuffle(sections)
        parts.append(
            f'<{concept} id="c{index}"><descrip type="subjectField">all</descrip>{"".join(sections)}</{concept}>\n'
        )
    parts.append("</body></text></tbx>" if new else "</body></text></martif>")
    return Case("".join(parts).encode(), source, target, _plain(pairs))


def _single_words(chance: random.Random, format: str, source: str, target: str, pairs: list[tuple[str, str]]) -> Case:
    """Moses, GIZA and MUSE: single words, with probabilities that sum to 1 given the word that is translated."""
    pairs = [pair for pair in pairs if " " not in pair[0] + pair[1]]
    lines = []
    entries: Entries = set()
    for index, (term, other) in enumerate(pairs):
        second = pairs[index - 1][1]
        for word, p in ((other, 0.75), (second, 0.25)) if format != "muse" else ((other, None),):
            order = (word, term) if format == "moses" else (term, word)
            lines.append(" ".join((*order, "" if p is None else f"{p:.7f}")).strip())
            entries.add((term, word, p))
    return Case(("\n".join(lines) + "\n").encode(), source, target, entries)


def _freedict(chance: random.Random, format: str, source: str, target: str, pairs: list[tuple[str, str]]) -> Case:
    swapped = chance.random() < 0.4
    defined = chance.random() < 0.4
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>\n']
    for term, other in pairs:
        head, word = (other, term) if swapped else (term, other)
        cited = f"<def>{escape(word)}</def>" if defined else f'<cit type="trans"><quote>{escape(word)}</quote></cit>'
        parts.append(f"<entry><form><orth>{escape(head)}</orth></form><sense>{cited}</sense></entry>\n")
    content = "".join([*parts, "</body></text></TEI>"]).encode()
    return Case(content, source, target, _plain(pairs), {"order": "swapped" if swapped else "straight"})


def xlsx(cells: list[list[str]]) -> bytes:
    """A workbook of one sheet, with shared strings where Excel has them, and numbers as numbers."""
    strings: dict[str, int] = {}
    rows = []
    for row_index, row in enumerate(cells, 1):
        written = []
        for place, cell in enumerate(row):
            name = f"{chr(65 + place)}{row_index}"
            if cell.replace(".", "", 1).isdecimal() and cell.isascii():
                written.append(f'<c r="{name}"><v>{cell}</v></c>')
            elif cell:
                written.append(f'<c r="{name}" t="s"><v>{strings.setdefault(cell, len(strings))}</v></c>')
        rows.append(f'<row r="{row_index}">{"".join(written)}</row>')
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kinds = "http://schemas.openxmlformats.org/package/2006/content-types"
    sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    shared = "".join(f'<si><t xml:space="preserve">{escape(text)}</t></si>' for text in strings)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{kinds}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{sheet}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{sheet}.worksheet+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="{sheet}.sharedStrings+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{relations}"><Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{relations}"><Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="{office}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{"".join(rows)}</sheetData></worksheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{main}">{shared}</sst>',
    }
    return _zip({name: '<?xml version="1.0" encoding="UTF-8"?>' + text for name, text in parts.items()})


def ods(cells: list[list[str]]) -> bytes:
    """A spreadsheet of LibreOffice, with the empty rows and columns that it writes to the end of the sheet."""
    rows = []
    for row in cells:
        written = []
        for cell in row:
            if cell.replace(".", "", 1).isdecimal() and cell.isascii():
                kind = f'office:value-type="float" office:value="{cell}"'
            else:
                kind = 'office:value-type="string"'
            lines = "".join(f"<text:p>{escape(line)}</text:p>" for line in cell.split("\n"))
            written.append(f"<table:table-cell {kind}>{lines}</table:table-cell>" if cell else "<table:table-cell/>")
        rows.append(
            f'<table:table-row>{"".join(written)}<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
        )
    names = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="{names}:office:1.0"'
        f' xmlns:table="{names}:table:1.0" xmlns:text="{names}:text:1.0" office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="Sheet1">{"".join(rows)}<table:table-row table:number-rows-repeated='
        '"1048000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        f'<manifest:manifest xmlns:manifest="{names}:manifest:1.0"><manifest:file-entry manifest:full-path="/"'
        f' manifest:media-type="{kind}"/></manifest:manifest>'
    )
    return _zip({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest})


def _zip(parts: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return packed.getvalue()


_MAKERS = {
    "jsonl": _jsonl,
    "dictcc": _dictcc,
    "deepl": _deepl,
    "google": _google,
    "tbx": _tbx,
    "moses": _single_words,
    "giza": _single_words,
    "muse": _single_words,
    "freedict": _freedict,
}
