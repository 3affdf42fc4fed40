"""Dictionaries of dictd: entries as FreeDict writes them, and their index."""

from __future__ import annotations

import gzip
import io
import tarfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dragoman.lexicon.dictionaries.dictd import dictd_pairs, parse_entry
from dragoman.lexicon.dictionaries.packages import open_dictionary, read_blocks
from dragoman.lexicon.formats.items import TableFormatError

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def encode(number: int) -> str:
    return (encode(number // 64) if number >= 64 else "") + DIGITS[number % 64]


def make(entries: list[str]) -> tuple[bytes, bytes]:
    """The index and the text of these entries, after one that describes the dictionary."""
    text, lines = b"About\n", [f"00databaseinfo\tA\t{encode(6)}"]
    for number, entry in enumerate(entries):
        content = entry.encode()
        lines.append(f"{number}\t{encode(len(text))}\t{encode(len(content))}")
        text += content
    return ("\n".join(sorted(lines)) + "\n").encode(), text


def read(index: bytes, text: bytes, size: int = 7) -> list[tuple[str, str]]:
    return list(dictd_pairs(io.BytesIO(index), (text[at : at + size] for at in range(0, len(text), size))))


@pytest.mark.parametrize(
    ("entry", "headwords", "translations"),
    [
        ("derivation /x y/\nAbleitung <fem>, Lehre [math.]\n see: {x}\n", ["derivation"], ["Ableitung", "Lehre"]),
        ("tremper /tʀɑ̃pe/ <v>\n1. harden, temper\n2. dip\n", ["tremper"], ["harden", "temper", "dip"]),
        ("loss /x/\nVerlust <masc>\n         Note: x\n      \"at\"  - x\n   Synonym: x\n", ["loss"], ["Verlust"]),
        ("acute /x/\n [Am.] spitz <adj>, doppel…\n", ["acute"], ["spitz"]),
        ("CAP /x/\nGemeinsame AgrarpolitikGAP,  /ɡˈap/\n", ["CAP"], ["Gemeinsame Agrarpolitik", "GAP"]),
        ("lithium /x/\nLithium <neut> [chem.] Li,  /lˈaɪ/\n", ["lithium"], ["Lithium", "Li"]),
        ("First Sergeant /x y/ (1SG /z/)\nSpieß\n", ["First Sergeant", "1SG"], ["Spieß"]),
        ("deal with sb. /x/ (dealt /y/ <>)\nes mit jdm. zu tun haben\n", ["deal with"], ["es mit jdm. zu tun haben"]),
        ("Well, well! /x/\nSieh an, sieh an!\n", ["Well, well!"], ["Sieh an, sieh an!"]),
        ("premature/untimely end /x/\nEnde (in etw.)\n", ["premature end", "untimely end"], ["Ende"]),
        ("water\N{HYPHEN}colour /x/\nакварель\n", ["water-colour"], ["акварель"]),
        ("in addition /x/\n1. d'ailleurs, 3,5 mètres\n2.\n", ["in addition"], ["d'ailleurs", "3,5 mètres"]),
        ("-iste /x/\n-or\n", [], []),
    ],
)  # fmt: skip
def test_an_entry_has_its_headwords_and_translations(entry: str, headwords: list[str], translations: list[str]) -> None:
    assert parse_entry(entry) == (headwords, translations)


letters = st.text(st.sampled_from("abcßé水ж"), min_size=3, max_size=9)


@hypothesis_settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(letters, st.lists(letters, min_size=1, max_size=4, unique=True)), max_size=8), st.integers(1, 99)
)
def test_entries_are_read_whatever_the_blocks(entries: list[tuple[str, list[str]]], size: int) -> None:
    made = make([f"{word} /x/ <n>\n{', '.join(translations)}\n\n" for word, translations in entries])
    assert read(*made, size) == [(word, term) for word, translations in entries for term in translations]


def test_a_damaged_index_is_refused() -> None:
    index, text = make(["a /x/\nb\n"])
    for broken, reason in (
        (b"a b c\n", "line 1: the index"),
        (b"a\tA\t!\n", "not written in the digits"),
        (b"a\tA\t////\n", "an entry is longer"),
    ):
        with pytest.raises(TableFormatError, match=reason):
            read(broken, text)
    with pytest.raises(TableFormatError, match="beyond the end"):
        read(index, text[:-2])


def test_a_dictionary_is_read_from_files_a_package_and_archives(tmp_path: Path) -> None:
    index, text = make(["house /x/\nHaus\n"])
    base = tmp_path / "freedict-eng-deu"
    base.with_suffix(".index").write_bytes(index)
    base.with_suffix(".dict.dz").write_bytes(gzip.compress(text))
    inner = tmp_path / "data.tar.xz"
    with tarfile.open(inner, "w:xz") as archive:
        for name in (base.with_suffix(".dict.dz"), base.with_suffix(".index")):
            archive.add(name, f"./usr/share/dictd/{name.name}")
    package = tmp_path / "dict.deb"
    package.write_bytes(b"!<arch>\n" + _member("debian-binary", b"2.0\n") + _member("data.tar.xz", inner.read_bytes()))
    for path in (base.with_suffix(".index"), base.with_suffix(".dict.dz"), inner, package):
        with ExitStack() as stack:
            files = open_dictionary(path, stack)
            assert files.index is not None
            blocks = [gzip.decompress(b"".join(read_blocks(files.text)))]
            assert list(dictd_pairs(files.index, blocks)) == [("house", "Haus")]
    source = tmp_path / "source.tar.xz"
    (tmp_path / "eng-deu.tei").write_text("<TEI/>")
    with tarfile.open(source, "w:xz") as archive:
        archive.add(tmp_path / "eng-deu.tei", "eng-deu/eng-deu.tei")
    with ExitStack() as stack:
        files = open_dictionary(source, stack)
        assert (files.index, b"".join(read_blocks(files.text))) == (None, b"<TEI/>")
    for name, content, reason in (
        ("x.deb", b"!<arch>\n" + _member("data.tar.zst", b""), "zstd"),
        ("y.deb", b"!<arch>\n", "holds no files"),
        ("z.bin", b"nothing", "not a dictionary"),
        ("lonely.index", b"", "belong together"),
    ):
        (tmp_path / name).write_bytes(content)
        with ExitStack() as stack, pytest.raises(TableFormatError, match=reason):
            open_dictionary(tmp_path / name, stack)


def _member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode()
    return header + content + b"\n" * (len(content) % 2)
