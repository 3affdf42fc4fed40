"""Subwords: decoding restores text, offsets are exact, and user text never gives special tokens."""

import re
import unicodedata
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.backbone.tokenizer import BYTES, SPECIAL_TOKENS, UNKNOWN, Subwords, cut_evenly
from dragoman_lab.backbone.text_files import CorpusError, TextFile
from dragoman_lab.backbone.vocabulary import _sample, language_sizes, smooth_shares, train_subwords
from tests.backbone.samples import all_ids

SPELT = [*SPECIAL_TOKENS, "<to:de>", "<0x41>", "<0xFF>", "＜mask＞", "<0x", "<<s>", "<s><s>", "▁", "<0x41>é"]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
tricky = st.lists(st.sampled_from([*SPELT, " ", "a", "the bee", "ⵣ", "\t", "\x1c", "\u3000"]), max_size=6).map("".join)


def normal(text: str) -> str:
    """What may change: NFKC, and runs of Unicode's white space, which lacks four control characters of Python's."""
    form = re.sub(r"[^\S\x1c-\x1f]+|▁+", " ", unicodedata.normalize("NFKC", text))
    return re.sub(" +", " ", form).strip(" ")


@settings(deadline=None)
@given(texts | tricky)
def test_decoding_restores_any_text(subwords: Subwords, text: str) -> None:
    encoded = subwords.encode([text])[0]
    assert subwords.decode(encoded.ids) == normal(text)
    assert not set(encoded.ids) & set(subwords.special_ids)
    assert encoded.ids == subwords.ids([text])[0]


@settings(deadline=None)
@given(texts | tricky)
def test_offsets_are_places_in_the_text(subwords: Subwords, text: str) -> None:
    encoded = subwords.encode([text])[0]
    assert len(encoded.ids) == len(encoded.offsets) == len(encoded.words)
    for start, end in encoded.offsets:
        assert 0 <= start <= end <= len(text)
        assert text[start:end] == text[start:end].lstrip(" \t\n\u3000")
    assert all(one[0] <= other[0] and one[1] <= other[1] for one, other in pairwise(encoded.offsets))
    assert all(later - word in (0, 1) for word, later in pairwise(encoded.words))


def test_offsets_and_words_of_plain_text(subwords: Subwords) -> None:
    sentence = "  the bee\u3000finds   <mask> honey"
    encoded = subwords.encode([sentence])[0]
    whole: dict[int, list[tuple[int, int]]] = {}
    for word, span in zip(encoded.words, encoded.offsets, strict=True):
        whole.setdefault(word, []).append(span)
    assert [sentence[spans[0][0] : spans[-1][1]] for spans in whole.values()] == sentence.split()


def test_an_unknown_script_becomes_bytes(subwords: Subwords) -> None:
    ids = subwords.ids(["ⵣ"])[0]
    assert [subwords.piece(one) for one in ids if subwords.piece(one) in BYTES] == ["<0xE2>", "<0xB5>", "<0xA3>"]
    assert UNKNOWN not in ids


def test_rare_subwords_have_the_highest_surprisals(subwords: Subwords) -> None:
    surprisals = subwords.surprisals()
    assert len(surprisals) == len(subwords)
    assert surprisals.min() > 0
    for text in ("<mask>", "<0x41>"):
        assert surprisals[subwords.special(text)] == surprisals.max()
    learned = surprisals[surprisals < surprisals.max()]
    assert np.exp(-learned).sum() <= 1.0 + 1e-6  # shares of one whole


def test_special_tokens(subwords: Subwords) -> None:
    assert [subwords.special(token) for token in SPECIAL_TOKENS] == list(range(len(SPECIAL_TOKENS)))
    languages = [subwords.special(f"<to:{language}>") for language in ("de", "en", "sw")]
    assert subwords.special_ids == [*range(len(SPECIAL_TOKENS)), *languages]
    assert subwords.decode([1, languages[0], *subwords.ids(["honey"])[0], 3, 2]) == "honey"
    with pytest.raises(KeyError):
        subwords.special("<to:xx>")


