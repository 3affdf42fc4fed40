"""The adapter's beginning with words: links by states, tokens by characters, and what is learned from them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.reasoning.layalign.model import LayAlignConfig
from dragoman.reasoning.layalign.states import stored_states
from dragoman_lab.reasoning.examples import Completion, ExamplesError
from dragoman_lab.reasoning.words import cached_words, learn_words, link_words, links, tokens_of
from tests.ranking.samples import write_encoder
from tests.reasoning.layalign.tiny import WIDTH, joined, llm

CPU = torch.device("cpu")


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 1000))
def test_linked_are_those_that_are_each_other_s_nearest(rows: int, columns: int, seed: int) -> None:
    noise = torch.Generator().manual_seed(seed)
    source, target = torch.randn(rows, 4, generator=noise), torch.randn(columns, 4, generator=noise)
    cosines = [[float(torch.cosine_similarity(one, two, 0)) for two in target] for one in source]
    expected = [
        (i, j)
        for i in range(rows)
        for j in range(columns)
        if cosines[i][j] == max(cosines[i]) == max(row[j] for row in cosines)
    ]
    found = links(source, target)
    assert list(zip(found[0].tolist(), found[1].tolist(), strict=True)) == expected


def test_a_span_means_the_token_at_its_first_character_that_is_no_space() -> None:
    text = "w3 w15  w7"
    assert tokens_of(llm(), text, [(0, 2), (1, 2), (2, 6), (4, 6), (6, 8), (7, 10)]) == [3, 3, 15, 15, 7, 7]


def test_each_subword_of_a_text_that_is_its_own_translation_means_its_own_token(
    tmp_path: Path, subwords: Subwords
) -> None:
    write_encoder(tmp_path / "encoder", subwords, max_length=32)
    encoder, model = load_encoder(str(tmp_path / "encoder")), llm()
    found = [Completion(text, "en", text) for text in ("w3 w5 w8", "w9 w2", "w1 w4 w6")]
    states = stored_states(encoder, [one.text for one in found], tmp_path / "states", CPU)
    inputs, tokens = link_words(encoder, model, found, states, CPU)
    read = encoder.subwords([one.text for one in found])
    own = [tokens_of(model, one.text, each.offsets) for one, each in zip(found, read, strict=True)]
    assert tokens.tolist() == [token for row in own for token in row]
    assert inputs.shape == (len(tokens), encoder.width)
    first = states.read_batch([0], CPU).states[-1, 0, 1 : len(own[0]) + 1]
    torch.testing.assert_close(inputs[: len(own[0])].float(), first)
    lower, _ = link_words(encoder, model, found, states, CPU, soft_layer=1)
    torch.testing.assert_close(
        lower[: len(own[0])].float(), states.read_batch([0], CPU).states[1, 0, 1 : len(own[0]) + 1]
    )
    with pytest.raises(ExamplesError, match="no subword of a text is linked"):
        link_words(encoder, model, [], states, CPU)


def test_linked_words_are_computed_once_for_all_that_share_the_file(tmp_path: Path) -> None:
    calls = []

    def linked() -> tuple[torch.Tensor, torch.Tensor]:
        calls.append(1)
        return torch.randn(3, WIDTH).to(torch.bfloat16), torch.tensor([4, 9, 17])

    first, again = (cached_words(tmp_path / "deep" / "words.safetensors", linked, CPU) for _ in range(2))
    assert len(calls) == 1 and first[0].dtype == torch.bfloat16
    assert torch.equal(first[0], again[0]) and torch.equal(first[1], again[1])


@pytest.mark.parametrize("adapter", ["mlp", "linear"])
def test_the_adapter_alone_learns_the_llm_s_embeddings(adapter: str) -> None:
    model = llm(dtype=torch.float32)
    inputs = torch.randn(5, WIDTH, generator=torch.Generator().manual_seed(2)).to(torch.bfloat16)
    tokens = torch.tensor([4, 9, 17, 30, 39])
    made = [joined(model, LayAlignConfig(adapter), 0.3, torch.float32) for _ in range(2)]
    before = {name: value.clone() for name, value in made[0].bridge.state_dict().items()}
    left = [learn_words(one, inputs, tokens, 5000, 1) for one in made]
    assert left[0] == left[1] < 0.1
    after = made[0].bridge.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {name for name in before if name.startswith("adapter.")}
    given = made[0].bridge.adapter(inputs.float())  # type: ignore[misc]
    assert torch.cdist(given, model.model.get_input_embeddings().weight).argmin(1).tolist() == tokens.tolist()
    with pytest.raises(ValueError, match="no adapter"):
        learn_words(joined(model, LayAlignConfig("none"), dtype=torch.float32), inputs, tokens, 1, 1)
