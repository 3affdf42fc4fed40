"""Acronyms, and which of them are one in several languages."""

from __future__ import annotations

from collections import defaultdict

import regex

from dragoman.checking.naming.folding import fold_name

__all__ = ["ACRONYM", "are_other_acronyms", "are_same_acronyms"]

ACRONYM = regex.compile(r"(?:[A-Z]\.?){2,6}(?:['’]s)?")
_POSSESSIVE = regex.compile("['’]s$")
_ROWS = """
un uno onu оон οηε vn
eu ue ес εε
nato otan нато νατο
usa us eeuu eua сша ηπα vs
uk vk gb
iwf imf fmi мвф δντ
who oms воз που
wto omc вто ποε
ilo oit oil мот
ipcc giec мгэик
ezb ecb bce ецб εκτ
bip gdp pib ввп αεπ
iaea aiea oiea iaeo магатэ
unhcr hcr acnur увкб
oecd ocde ocse оэср οοσα
osze osce ovse обсе οασε
opec opep опек οπεκ
ioc iok cio coi мок δοε
icc istgh cpi мус
egmr echr cedh tedh еспч
eugh ecj cjue tjue cjeu
vae uae eau оаэ
ngo nro ong нпо μκο
vat mwst tva iva ндс φπα
ai ki ia ии
aids sida спид
hiv vih вич
dna dns adn днк
rna rns arn рнк
iss mks мкс
"""
"""Those of one row mean the same in English, German, French, Spanish, Italian, Dutch, Russian and Greek."""


def _number_rows() -> dict[str, frozenset[int]]:
    rows: dict[str, set[int]] = defaultdict(set)
    for line, row in enumerate(_ROWS.strip().split("\n")):
        for acronym in row.split():
            rows[fold_name(acronym)].add(line)
    return {acronym: frozenset(lines) for acronym, lines in rows.items()}


_NUMBERS = _number_rows()


def are_same_acronyms(first: str, second: str) -> bool:
    """Whether two words in capitals are one acronym in two languages: IWF and IMF, ВОЗ and WHO."""
    if not (first.isupper() and second.isupper()):
        return False
    return bool(_find_rows(first) & _find_rows(second))


def are_other_acronyms(first: str, second: str) -> bool:
    """Whether two words are acronyms in Latin letters, and not one: IAEA is no IAAF, and UN no UNHCR.

    One may have a letter more (UN, UNO) or the letters in another order (IAEA, AIEA), unless both are listed.
    """
    if ACRONYM.fullmatch(first) is None or ACRONYM.fullmatch(second) is None:
        return False
    if _find_rows(first) and _find_rows(second):
        return not _find_rows(first) & _find_rows(second)
    shorter, longer = sorted(map(_bare, (first, second)), key=len)
    if longer.startswith(shorter) and len(longer) <= len(shorter) + 1:
        return False
    return sorted(shorter) != sorted(longer)


def _find_rows(acronym: str) -> frozenset[int]:
    return _NUMBERS.get(fold_name(_bare(acronym)), frozenset())


def _bare(acronym: str) -> str:
    return str(_POSSESSIVE.sub("", acronym)).replace(".", "")
