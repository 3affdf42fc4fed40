"""Translators of our own and of Hugging Face behind one interface."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from dragoman.backbone.checkpoints import CheckpointError, save_veco
from dragoman.backbone.loading import load_translator
from dragoman.backbone.seq2seq import Seq2Seq
from dragoman.backbone.tokenizer import EOS, Subwords
from dragoman.backbone.translator import UnsupportedPair, VecoTranslator
from tests.backbone.samples import SENTENCES, raw_lines, tiny
from tests.support.backbones import tiny_t5


@pytest.fixture(scope="module")
def ours(subwords: Subwords) -> VecoTranslator:
    return VecoTranslator(Seq2Seq(tiny(len(subwords)), 1).eval(), subwords, "ours", ["de", "en", "sw"])


def test_texts_are_translated_independently(ours: VecoTranslator) -> None:
    texts = ["the bee finds honey", "", raw_lines("sw")[0] * 3, "salt", " "]
    together = ours.translate(texts, "en", "de", beam=2)
    assert together == [ours.translate([text], "en", "de", beam=2)[0] for text in texts]
    assert [bool(one.text) for one in together] == [True, False, True, True, False]
    assert ours.translate([], "en", "de") == []
    assert ours.translate(texts[:1], "en", "sw", beam=2) != together[:1]
    assert not any(token in one.text for one in together for token in ("<to:", "<mask>", "<s>"))


def test_a_translation_without_an_end_is_reported_as_cut(subwords: Subwords) -> None:
    model = Seq2Seq(tiny(len(subwords)), 1).eval()
    translator = VecoTranslator(model, subwords, "ours", ["de", "en"])
    for bias, whole in ((-50.0, False), (50.0, True)):
        with torch.no_grad():
            model.encoder.prediction_bias[EOS] = bias
        assert [one.whole for one in translator.translate(["salt", "", "the bee " * 20], "en", "de")] == [
            whole,
            True,
            whole,
        ]


def test_unknown_languages_are_refused(ours: VecoTranslator) -> None:
    for source, target in (("en", "xx"), ("xx", "en")):
        with pytest.raises(UnsupportedPair, match="ours does not support the language 'xx', only de, en, sw"):
            ours.translate(["salt"], source, target)


def test_t5_translates_the_pairs_of_its_prefixes(tmp_path: Path) -> None:
    translator = load_translator(str(tiny_t5(tmp_path / "t5")))
    assert translator.languages == {"en", "de"}
    assert len(translator.translate(["Ships at anchor.", "A bee"], "en", "de", beam=2)) == 2
    with pytest.raises(UnsupportedPair, match="it translates en to de"):
        translator.translate(["Schiffe"], "de", "en")


def tiny_m2m(folder: Path) -> Path:
    """An NLLB-like model: a language's token goes before the source and starts the target."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration, NllbTokenizer

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    lines = [side for pair in SENTENCES for side in pair]
    backend.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=200, special_tokens=special))
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    form = json.loads(backend.to_str())["model"]
    merges = [tuple(merge) for merge in form["merges"]]
    tokenizer = NllbTokenizer(
        vocab=form["vocab"], merges=merges, extra_special_tokens=["deu_Latn", "eng_Latn", "mar_Deva", "zsm_Latn"]
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = M2M100Config(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=24,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip
    M2M100ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def test_a_model_with_language_tokens_translates(tmp_path: Path) -> None:
    translator = load_translator(str(tiny_m2m(tmp_path / "nllb")))
    assert {"de", "en", "mr", "ms"} <= translator.languages
    found = translator.translate(["the bee finds honey", "salt"], "en", "de", beam=2)
    assert len(found) == 2
    with pytest.raises(UnsupportedPair, match="'xx'"):
        translator.translate(["salt"], "en", "xx")
    with pytest.raises(ValueError, match=r"text 1 has \d+ subwords"):
        translator.translate(["salt", "ash " * 90], "en", "de")


def test_a_backbone_is_no_translator(tmp_path: Path, subwords: Subwords) -> None:
    save_veco(tmp_path / "model", tiny(len(subwords)), subwords)
    with pytest.raises(CheckpointError, match="a backbone does not translate"):
        load_translator(str(tmp_path / "model"))