def test_a_byte_spelt_out_stays_text_where_its_letters_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "el.txt"
    path.write_text("η μέλισσα βλέπει το λιμάνι\n" * 20, encoding="utf-8")
    greek = train_subwords([TextFile(path, ("el",))], 400, characters=2_000)
    for spelt in SPELT:
        assert greek.decode(greek.ids([spelt])[0]) == normal(spelt)


def test_training_text_with_special_tokens_adds_no_pieces(tmp_path: Path) -> None:
    path = tmp_path / "en.txt"
    path.write_text("<mask> <0x41> </s>\n" * 50, encoding="utf-8")
    learned = train_subwords([TextFile(path, ("en",))], 400, characters=5_000)
    pieces = [learned.piece(number) for number in range(len(learned))]
    assert len(set(pieces)) == len(pieces)
    assert learned.decode(learned.ids(["<mask> <0x41>"])[0]) == "<mask> <0x41>"


def test_saving_keeps_everything(subwords: Subwords, tmp_path: Path) -> None:
    subwords.save(tmp_path / "tokenizer.json")
    again = Subwords.load(tmp_path / "tokenizer.json")
    sample = [*SPELT, "die Biene findet Honig", "ⵣ"]
    assert again.checksum == subwords.checksum
    assert all_ids(again, sample) == all_ids(subwords, sample)
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()


def two_languages(folder: Path) -> list[TextFile]:
    large, small = folder / "en.txt", folder / "sw.txt"
    large.write_text("the bee finds honey\n" * 900, encoding="utf-8")
    small.write_text("nyuki wanapenda asali\n" * 9, encoding="utf-8")
    return [TextFile(large, ("en",)), TextFile(small, ("sw",))]


def test_a_small_language_gets_its_smoothed_share(tmp_path: Path) -> None:
    files = two_languages(tmp_path)
    sizes = language_sizes(files)
    assert sizes == {"en": 900 * 19, "sw": 9 * 21}
    shares = smooth_shares(sizes, 0.5)
    ratio = (sizes["sw"] / sizes["en"]) ** 0.5
    assert shares["sw"] / shares["en"] == pytest.approx(ratio)
    drawn = list(_sample(files, sizes, {language: 10_000 * share for language, share in shares.items()}))
    swahili = sum(len(line) for line in drawn if line.startswith("nyuki"))
    assert swahili == pytest.approx(10_000 * shares["sw"], abs=21)
    assert sum(map(len, drawn)) == pytest.approx(10_000, abs=40)


def test_the_same_text_gives_the_same_sample(tmp_path: Path) -> None:
    """The vocabulary learned from it is not the same to the bit: the library counts in random order."""
    files = two_languages(tmp_path)
    sizes = language_sizes(files)
    first, second = (list(_sample(files, sizes, {"en": 3_000, "sw": 2_000})) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("size", [-1, 100, 256, 263, 270])
def test_a_size_without_room_is_refused(tmp_path: Path, size: int) -> None:
    with pytest.raises(ValueError, match="too small"):
        train_subwords(two_languages(tmp_path), size, characters=5_000)


def test_malformed_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "en.txt"
    path.write_bytes(b"fine\n\xff\n")
    with pytest.raises(CorpusError, match=r"en\.txt, line 2: not UTF-8"):
        train_subwords([TextFile(path, ("en",))], 400)


@given(st.lists(st.integers(), max_size=40), st.integers(1, 12))
def test_parts_have_similar_length_and_lose_nothing(ids: list[int], room: int) -> None:
    parts = cut_evenly(ids, room)
    assert [one for part in parts for one in part] == ids
    assert all(len(part) <= room for part in parts)
    assert len(parts) == max(1, -(-len(ids) // room))
