"""Lists of candidates on disk: round trips, and damaged files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.lexicon.table.table import Table
from dragoman.ranking.attention import TranslationReference, Words
from dragoman.ranking.passages import tokenize_texts
from dragoman_lab.ranking.lists import (
    Candidate,
    CandidateList,
    ListsError,
    ListsWriter,
    lists_in,
    read_lists,
    relink,
    rescore,
)
from tests.ranking.samples import TABLE, split, write_encoder

TEXTS = [
    ("the bee finds honey", "en"),
    ("die Biene findet Honig", "de"),
    ("", "de"),
    ("graue Asche, graue Asche", "de"),
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory, subwords: Subwords) -> Encoder:
    return write_encoder(tmp_path_factory.mktemp("encoder") / "tiny", subwords)


def write(folder: Path, encoder: Encoder, table: Table | None = TABLE) -> list[CandidateList]:
    writer = ListsWriter("en", "de", encoder.tokenizer_checksum)
    for text, language in TEXTS:
        found = split(text, language)
        writer.text(tokenize_texts(encoder, [text], [found.spans])[0], found.terms)
    lists = [
        CandidateList("first", 0, [Candidate(1, 0.5, True), Candidate(3, 0.25, False), Candidate(2, 0.0, False)], 1),
        CandidateList("ß/2", 0, [], 3),
        CandidateList("last", 0, [Candidate(3, 1.5, True)], 2),
    ]
    for one in lists:
        writer.list(one)
    writer.write(folder, table)
    return lists


def test_lists_are_read_as_written(tmp_path: Path, encoder: Encoder) -> None:
    written = write(tmp_path / "a" / "b", encoder)
    assert lists_in(tmp_path) == [tmp_path / "a" / "b"]
    found = read_lists(tmp_path / "a" / "b")
    assert [found[number] for number in range(len(found))] == written
    assert (found.source, found.target, found.tokenizer) == ("en", "de", encoder.tokenizer_checksum)
    for number, (text, language) in enumerate(TEXTS):
        (expected,) = tokenize_texts(encoder, [text], [split(text, language).spans])
        assert found.text(number).ids == expected.ids
        assert np.array_equal(found.text(number).pieces, expected.pieces)


def test_the_same_lists_with_another_table(tmp_path: Path, encoder: Encoder) -> None:
    written = write(tmp_path / "a", encoder)
    other = Table.from_entries("en", "de", [("honey", "honig", 0.5, 0.25), ("unheard", "unerhört", 0.5, 0.5)])
    for name, table in (("b", other), ("c", None), ("d", other)):
        relink(tmp_path / "a", table, tmp_path / name)
    lists = {name: read_lists(tmp_path / name) for name in "abcd"}
    assert all([one[number] for number in range(len(one))] == written for one in lists.values())
    assert lists["b"].checksum == lists["d"].checksum
    assert len({one.checksum for one in lists.values()}) == 3
    for name, table in (("b", other), ("c", None)):
        reference = TranslationReference(split(*TEXTS[0]), table)
        for number, links in enumerate(lists[name].links(0, [1, 2, 3], "mean"), 1):
            expected = reference.links(split(*TEXTS[number]))
            assert links.left.tolist() == expected.left.tolist()
            assert links.weights == pytest.approx(expected.weights)


@pytest.mark.parametrize("table", [TABLE, None])
def test_other_lists_over_the_same_texts(tmp_path: Path, encoder: Encoder, table: Table | None) -> None:
    write(tmp_path / "a", encoder, table)
    others = [
        CandidateList("last", 0, [Candidate(3, 0.5, True)], 2),
        CandidateList("first", 0, [Candidate(3, 1.0, False), Candidate(1, 0.125, True)], 1),
    ]
    for name, lists in (("b", others), ("c", others[:1])):
        rescore(tmp_path / "a", lists, tmp_path / name)
    before, found = read_lists(tmp_path / "a"), read_lists(tmp_path / "b")
    assert [found[number] for number in range(len(found))] == others
    assert len({before.checksum, found.checksum, read_lists(tmp_path / "c").checksum}) == 3
    for number in range(len(TEXTS)):
        assert found.text(number).ids == before.text(number).ids
    for new, old in zip(found.links(0, [1, 2, 3], "mean"), before.links(0, [1, 2, 3], "mean"), strict=True):
        assert (new.left.tolist(), new.right.tolist()) == (old.left.tolist(), old.right.tolist())
        assert new.weights.tolist() == old.weights.tolist()


@pytest.mark.parametrize("table", [TABLE, None])
def test_links_are_those_of_the_whole_table(tmp_path: Path, encoder: Encoder, table: Table | None) -> None:
    write(tmp_path / "lists", encoder, table)
    found = read_lists(tmp_path / "lists")
    reference = TranslationReference(split(TEXTS[0][0], "en"), table)
    for links, number in zip(found.links(0, [1, 2, 3], "mean"), (1, 2, 3), strict=True):
        expected = reference.links(split(TEXTS[number][0], "de"))
        assert links.left.tolist() == expected.left.tolist()
        assert links.right.tolist() == expected.right.tolist()
        assert links.weights == pytest.approx(expected.weights)
    assert all(not len(links.left) for links in found.links(0, [1, 2, 3], "mean", placebo=True))


def test_links_outside_the_table_are_kept(tmp_path: Path, encoder: Encoder) -> None:
    (asked, *_), (there, *_) = (split(*TEXTS[number]).terms for number in (0, 1))
    found = {}
    for name, extra in (("without", {}), ("with", {asked: {there: 0.75}})):
        writer = ListsWriter("en", "de", encoder.tokenizer_checksum)
        for text, language in TEXTS:
            words = split(text, language)
            writer.text(tokenize_texts(encoder, [text], [words.spans])[0], words.terms)
        assert {asked, there} <= set(writer.terms)
        writer.write(tmp_path / name, None, extra=extra)
        found[name] = read_lists(tmp_path / name)
    (links,) = found["with"].links(0, [1], "mean")
    assert (0, 0, 0.75) in {*zip(links.left.tolist(), links.right.tolist(), links.weights.tolist(), strict=True)}
    assert found["with"].checksum != found["without"].checksum


def test_only_table_entries_of_the_texts_are_kept(tmp_path: Path, encoder: Encoder) -> None:
    write(tmp_path / "lists", encoder)
    kept = Table.open(tmp_path / "lists" / "table.safetensors")
    assert sorted(kept.sources) == ["bee", "finds", "honey"]
    assert sorted(kept.targets) == ["biene", "findet", "honig"]


def test_equal_lists_have_one_checksum_and_others_another(tmp_path: Path, encoder: Encoder) -> None:
    write(tmp_path / "a", encoder)
    write(tmp_path / "b", encoder)
    writer = ListsWriter("en", "de", encoder.tokenizer_checksum)
    writer.text(tokenize_texts(encoder, ["x"], [[(0, 1)]])[0], Words(["x"], []).terms)
    writer.list(CandidateList("first", 0, [], 1))
    writer.write(tmp_path / "c", None)
    checksums = [read_lists(tmp_path / name).checksum for name in "abc"]
    assert checksums[0] == checksums[1] != checksums[2]


def test_damaged_lists_are_refused(tmp_path: Path, encoder: Encoder) -> None:
    with pytest.raises(ListsError, match="nowhere: has no lists"):
        read_lists(tmp_path / "nowhere")
    write(tmp_path / "lists", encoder)
    arrays = tmp_path / "lists" / "lists.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:100])
    with pytest.raises(ListsError, match=r"lists\.safetensors"):
        read_lists(tmp_path / "lists")
    about = tmp_path / "lists" / "lists.json"
    about.write_text(about.read_text().replace("dragoman-lists-1", "dragoman-lists-9"))
    with pytest.raises(ListsError, match="format"):
        read_lists(tmp_path / "lists")
