"""Languages that theories are said in, a module each: tables of words, and the grammar that they need."""

from __future__ import annotations

from dragoman_lab.reasoning.theories.languages.ar import Arabic
from dragoman_lab.reasoning.theories.languages.de import German
from dragoman_lab.reasoning.theories.languages.el import Greek
from dragoman_lab.reasoning.theories.languages.en import English
from dragoman_lab.reasoning.theories.languages.es import Spanish
from dragoman_lab.reasoning.theories.languages.fr import French
from dragoman_lab.reasoning.theories.languages.grammar import Language
from dragoman_lab.reasoning.theories.languages.hi import Hindi
from dragoman_lab.reasoning.theories.languages.ru import Russian
from dragoman_lab.reasoning.theories.languages.sw import Swahili
from dragoman_lab.reasoning.theories.languages.tr import Turkish
from dragoman_lab.reasoning.theories.languages.zh import Chinese

GRAMMARS: dict[str, Language] = {
    "en": English(),
    "de": German(),
    "fr": French(),
    "es": Spanish(),
    "ru": Russian(),
    "el": Greek(),
    "ar": Arabic(),
    "zh": Chinese(),
    "hi": Hindi(),
    "tr": Turkish(),
    "sw": Swahili(),
}
