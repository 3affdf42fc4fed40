"""The real pair: multilingual-e5-small and SmolLM2-135M from their packages."""

from __future__ import annotations

import pytest
import torch

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.padding import pad_rows
from dragoman.backbone.pretrained import packages, smollm2
from dragoman.backbone.pretrained.llm import LanguageModel, load_llm
from dragoman.reasoning.layalign.model import EncoderStates, LayAlign, LayAlignConfig, Prompt

pytestmark = pytest.mark.slow

TEXTS = ["Was ist die Hauptstadt von Frankreich?", "Nyuki wanatengeneza asali.", "ผึ้งทำน้ำผึ้ง"]


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return load_llm(smollm2.NAME, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("e5-small")


def reading(encoder: Encoder, texts: list[str]) -> EncoderStates:
    rows = [encoder.frame(one.ids) for one in encoder.subwords(texts)]
    ids, mask = pad_rows(rows, torch.device("cpu"), encoder.pad)
    with torch.inference_mode():
        return EncoderStates(torch.stack(encoder(ids, mask)), mask)


def test_the_llm_of_the_package_answers_in_english(llm: LanguageModel) -> None:
    ids = torch.tensor([llm.ids(llm.before + "What is the capital of France?" + llm.after)])
    found = llm.model.generate(ids, max_new_tokens=12, do_sample=False, pad_token_id=2)
    assert llm.text(found[0, ids.shape[1] :].tolist()) == "The capital of France is Paris."
    assert llm.before.endswith("<|im_start|>user\n") and llm.after == "<|im_end|>\n<|im_start|>assistant\n"
    assert [llm.text([one]) for one in llm.ids("2026 bees")] == ["2", "0", "2", "6", " bees"]
    assert llm.checksum == packages.SMOLLM2.sha256


def test_with_gates_at_0_the_pair_generates_what_the_llm_with_the_soft_prompt_does(
    llm: LanguageModel, encoder: Encoder
) -> None:
    torch.manual_seed(1)
    model = LayAlign(llm, encoder.width, encoder.layers, LayAlignConfig())
    prompt = Prompt(llm.ids(llm.before), llm.ids(llm.after))
    found = reading(encoder, TEXTS)
    embed = llm.model.get_input_embeddings()
    together = model.generate(found, [prompt] * len(TEXTS), max_new_tokens=6)
    for number, text in enumerate(TEXTS):
        alone = reading(encoder, [text])
        with torch.inference_mode():
            soft = model.bridge.soft_prompt(alone)[0]
            parts = [embed(torch.tensor(prompt.before)), soft, model.bridge.separator[None]]
            row = torch.cat([*parts, embed(torch.tensor(prompt.after))])[None]
            made = llm.model.generate(inputs_embeds=row, max_new_tokens=6, do_sample=False, pad_token_id=2)
        ids = made[0].tolist()
        expected = ids[: ids.index(2)] if 2 in ids else ids
        assert model.generate(alone, [prompt], max_new_tokens=6) == [expected]
        assert together[number] == expected
    with torch.no_grad():
        model.bridge.gates.fill_(1.0)
    assert model.generate(found, [prompt] * len(TEXTS), max_new_tokens=6) != together
