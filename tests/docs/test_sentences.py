"""The sentences of pages are short."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, page_name
from tests.docs.sentences import sentences

LONGEST = 30
"""Words that a sentence may have."""
_CARDS = [*(ROOT / "dragoman").rglob("README.md"), *(ROOT / "dragoman_lab").rglob("README.md")]
_OTHERS = [ROOT / "CHANGELOG.md", ROOT / "SECURITY.md", *(ROOT / "clients").glob("*/README.md")]


@pytest.mark.parametrize("page", sorted({*PAGES, *_CARDS, *_OTHERS}), ids=page_name)
def test_sentences_are_short(page: Path) -> None:
    long = [
        f"{page_name(page)}:{sentence.line}: {sentence.words} words: {sentence.text}"
        for sentence in sentences(page.read_text(encoding="utf-8"))
        if sentence.words > LONGEST
    ]
    assert not long, "\n".join(long)


def test_a_long_sentence_is_found_with_its_line() -> None:
    page = "# A title\n\nThis is short. These are\n" + " ".join(["words"] * 30) + ".\n"
    short, long = sentences(page)
    assert (short.line, short.words, short.text) == (3, 3, "This is short.")
    assert (long.line, long.words) == (3, 32)


@pytest.mark.parametrize(
    ("page", "lengths"),
    [
        ("A colon: it ends nothing; nor does this.", [8]),
        ('Is it (so?) Yes! "No." It is .5, or 1.5 of e5.small.', [3, 1, 1, 7]),
        ("See Hu et al. 2022, e.g. here.", [7]),
        ("Run `dragoman serve. Now` - and [read on](docs/a.b.md 'of it').", [5]),
        ("- an item\n- another one\n  over two lines\n\n  with a paragraph", [2, 5, 3]),
        ("<!-- a remark. -->\n\n## A heading\n\n```sh\necho a b\n```\n\n| a | b |\n|---|---|\n| c d | e |\n", []),
    ],
    ids=["colon", "ends", "abbreviations", "code and links", "lists", "what is no prose"],
)
def test_where_sentences_end(page: str, lengths: list[int]) -> None:
    assert [sentence.words for sentence in sentences(page)] == lengths
