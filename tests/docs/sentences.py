"""The sentences of pages, docstrings and comments, with their lines, and how many words each has."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

LONGEST = 30
"""Words that a sentence may have."""
_ABBREVIATIONS = ("e.g.", "i.e.", "cf.", "vs.", "al.", "etc.", "No.", "St.", "Dr.")
_END = re.compile(r"[.!?]+[\"'”’)\]*]*\s+")
_WORD = re.compile(r"[^\W_]")
_CODE = re.compile(r"`[^`]+`")
_DOCTEST = re.compile(r"^ *>>>.*(?:\n *\S.*)*", re.MULTILINE)


class Sentence(NamedTuple):
    """A sentence, the line that it begins in, and the number of its words."""

    line: int
    words: int
    text: str


def page_sentences(text: str, first_line: int = 1) -> Iterator[Sentence]:
    """Yield the sentences of Markdown in paragraphs and list items, without code blocks, tables and headings."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for opening, token in zip(tokens, tokens[1:], strict=False):
        if opening.type == "paragraph_open" and token.map:
            yield from _split(_shown(token), first_line + token.map[0])


def module_sentences(source: str) -> Iterator[Sentence]:
    """Yield the sentences of a module's docstrings, also those of its constants, and comments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            text = _DOCTEST.sub(lambda lines: "\n" * lines[0].count("\n"), node.value.value)
            first, _, rest = text.partition("\n")
            yield from page_sentences(first + "\n" + _dedented(rest), node.lineno)
    yield from _comment_sentences(source)


def _comment_sentences(source: str) -> Iterator[Sentence]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [(token.start, token.string.lstrip("#: ")) for token in tokens if token.type == tokenize.COMMENT]
    # lines of one comment follow each other in one column
    for _, group in groupby(enumerate(comments), lambda entry: (entry[1][0][0] - entry[0], entry[1][0][1])):
        lines = [comment for _, comment in group]
        yield from page_sentences("\n".join(text for _, text in lines), lines[0][0][0])


def _dedented(text: str) -> str:
    indents = [len(line) - len(line.lstrip()) for line in text.splitlines() if line.strip()]
    return "\n".join(line[min(indents, default=0) :] for line in text.splitlines())


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
