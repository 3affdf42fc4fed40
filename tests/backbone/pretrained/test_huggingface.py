"""Hugging Face checkpoints behind our interface, and XLM-R's weights as the start of a VECO model."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from threading import Event, Thread

import pytest
import torch
from transformers import (
    AutoTokenizer,
    PreTrainedTokenizerFast,
    XLMRobertaForMaskedLM,
)

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.pretrained import huggingface
from dragoman.backbone.pretrained.huggingface import from_xlm_roberta
from dragoman.backbone.sentences import SentenceEncoder
from tests.backbone.pretrained.hub_samples import write_checkpoints
from tests.backbone.samples import raw_lines

TEXTS = ["die Biene  findet Honig", "salt", "the volcano  sees grey ash"]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_checkpoints(tmp_path_factory.mktemp("hub"))


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
def test_pairs_are_framed_as_the_tokenizer_does(checkpoints: dict[str, Path], name: str) -> None:
    encoder = load_encoder(str(checkpoints[name]))
    first, second = (one.ids for one in encoder.subwords(TEXTS[:2]))
    pair = encoder.pair(first, second)
    known = PreTrainedTokenizerFast.from_pretrained(checkpoints[name])(*TEXTS[:2], return_token_type_ids=True)
    assert pair.ids == known["input_ids"]
    assert pair.segments == (known["token_type_ids"] if name == "bert" else None)
    assert pair.positions is None
    assert pair.ids[pair.first : pair.first + len(first)] == first
    assert pair.ids[pair.second : pair.second + len(second)] == second


@pytest.mark.parametrize("name", ["bert", "xlm-roberta"])
def test_the_length_is_what_the_positions_allow(checkpoints: dict[str, Path], name: str) -> None:
    encoder = load_encoder(str(checkpoints[name]))
    assert encoder.max_length == 40
    ids, mask = encoder.batch([[7] * encoder.room])
    assert ids.shape == (1, 40)
    with torch.no_grad():
        encoder(ids, mask)


@pytest.mark.parametrize("name", ["bert", "xlm-roberta", "mt5-encoder"])
def test_special_tokens_that_a_text_spells_are_characters(checkpoints: dict[str, Path], name: str) -> None:
    """The checksum stays that of the tokenizer as it was saved: it tells whether a trained model fits."""
    known = AutoTokenizer.from_pretrained(checkpoints[name])
    encoder = load_encoder(str(checkpoints[name]))
    assert encoder.tokenizer_checksum == sha256(known.backend_tokenizer.to_str().encode()).hexdigest()
    special = set(known.all_special_ids) - {known.unk_token_id}
    for text in ["</s>", "a</s>b", "<s>", "<pad>", "<mask>", "＜mask＞", "<s><s>", "<<pad>", "bee </s>"]:
        (found,) = encoder.subwords([text])
        assert not set(found.ids) & special, text
        covered = {place for start, end in found.offsets for place in range(start, end)}
        assert covered >= {place for place, letter in enumerate(text) if letter != " "}
        assert len(found.words) == len(found.ids)
    (unknown,) = encoder.subwords(["<unk>"])
    assert (0, 5) not in unknown.offsets


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


@torch.no_grad()
def test_what_one_pass_adds_is_in_no_other_pass(checkpoints: dict[str, Path]) -> None:
    """A pass stops in its first layer, while others that add something else or nothing run on another thread."""
    encoder = load_encoder(str(checkpoints["bert"]))
    ids = torch.tensor([encoder.frame([7, 8, 9])])
    mask = torch.ones_like(ids, dtype=torch.bool)
    alone = encoder(ids, mask)[-1]
    tenfold = encoder(ids, mask, added={0: lambda x: x * 9})[-1]
    doubled = encoder(ids, mask, added={1: lambda x: x})[-1]
    inner: list[torch.Tensor] = []
    begun = Event()

    @torch.no_grad()
    def run_others() -> None:
        inner.extend(encoder(ids, mask, added=added)[-1] for added in ({1: lambda x: x}, None))

    def add_after_others(x: torch.Tensor) -> torch.Tensor:
        if not begun.is_set():
            begun.set()
            thread = Thread(target=run_others)
            thread.start()
            thread.join()
            run_others()
        return x * 9

    outer = encoder(ids, mask, added={0: add_after_others})[-1]
    torch.testing.assert_close(outer, tenfold)
    for states, expected in zip(inner, (doubled, alone) * 2, strict=True):
        torch.testing.assert_close(states, expected)


def test_a_checkpoint_of_the_hub_is_known_by_its_weights(
    checkpoints: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As what a name stands for can change; a folder's files are compared by whoever needs it."""
    load = huggingface.load_hugging_face_encoder
    checksums = []
    for name in ("bert", "bert", "xlm-roberta"):
        path = str(checkpoints[name])
        monkeypatch.setattr(huggingface, "load_hugging_face_encoder", lambda _, path=path: load(path))
        checksums.append(load_encoder("team/encoder").checksum)
    assert checksums[0] is not None
    assert checksums[0] == checksums[1] != checksums[2]
    assert load_encoder(path).checksum is None
