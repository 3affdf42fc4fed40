"""Makes dragoman/checking/naming/data/place_names.tsv.gz from the locale data of CLDR; needs the package Babel.

python scripts/place_names.py dragoman/checking/naming/data/place_names.tsv.gz

A line is a language code TAB the names of one territory, with those of the language spoken there, or of one city in
that language, separated by "|"; the lines of every language are in the same order, and an empty one has no names.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

from babel import Locale
from babel.core import get_global
from babel.languages import get_official_languages

LANGUAGES = """
en de fr es it pt nl da sv nb fi is et lv lt pl cs sk sl hr sr hu ro bg mk ru uk be el tr az ka hy he ar fa ur hi bn
mr ta te ml kn gu pa th lo km my vi id ms sw zh ja ko am sq ca
""".split()  # noqa: SIM905
SPOKEN = {"en": "GB", "pt": "PT", "ar": "", "ms": "", "sw": "", "la": ""}
"""Where a language's name stands for a country though most speakers live elsewhere; with none it stands for none."""
FURTHER = {
    "en": {
        "US": "US|U.S|U.S.A|USA|America|American|Americans",
        "GB": "UK|U.K|Britain|British|England|Briton|Britons",
        "EU": "EU|E.U",
        "UN": "UN|U.N",
        "NL": "Dutch|Holland",
        "CH": "Swiss",
        "150": "European|Europeans",
        "RU": "Soviet",
        "TR": "Turkey",
        "CZ": "Czech Republic",
    },
    "de": {"US": "USA|US|Amerika", "GB": "Großbritannien|Britisch|Briten|England", "EU": "EU", "NL": "Holland"},
    "fr": {"US": "USA|US|Amérique|Américain", "GB": "Grande-Bretagne|Britannique|Angleterre", "EU": "UE", "UN": "ONU"},
    "es": {"US": "EE.UU|EEUU|EE|América|Americano", "GB": "Gran Bretaña|Británico|Inglaterra", "EU": "UE", "UN": "ONU"},
    "ru": {
        "US": "США|Америка", "GB": "Британия|Англия", "EU": "ЕС|Евросоюз", "UN": "ООН", "RU": "Советский",
        "KR": "Южная Корея", "KP": "Северная Корея",
    },
    "el": {"US": "ΗΠΑ|Αμερική|Αμερικανικός", "GB": "Βρετανία|Αγγλία", "EU": "ΕΕ", "UN": "ΟΗΕ"},
    "ar": {"US": "أمريكا|أميركا|أمريكي|أميركي", "GB": "بريطانيا|إنجلترا"},
    "hi": {"US": "अमेरिका|अमरीका|यूएस", "GB": "ब्रिटेन|ब्रिटिश|इंग्लैंड|यूके", "EU": "ईयू"},
    "th": {"US": "สหรัฐ|อเมริกา", "GB": "อังกฤษ|บริเตน", "UN": "สหประชาชาติ"},
    "ja": {
        "US": "米|アメリカ", "GB": "英|イギリス", "FR": "仏", "DE": "独", "RU": "露|ロシア|ソ連", "KR": "韓",
        "IT": "伊", "AU": "豪", "EU": "欧州連合|EU", "150": "欧", "UN": "国連", "IN": "日印|印中|印パ",
        "CN": "米中|日中|中韓|中朝|訪中|対中", "JP": "日米|日中|日韓|日英|日印|訪日|対日|来日|在日",
    },
    "zh": {
        "US": "美", "GB": "英", "RU": "俄|苏联|蘇聯", "KR": "韩", "AU": "澳", "EU": "欧盟", "150": "欧", "UN": "联合国",
        "CN": "中美|美中|中方|中俄|中日|中英|中欧|中法|中德|对华|在华|中华", "JP": "中日|日美|日韩|日方|日军",
        "FR": "法语|法国|中法|法德|英法", "DE": "德语|德国|中德|法德|德军", "IN": "印度|中印",
    },
}  # fmt: skip
"""Short names and those of people that the locale data lacks."""


def list_groups() -> list[tuple[str, list[str], list[str]]]:
    """Territories with the languages that are called like their people, and time zones that are called as a city."""
    likely = get_global("likely_subtags")
    spoken: dict[str, list[str]] = {}
    for language in sorted(Locale("en").languages):
        territory = SPOKEN.get(language, likely.get(language, "").rpartition("_")[2])
        if territory and (language in get_official_languages(territory, de_facto=True) or language in SPOKEN):
            spoken.setdefault(territory, []).append(language)
    territories = sorted(code for code in Locale("en").territories if code.isalpha() and code not in ("ZZ", "XA", "XB"))
    continents = ["001", "002", "003", "005", "009", "013", "019", "021", "142", "150", "419"]
    groups = [(code, spoken.get(code, [])[:1], []) for code in [*territories, *continents[1:]]]
    return groups + [("", [], [zone]) for zone in sorted(Locale("ru").time_zones) if is_city(zone)]


def is_city(zone: str) -> bool:
    """Whether a zone is called as a large city: stations in Antarctica and small towns are called as persons are."""
    return zone.count("/") == 1 and not zone.startswith(("Antarctica", "Etc"))


def list_names(language: str, groups: list[tuple[str, list[str], list[str]]]) -> Iterator[str]:
    """A line a group."""
    locale = Locale(language)
    for territory, languages, zones in groups:
        names = [locale.territories.get(territory)] if territory else []
        names += [locale.languages.get(code) for code in languages]
        for zone in zones:
            named = locale.time_zones.get(zone, {}).get("city")
            names.append(named or (zone.rpartition("/")[2].replace("_", " ") if locale.language == "en" else None))
        names += FURTHER.get(language, {}).get(territory, "").split("|")
        yield "|".join(dict.fromkeys(name.replace("|", " ") for name in names if name))


def main() -> None:
    groups = list_groups()
    lines = [f"{language}\t{names}" for language in LANGUAGES for names in list_names(language, groups)]
    with Path(sys.argv[1]).open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write("".join(line + "\n" for line in lines).encode())


if __name__ == "__main__":
    main()
