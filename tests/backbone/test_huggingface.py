"""Hugging Face checkpoints behind our interface, and XLM-R's weights as the start of a VECO model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertModel,
    MT5Config,
    MT5EncoderModel,
    MT5Model,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import load_encoder
from dragoman.backbone.huggingface import from_xlm_roberta
from dragoman.backbone.sentences import SentenceEncoder
from tests.backbone.samples import SENTENCES, raw_lines

SPECIALS = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}
TEXTS = ["die Biene  findet Honig", "salt", "the volcano  sees grey ash"]


def unigram(folder: Path) -> int:
    """A Unigram tokenizer in XLM-R's order, <mask> last; returns the size of its vocabulary."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    lines = [*(side for pair in SENTENCES for side in pair), *raw_lines("sw"), "</s>"]
    first = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(
        lines, trainers.UnigramTrainer(vocab_size=300, special_tokens=first, unk_token="<unk>", show_progress=False)
    )
    tokenizer.add_special_tokens(["<mask>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIALS).save_pretrained(folder)
    return int(tokenizer.get_vocab_size())


SIZES: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny BERT, XLM-R and mT5, the latter also as its encoder alone, with weights that matter."""
    found = {name: tmp_path_factory.mktemp(name) for name in ("bert", "xlm-roberta", "mt5", "mt5-encoder")}
    sizes = {name: unigram(folder) for name, folder in found.items()}
    torch.manual_seed(0)
    size, t5 = sizes["bert"], {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}
    made = {
        "bert": BertModel(BertConfig(vocab_size=size, max_position_embeddings=40, initializer_range=0.2, **SIZES)),
        "xlm-roberta": XLMRobertaForMaskedLM(
            XLMRobertaConfig(vocab_size=size + 3, max_position_embeddings=42, pad_token_id=1, initializer_range=0.2,
                             type_vocab_size=1, **SIZES)
        ),
        "mt5": MT5Model(MT5Config(vocab_size=size, pad_token_id=1, **t5)),
    }  # fmt: skip
    made["mt5-encoder"] = MT5EncoderModel(MT5Config(vocab_size=size, pad_token_id=1, **t5))
    for name, model in made.items():
        model.eval().save_pretrained(found[name])
    return found


@pytest.mark.parametrize("name", ["bert", "xlm-roberta", "mt5", "mt5-encoder"])
def test_hidden_states_are_those_of_transformers(checkpoints: dict[str, Path], name: str) -> None:
    from transformers import AutoModelForTextEncoding, AutoTokenizer

    encoder = load_encoder(str(checkpoints[name]))
    ids, mask = encoder.batch([one.ids for one in encoder.subwords(TEXTS[:2])])
    tokenizer = AutoTokenizer.from_pretrained(checkpoints[name])
    theirs = tokenizer(TEXTS[:2], padding=True, return_tensors="pt")
    assert torch.equal(ids, theirs["input_ids"])
    model = AutoModelForTextEncoding.from_pretrained(checkpoints[name]).eval()
    with torch.no_grad():
        known = model(input_ids=ids, attention_mask=theirs["attention_mask"], output_hidden_states=True).hidden_states
        ours = encoder(ids, mask)
    assert len(ours) == encoder.layers + 1 == 3
    for one, other in zip(ours, known, strict=True):
        torch.testing.assert_close(one[mask], other[mask], rtol=1e-4, atol=1e-4)
    rows = SentenceEncoder(encoder).encode([*TEXTS, " ".join(raw_lines("sw"))])
    assert rows.shape == (4, encoder.width)


@pytest.mark.parametrize("name", ["bert", "xlm-roberta"])
def test_the_length_is_what_the_positions_allow(checkpoints: dict[str, Path], name: str) -> None:
    encoder = load_encoder(str(checkpoints[name]))
    assert encoder.max_length == 40
    ids, mask = encoder.batch([[7] * encoder.room])
    assert ids.shape == (1, 40)
    with torch.no_grad():
        encoder(ids, mask)


def test_offsets_cover_all_but_white_space(checkpoints: dict[str, Path]) -> None:
    encoder = load_encoder(str(checkpoints["xlm-roberta"]))
    for text, encoded in zip(TEXTS, encoder.subwords(TEXTS), strict=True):
        assert "".join(dict.fromkeys(text[a:b] for a, b in encoded.offsets if " " in text[a:b])) == ""
        covered = {place for a, b in encoded.offsets for place in range(a, b)}
        assert covered == {place for place, character in enumerate(text) if not character.isspace()}


def test_a_model_from_xlm_roberta_gives_its_states_and_predictions(checkpoints: dict[str, Path]) -> None:
    folder = checkpoints["xlm-roberta"]
    theirs = XLMRobertaForMaskedLM.from_pretrained(folder).eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    ours, subwords, random = from_xlm_roberta(str(folder))
    assert random == [name for name, _ in ours.named_parameters() if ".cross" in name]
    ours.eval()
    order = {subwords.piece(number): number for number in range(len(subwords))}
    for text in ["die Biene findet Honig", "salt", raw_lines("sw")[0][:60]]:
        known = tokenizer(text, return_tensors="pt")["input_ids"]
        ids = torch.tensor([[1, *subwords.ids([text])[0], 2]])
        pieces = tokenizer.convert_ids_to_tokens(known[0].tolist())
        assert [subwords.piece(one) for one in ids[0].tolist()] == pieces
        with torch.no_grad():
            out = theirs(input_ids=known, output_hidden_states=True)
            states = ours.encode(ids, torch.ones_like(ids, dtype=torch.bool))
            logits = ours.predict(states[-1])
        for one, other in zip(states, out.hidden_states, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
        vocabulary = tokenizer.get_vocab()
        rows = [(order[piece], number) for piece, number in vocabulary.items() if piece in order]
        assert len(rows) == len(vocabulary)
        mine, yours = (torch.tensor(part) for part in zip(*rows, strict=True))
        torch.testing.assert_close(logits[..., mine], out.logits[..., yours], rtol=1e-4, atol=1e-4)


def test_other_architectures_are_refused(checkpoints: dict[str, Path]) -> None:
    with pytest.raises(CheckpointError, match="'bert', not xlm-roberta"):
        from_xlm_roberta(str(checkpoints["bert"]))
