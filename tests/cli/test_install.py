"""``dragoman table install``: a dictionary's files become an active table."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import typer

from dragoman.cli.installing.dictionaries import find_installed, install, read_pair
from dragoman.engine.core.errors import InvalidRequest, NotFound, Unavailable
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from tests.lexicon.dictionaries.test_dictd import make


def test_a_pair_of_dictd_and_tei_become_tables(tmp_path: Path) -> None:
    index, text = make(["house /x/\nHaus <neut>, Gebäude <neut>\n", "horse /x/\nPferd <neut>\n"])
    (tmp_path / "freedict-eng-deu.index").write_bytes(index)
    (tmp_path / "freedict-eng-deu.dict.dz").write_bytes(gzip.compress(text))
    tei = tmp_path / "deu-eng.tei"
    tei.write_text(
        "<TEI><text><body><entry><form><orth>Haus</orth></form><sense>"
        '<cit type="trans"><quote>house</quote></cit></sense></entry></body></text></TEI>'
    )
    data_dir = tmp_path / "data"
    install("freedict", "eng-deu", file=tmp_path / "freedict-eng-deu.index", data_dir=data_dir)
    install("freedict", "deu-eng", file=tei, name="tei", activate=False, data_dir=data_dir)
    with pytest.raises(InvalidRequest, match="belong together"):
        install("freedict", "eng-fra", file=tmp_path / "freedict-eng-fra.index", data_dir=data_dir)
    with pytest.raises(Unavailable, match="--from: cannot be fetched"):
        install("freedict", "eng-fra", address="http://127.0.0.1:9/x.deb", data_dir=data_dir)
    runtime = Runtime(Settings.load(data_dir=data_dir))
    try:
        _, blocks = runtime.tables.browse.export("freedict-eng-deu", None, "csv")
        assert b"".join(blocks).decode() == "source,target\nhorse,Pferd\nhouse,Gebäude\nhouse,Haus\n"
        (version,) = runtime.tables.get("tei").versions
        assert (version.active, version.entries) == (False, 1)
    finally:
        runtime.close()


def test_what_is_not_there_says_how_it_is_had(tmp_path: Path) -> None:
    assert (read_pair("eng-deu"), read_pair("swh-eng")) == (("en", "de"), ("sw", "en"))
    for pair in ("eng", "eng-eng", "eng-xxx", "a-b-c"):
        with pytest.raises(typer.BadParameter, match="names no two languages"):
            read_pair(pair)
    with pytest.raises(NotFound, match="apt-get install dict-freedict-eng-deu"):
        find_installed("eng-deu", tmp_path)
