"""An LLM without a bridge: it reads questions by itself, as messages of its chat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.constraints.phrases import Phrase
from dragoman.backbone.pretrained.llm import load_llm
from dragoman.reasoning.layalign.decoding import Decoder, Stream
from dragoman.reasoning.layalign.model import LayAlign, LayAlignConfig, Prompt
from dragoman.reasoning.layalign.reasoner import Reasoner


class _NoEncoder:
    """Stands where a bridge has its encoder, and reads nothing."""

    pad = 0

    def __call__(self, ids: Tensor, mask: Tensor) -> list[Tensor]:
        return [torch.zeros(*ids.shape, 1, device=ids.device)]


class PlainReasoner(Reasoner):
    """An LLM, by its name or folder. One thread may decode while any others prepare questions.

    Raises:
        CheckpointError: the LLM cannot be loaded, or its layers are not as those of Llama and Qwen.
    """

    def __init__(self, name_or_path: str, cache: Path, device: str = "cpu") -> None:
        dtype = torch.float32 if torch.device(device).type == "cpu" else torch.bfloat16
        llm = load_llm(name_or_path, cache, dtype=dtype)
        llm.model.to(device)
        try:
            self.model = LayAlign(llm, 1, 0, LayAlignConfig(adapter="none", fusion="none")).to(device).eval()
        except (AttributeError, ValueError) as fault:  # a model of another kind, such as one of pictures as well
            raise CheckpointError(f"{name_or_path}: is no LLM that can be used: {fault}") from fault
        self.decoder = Decoder(self.model, _NoEncoder())
        self.bridge, self.name = False, name_or_path
        self.limits, self.languages = "", frozenset()

    @property
    def context(self) -> int:
        """The most tokens of a question, documents and answer together: no more than all layers attend to."""
        window = getattr(self.model.llm.model.config, "sliding_window", None)
        return super().context if window is None else min(super().context, int(window) - 1)

    def stream(
        self,
        question: str,
        quoted: str,
        limit: int,
        temperature: float,
        seed: int,
        phrases: Sequence[Phrase] | None = None,
    ) -> Stream:
        """A stream that answers a question, with text that is quoted below it; it cannot be led to phrases.

        Raises:
            ValueError: all of it together is too long for the LLM.
        """
        llm = self.model.llm
        before, after = llm.chat
        bos = [llm.bos] if llm.bos is not None and not before else []  # a template has it, or is to be without it
        ids = [*bos, *llm.ids(before), *llm.plain_ids(question + quoted), *llm.ids(after)]
        stream = Stream((), Prompt(ids), limit, temperature, seed)
        self.check_length(stream)
        return stream
