"""A beginning for an adapter that costs no pass through the LLM: subwords learn the embeddings of the words they mean.

The encoder's own states link the subwords of a text to those of its English translation (SimAlign's `argmax`, Jalili
Sabet et al. 2020), and the characters of the translation link these to the LLM's tokens. So the soft prompt begins as a
gloss in the words of the LLM, and the training through the LLM is left with what a gloss is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional as F

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.pretrained.llm import LanguageModel
from dragoman.backbone.products import autocast
from dragoman.files.atomic import atomic_file
from dragoman.reasoning.layalign.model import LayAlign
from dragoman.reasoning.layalign.states import States, read_texts
from dragoman_lab.reasoning.examples import Completion, ExamplesError

SUBWORDS = 2_048
"""Of a step."""
LEARNING_RATE = 1e-3
TEXTS_AT_ONCE = 64
TEXTS = 40_000
"""The most texts, taken evenly from all, that words are learned from."""


def links(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of `source` (n, width) and `target` (m, width) that are each other's nearest by cosine; two of (links,)."""
    cosines = F.normalize(source, dim=-1) @ F.normalize(target, dim=-1).T
    nearest = cosines.argmax(1)
    rows = torch.arange(len(source), device=source.device)
    mutual = cosines.argmax(0)[nearest] == rows
    return rows[mutual], nearest[mutual]


def tokens_of(llm: LanguageModel, text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """The LLM's token at the first character, but for spaces, of each span of a text."""
    encoded = llm.plain.encode(text, add_special_tokens=False)
    ends = np.array([end for _, end in encoded.offsets])
    firsts = [start + _spaces(text[start:end]) for start, end in spans]
    places = np.searchsorted(ends, firsts, "right").clip(max=len(ends) - 1)
    return [int(encoded.ids[place]) for place in places]


def _spaces(text: str) -> int:
    return len(text) - len(text.lstrip())


@torch.inference_mode()
def link_words(
    encoder: Encoder,
    llm: LanguageModel,
    completions: Sequence[Completion],
    states: States,
    device: torch.device,
    soft_layer: int = -1,
) -> tuple[Tensor, Tensor]:
    """States of `soft_layer` (N, width), in bfloat16, of subwords that are linked, and the LLM's tokens (N,) they mean.

    Links are by a layer at two thirds of the encoder's height, whose states say most of what a word means.

    Raises:
        ExamplesError: no subword of any text is linked to one of its answer.
    """
    layer = 2 * encoder.layers // 3
    inputs: list[Tensor] = []
    tokens: list[int] = []
    taken = range(0, len(completions), -(-len(completions) // TEXTS) or 1)
    for begin in range(0, len(taken), TEXTS_AT_ONCE):
        places = taken[begin : begin + TEXTS_AT_ONCE]
        group = [completions[place] for place in places]
        answers = encoder.subwords([completion.answer for completion in group])
        with autocast(device.type):
            english = read_texts(encoder, [encoder.frame(encoded.ids) for encoded in answers], device)
            read = states.read_batch(places, device)
        means = [texts.states[layer][texts.mask].float().mean(0) for texts in (read, english)]
        for index, (completion, answer) in enumerate(zip(group, answers, strict=True)):
            size, last = int(read.mask[index].sum()), len(answer.ids) + 1
            if size < 3 or last < 2:
                continue
            subwords = read.states[layer, index, 1 : size - 1].float() - means[0]
            source, target = links(subwords, english.states[layer, index, 1:last].float() - means[1])
            meant = tokens_of(llm, completion.answer, answer.offsets)
            inputs.append(read.states[soft_layer, index, 1 + source].to(torch.bfloat16))
            tokens.extend(meant[place] for place in target.tolist())
    if not tokens:
        raise ExamplesError("word_steps: no subword of a text is linked to one of its answer")
    return torch.cat(inputs), torch.tensor(tokens, device=device)


def cached_words(
    path: Path | None, linked: Callable[[], tuple[Tensor, Tensor]], device: torch.device
) -> tuple[Tensor, Tensor]:
    """What `linked` gives, computed once for all trainings that share the file; each time where there is none."""
    if path is None:
        return linked()
    if not path.exists():
        inputs, tokens = linked()
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as unfinished:
            save_file({"inputs": inputs.cpu(), "tokens": tokens.cpu()}, unfinished)
    words = load_file(path, device=str(device))
    return words["inputs"], words["tokens"]


def learn_words(model: LayAlign, inputs: Tensor, tokens: Tensor, steps: int, seed: int) -> float:
    """Train the adapter alone to give the LLM's embeddings of `tokens` (N,) for states `inputs` (N, width).

    Returns:
        The share of the embeddings' variance that was left unexplained at the end, over the last tenth of the steps.
    """
    adapter = model.bridge.adapter
    if adapter is None:
        raise ValueError("word_steps: there is no adapter to train")
    embeddings = model.llm.model.get_input_embeddings().weight.detach().float()
    spread = embeddings[tokens].var(0).sum().clamp(min=1e-12)
    noise = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(adapter.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps, LEARNING_RATE / 10)
    unexplained = []
    for _ in range(steps):
        chosen = torch.randint(len(tokens), (min(SUBWORDS, len(tokens)),), generator=noise).to(tokens.device)
        predicted = adapter(inputs[chosen].float())
        loss = (predicted - embeddings[tokens[chosen]]).square().sum(-1).mean() / spread
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        unexplained.append(float(loss.detach()))
    return float(np.mean(unexplained[-max(1, steps // 10) :]))
