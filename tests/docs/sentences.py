"""The sentences of a page, with their lines and how many words each has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

_ABBREVIATIONS = ("e.g.", "i.e.", "cf.", "vs.", "al.")
_END = re.compile(r"[.!?]+[\"'”’)\]*]*\s+")
_WORD = re.compile(r"[^\W_]")
_CODE = re.compile(r"`[^`]+`")


class Sentence(NamedTuple):
    """A sentence, the line that it begins in, and the number of its words."""

    line: int
    words: int
    text: str


def sentences(page: str) -> Iterator[Sentence]:
    """Yield the sentences of Markdown in paragraphs and list items, without code blocks, tables and headings.

    A sentence ends with its paragraph or list item, or with a full stop, question or exclamation mark before a space.
    Neither a colon nor a semicolon ends it.
    """
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    for opening, token in pairwise(tokens):
        if opening.type == "paragraph_open" and token.map:
            yield from _split(_shown(token), 1 + token.map[0])


def _shown(paragraph: Token) -> str:
    """Return what a reader sees of a paragraph: link targets are gone, and code stands between backquotes."""
    shown = {"softbreak": "\n", "hardbreak": "\n", "html_inline": ""}
    return "".join(
        f"`{child.content}`" if child.type == "code_inline" else shown.get(child.type, child.content)
        for child in paragraph.children or ()
    )


def _split(text: str, line: int) -> Iterator[Sentence]:
    # code is one word, and no sentence ends in it
    masked = _CODE.sub(lambda code: re.sub(r"[\s.!?]", "x", code[0]), text)
    begin = 0
    for end in [*(match.end() for match in _END.finditer(masked)), len(masked)]:
        sentence = masked[begin:end]
        if sentence.rstrip().endswith(_ABBREVIATIONS) and end < len(masked):
            continue
        if sentence.strip():
            words = sum(bool(_WORD.search(word)) for word in sentence.split())
            yield Sentence(line + text.count("\n", 0, begin), words, " ".join(text[begin:end].split()))
        begin = end
