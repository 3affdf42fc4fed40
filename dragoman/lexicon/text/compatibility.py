"""Compatibility forms that are neither letters nor digits by themselves, written out before words are cut.

Cutting alone would lose them: ``CO₂`` is no ``CO``. Letters in compatibility forms (ligatures, full width, presentation
forms) are letters, and folding writes them out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import regex

__all__ = ["write_out"]

_KINDS = ("<super>", "<sub>", "<fraction>", "<square>")
_FOOTNOTE = 3
"""After so many letters a raised digit is a note, and not a part of the word: ``m²``, but not ``Wasser²``."""

_END = 0x20000
"""The first code point of the planes that have no such forms, which each process would look through for nothing."""


def _forms() -> dict[str, str]:
    forms = {}
    for code_point in range(0x80, _END):
        character = chr(code_point)
        if not (decomposition := unicodedata.decomposition(character)):
            continue
        form = unicodedata.normalize("NFKC", character)
        if " " in form and unicodedata.category(character) == "Lo" and all(map(str.isalpha, form.split())):
            forms[character] = form  # one character for several words, such as ﷺ
        if unicodedata.category(character) not in ("No", "So", "Sm"):
            continue
        kind = decomposition.partition(" ")[0]
        if kind in _KINDS and any(letter.isalnum() for letter in form) and character not in "™℠":
            forms[character] = f" {form}" if kind == "<fraction>" else form
    return forms


_FORMS = _forms()
_RAISED = "".join(character for character in _FORMS if unicodedata.decomposition(character).startswith("<super>"))
_ANY = frozenset(_FORMS)
_NOTES = regex.compile(rf"(?<=(?:\p{{L}}\p{{M}}*){{{_FOOTNOTE}}}|\p{{Nd}})[{_RAISED}]++")


def write_out(text: str) -> tuple[str, Sequence[int], Sequence[int]] | None:
    """The text with the compatibility forms written out (NFKC), and where each of its characters begins and ends in
    ``text``; None if it has none.

    A raised digit after a longer word or a number is a note or a power, and a word of its own. A fraction begins a
    word: ``5½`` are ``5`` and ``1⁄2``.
    """
    if _ANY.isdisjoint(text):
        return None
    notes = {match.start() for match in _NOTES.finditer(text)}
    pieces: list[str] = []
    begins: list[int] = []
    for place, character in enumerate(text):
        piece = _FORMS.get(character, character)
        if place in notes:
            piece = f" {piece}"
        pieces.append(piece)
        begins.extend([place] * len(piece))
    return "".join(pieces), begins, [place + 1 for place in begins]
