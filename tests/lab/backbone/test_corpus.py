"""Batches depend only on seed and position; preparation of text: what is kept, counted and refused."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.backbone.tokenizer import Subwords
from dragoman_lab.backbone import corpus as corpus_module
from dragoman_lab.backbone.corpus import Corpus, Pairs, Position, batches, prepare
from dragoman_lab.backbone.text_files import CorpusError, TextFile, text_files
from tests.backbone.samples import OBJECTS, SENTENCES, SUBJECTS, VERBS, raw_lines

TOKENS = 128


@pytest.fixture(scope="module")
def corpus(text: Path, subwords: Subwords, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    files = text_files([text / "parallel"], [text / "raw"], [text / "dictionaries"])
    return prepare(files, subwords, tmp_path_factory.mktemp("tokens"), 24)


def plain(pairs: Pairs) -> tuple[list[list[int]], list[list[int]], tuple[str, ...]]:
    return [row.tolist() for row in pairs.x], [row.tolist() for row in pairs.y], pairs.languages


def drawn(corpus: Corpus, count: int, seed: int = 1, start: Position | None = None) -> list[tuple[Position, Pairs]]:
    shares = corpus.shares(0.5, 0.2)
    return list(islice(batches(corpus, seed=seed, tokens=TOKENS, shares=shares, start=start), count))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(0, 150), st.integers(1, 20))
def test_batches_resume_from_any_position(corpus: Corpus, seed: int, before: int, count: int) -> None:
    whole = drawn(corpus, before + count, seed)
    start = whole[before - 1][0] if before else None
    again = drawn(corpus, count, seed, start)
    assert [(position, plain(pairs)) for position, pairs in again] == [
        (position, plain(pairs)) for position, pairs in whole[before:]
    ]


def test_batches_keep_to_the_budget_and_to_their_pairs(corpus: Corpus, subwords: Subwords) -> None:
    rows = subwords.ids([side for pair in [*SENTENCES, *SUBJECTS, *VERBS, *OBJECTS] for side in pair])
    known = {(tuple(rows[n]), tuple(rows[n + 1])) for n in range(0, len(rows), 2)}
    raw = next(section for section in corpus.sections if section.languages == ("sw",))
    segments = [tuple(raw.segment(0, row).tolist()) for row in range(raw.segments)]
    neighbours = {(segments[n], segments[n + 1]) for n in range(len(segments) - 1)}
    seen = set()
    for _, pairs in drawn(corpus, 300):
        for side in (pairs.x, pairs.y):
            assert len(side) * (max(map(len, side)) + 2) <= TOKENS
        both = {(tuple(x.tolist()), tuple(y.tolist())) for x, y in zip(pairs.x, pairs.y, strict=True)}
        assert both <= (known if pairs.parallel else neighbours)
        seen |= both
    assert known <= seen


def test_other_seeds_draw_other_batches(corpus: Corpus) -> None:
    assert [plain(one) for _, one in drawn(corpus, 9, 1)] != [plain(one) for _, one in drawn(corpus, 9, 2)]


def test_shares(corpus: Corpus) -> None:
    sizes, shares = corpus.sizes(), corpus.shares(0.5, 0.2)
    assert set(shares) == {"en-de", "sw", "dictionary en-de"}
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["dictionary en-de"] == pytest.approx(0.2)
    assert shares["sw"] / shares["en-de"] == pytest.approx((sizes["sw"] / sizes["en-de"]) ** 0.5)
    proportional = corpus.shares(1.0, 0.0)
    assert proportional["sw"] / proportional["en-de"] == pytest.approx(sizes["sw"] / sizes["en-de"])
    assert proportional["dictionary en-de"] == 0
    only = Corpus([section for section in corpus.sections if section.dictionary], "")
    assert only.shares(0.5, 0.2) == {"dictionary en-de": 1.0}
    assert corpus.languages == ["de", "en", "sw"]


def test_subwords_are_counted_once_in_every_file_and_side(
    corpus: Corpus, subwords: Subwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_module, "COUNTED_AT_ONCE", 7)
    counts = corpus.counts(len(subwords))
    plainly = Counter(int(one) for section in corpus.sections for side in section.ids for one in side)
    assert {number: count for number, count in enumerate(counts.tolist()) if count} == plainly
    assert counts.sum() == sum(corpus.sizes().values())


def test_groups_are_drawn_by_their_shares(corpus: Corpus) -> None:
    rounds: Counter[str] = Counter()
    for position, pairs in drawn(corpus, 3000):
        rounds["-".join(pairs.languages)] += sum(map(len, pairs.x)) > 0
        last = position.round
    assert last > 20
    assert set(rounds) == {"en-de", "sw"}


def test_raw_text_is_cut_without_losing_a_subword(corpus: Corpus, subwords: Subwords) -> None:
    raw = next(section for section in corpus.sections if section.languages == ("sw",))
    segments = [raw.segment(0, row).tolist() for row in range(raw.segments)]
    assert max(map(len, segments)) <= 22
    assert list(chain(*segments)) == list(chain(*subwords.ids(raw_lines("sw"))))
    assert len(segments) > len(raw_lines("sw"))


def test_pairs_too_long_are_counted(tmp_path: Path, subwords: Subwords) -> None:
    path = tmp_path / "en-de.tsv"
    path.write_text("bee\tBiene\n" + "honey " * 30 + "\tHonig\nsalt\tSalz\n\u2581\tash\n", encoding="utf-8")
    found = prepare([TextFile(path, ("en", "de"))], subwords, tmp_path / "tokens", 16).sections[0]
    assert (found.segments, found.too_long) == (2, 1)
    assert [subwords.decode(found.segment(side, 1).tolist()) for side in (0, 1)] == ["salt", "Salz"]


def test_an_interrupted_preparation_is_done_anew(
    text: Path, subwords: Subwords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = text_files([text / "parallel"], [text / "raw"])
    with monkeypatch.context() as patch:
        patch.setattr("dragoman_lab.backbone.corpus.np.save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            prepare(files, subwords, tmp_path, 24)
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]
    (tmp_path / f"{next(tmp_path.iterdir()).stem}.unfinished").mkdir()  # as a kill leaves it
    again = prepare(files, subwords, tmp_path, 24)
    whole = prepare(files, subwords, tmp_path / "other", 24)
    assert [plain(one) for _, one in drawn(again, 20)] == [plain(one) for _, one in drawn(whole, 20)]
    assert not list(tmp_path.glob("*.unfinished"))


def test_trainings_that_share_a_folder_prepare_the_text_once(
    text: Path, subwords: Subwords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, written = text_files([text / "parallel"], [text / "raw"]), []

    def slow(*arguments: Any) -> dict[str, Any]:
        written.append(arguments[0].path)
        time.sleep(0.05)
        return whole(*arguments)

    whole = corpus_module._write
    monkeypatch.setattr(corpus_module, "_write", slow)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: prepare(files, subwords, tmp_path, 24), range(4)))
    assert len(written) == len(files)
    assert len({corpus.checksum for corpus in found}) == 1
    assert all(corpus.sizes() == found[0].sizes() for corpus in found)


def test_prepared_text_is_reused_until_something_changes(
    tmp_path: Path, subwords: Subwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "en-de.tsv"
    path.write_text("bee\tBiene\n", encoding="utf-8")
    files = [TextFile(path, ("en", "de"))]
    first = prepare(files, subwords, tmp_path / "tokens", 16)
    with monkeypatch.context() as patch:
        patch.setattr(Subwords, "ids", None)
        assert prepare(files, subwords, tmp_path / "tokens", 16).checksum == first.checksum
    others = {prepare(files, subwords, tmp_path / "tokens", 20).checksum}
    path.write_text("bee\tBiene\nash\tAsche\n", encoding="utf-8")
    changed = prepare(files, subwords, tmp_path / "tokens", 16)
    assert len(others | {first.checksum, changed.checksum}) == 3
    assert changed.sections[0].segments == 2


def test_text_without_a_usable_segment_is_refused(tmp_path: Path, subwords: Subwords) -> None:
    one = tmp_path / "en.txt"
    one.write_text("a single line has no neighbour\n")
    with pytest.raises(CorpusError, match="no usable segment"):
        prepare([TextFile(one, ("en",))], subwords, tmp_path / "tokens", 64)


def test_a_malformed_file_leaves_nothing_prepared(tmp_path: Path, subwords: Subwords) -> None:
    bad = tmp_path / "en-de.tsv"
    bad.write_text("bee\tBiene\nbee\n")
    for _ in range(2):
        with pytest.raises(CorpusError, match=r"en-de\.tsv, line 2"):
            prepare([TextFile(bad, ("en", "de"))], subwords, tmp_path / "tokens", 64)
