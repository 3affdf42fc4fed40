"""FreeDict's TEI as a stream, and XML that means harm."""

from collections.abc import Iterator

import pytest

from dragoman.lexicon.formats.items import Limits
from dragoman.lexicon.formats.reader import RawEntry, Rejection, TableFormatError, read

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE TEI SYSTEM "freedict-P5.dtd">
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><title>An <q>orth</q></title></teiHeader>
<text><body>
"""
TAIL = "</body></text></TEI>\n"
BODY = """<entry>
 <form><orth>Haus</orth><pron>haʊs</pron></form>
 <form type="infl"><orth>Häuser</orth></form>
 <sense><cit type="trans"><quote>house</quote></cit>
  <cit type="example"><quote>zu Haus</quote><cit type="trans"><quote>at home</quote></cit></cit>
  <sense><cit type="translation"><quote>the <emph>big</emph>
   building</quote></cit></sense></sense>
</entry>
<entry><form><form><orth>Tür</orth></form><orth>Thür</orth></form>
 <trans><tr>door</tr></trans></entry>
<entry><form><orth>leer</orth></form></entry>
<entry><sense><cit type="trans"><quote>nothing</quote></cit></sense></entry>
"""
EXPECTED = [
    RawEntry(5, "Haus", "house", None, None),
    RawEntry(5, "Haus", "the big building", None, None),
    RawEntry(13, "Tür", "door", None, None),
    RawEntry(13, "Thür", "door", None, None),
    Rejection(15, "the entry has no translation"),
    Rejection(16, "the entry has no headword"),
]


def entries(text: str | bytes, size: int = 1 << 16, **limits: int) -> list[RawEntry | Rejection]:
    data = text.encode() if isinstance(text, str) else text
    chunks: Iterator[bytes] = (data[i : i + size] for i in range(0, len(data), size))
    items = read(chunks, "freedict", Limits(**limits))
    return [item for item in items if isinstance(item, RawEntry | Rejection)]


def test_headwords_and_translations() -> None:
    assert entries(HEAD + BODY + TAIL) == EXPECTED
    assert entries(HEAD + BODY + TAIL, size=3) == EXPECTED


def test_other_declared_encodings_and_prefixes() -> None:
    text = HEAD.replace("UTF-8", "UTF-16") + BODY + TAIL
    assert entries(text.encode("utf-16")) == EXPECTED
    prefixed = HEAD.replace("<TEI xmlns=", "<t:TEI xmlns:t=") + "<t:entry><t:form><t:orth>a</t:orth></t:form>"
    prefixed += '<t:cit type="trans"><t:quote>b</t:quote></t:cit></t:entry>' + TAIL.replace("/TEI", "/t:TEI")
    assert entries(prefixed) == [RawEntry(5, "a", "b", None, None)]


@pytest.mark.parametrize(
    "declared",
    [
        '<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;">',
        '<!ENTITY file SYSTEM "file:///etc/passwd">',
        "<!ENTITY % parameter \"<!ENTITY inner 'x'>\">",
    ],
)
def test_declared_entities_are_refused(declared: str) -> None:
    text = HEAD.replace('SYSTEM "freedict-P5.dtd"', f"[{declared}]") + BODY + TAIL
    with pytest.raises(TableFormatError, match="line 2: the document declares entities"):
        entries(text)


def test_an_entity_of_the_document_type_makes_its_entry_unusable() -> None:
    text = HEAD + BODY.replace("door", "door&nbsp;bell") + TAIL
    found = entries(text)
    assert found[2] == Rejection(13, "the entry uses the undeclared entity &nbsp;")
    assert found[:2] == EXPECTED[:2]
    assert entries(HEAD + BODY.replace("door", "a &amp; &#98;") + TAIL)[2] == RawEntry(13, "Tür", "a & b", None, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + BODY, "line 17: not well-formed XML: no element found"),
        (HEAD + "<entry></form>", "line 5: not well-formed XML: mismatched tag"),
        ("no xml", "line 1: not well-formed XML: syntax error"),
        (HEAD + "<sense>" * 200, "line 5: elements are nested more than 100 deep"),
        (HEAD + TAIL, "holds no entry"),
        (b"<?xml version='1.0' encoding='UTF-8'?><a>\xff</a>", "not well-formed"),
        (b"<?xml version='1.0' encoding='klingon'?><a></a>", "unknown encoding"),
    ],
)
def test_broken_documents_are_refused_with_the_line(text: str | bytes, message: str) -> None:
    with pytest.raises(TableFormatError, match=message):
        entries(text)


def test_long_terms_and_huge_entries_are_rejected() -> None:
    long = "x" * 100_000
    found = entries(HEAD + BODY + BODY.replace("door", long) + TAIL)
    assert Rejection(25, "the tr is longer than 1,000 characters") in found
    many = "".join(f"<orth>{i}</orth>" for i in range(300))
    found = entries(HEAD + BODY + BODY.replace("<orth>Thür</orth>", many) + TAIL)
    assert Rejection(25, "the entry has more than 200 headwords or translations") in found


LONG = "ab" * 2_000_000


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (LONG, 1),
        ("<!--" + LONG, 1),
        (HEAD + "<entry><!--" + LONG, 5),
        (HEAD + "<" + LONG, 5),
        (HEAD + "<entry kind='" + LONG, 5),
        (HEAD + "<?" + LONG, 5),
        (HEAD + "&" + LONG, 5),
        ("<!DOCTYPE TEI SYSTEM '" + LONG, 1),
    ],
)
def test_a_tag_that_does_not_end_is_refused_before_it_is_read_again_and_again(document: str, line: int) -> None:
    read_so_far = 0

    def chunks() -> Iterator[bytes]:
        nonlocal read_so_far
        for start in range(0, len(document), 1 << 16):
            read_so_far = start
            yield document[start : start + (1 << 16)].encode()

    with pytest.raises(TableFormatError, match=f"line {line}: (a tag or comment is longer than|not well-formed)"):
        list(read(chunks(), "freedict", Limits()))
    assert read_so_far < 1 << 20


@pytest.mark.parametrize("size", [1 << 16, 1_000])
def test_text_between_tags_may_be_long(size: int) -> None:
    long = BODY.replace("<pron>haʊs</pron>", f"<pron>{LONG}</pron>").replace("leer", LONG)
    found = entries(HEAD + long + TAIL, size)
    assert found[:4] == EXPECTED[:4]
    assert found[4:] == [Rejection(15, "the orth is longer than 1,000 characters"), EXPECTED[5]]
