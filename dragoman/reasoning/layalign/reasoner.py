"""A trained bridge at work: a question becomes a stream of the decoder, and its tokens become text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.backbone.constraints.phrases import Phrase, Vocabulary
from dragoman.backbone.constraints.steering import Steering
from dragoman.backbone.pretrained.llm import LanguageModel
from dragoman.reasoning.layalign.bridges import load_bridge
from dragoman.reasoning.layalign.decoding import Decoder, Stream
from dragoman.reasoning.layalign.model import Prompt
from dragoman.reasoning.layalign.reach import reach

TEXT = "{text}"


def prompt_of(llm: LanguageModel, before: str, after: str, text: str, answer: str | None = None) -> Prompt:
    """The LLM's tokens around a soft prompt, within its chat; `{text}` in `after` is the text.

    Names of special tokens in the text are plain text, so that it cannot end the user's message.
    """
    first, placeholder, last = after.partition(TEXT)
    follows = [*llm.ids(first), *(llm.plain_ids(text) if placeholder else []), *llm.ids(last + llm.after)]
    answer_ids = () if answer is None else [*llm.plain_ids(answer), *llm.ends[:1]]
    ids = llm.ids(llm.before + before)
    bos = [] if llm.bos is None or ids[:1] == [llm.bos] else [llm.bos]
    return Prompt([*bos, *ids], follows, answer_ids)


class Reasoner:
    """A bridge with its encoder and LLM. One thread may decode while any others prepare questions.

    Raises:
        CheckpointError: the bridge cannot be loaded.
    """

    def __init__(self, folder: Path, cache: Path, device: str = "cpu") -> None:
        self.model, self.encoder, about = load_bridge(folder, cache, device)
        self.decoder = Decoder(self.model, self.encoder)
        self.bridge = True
        self.name = str(about.get("name", folder.name))
        self.limits = str(about.get("limits", ""))
        self.languages = frozenset(map(str, about.get("languages", [])))
        self.quality = {str(language): float(share) for language, share in about.get("quality", {}).items()}
        self.measured_on = str(about.get("measured_on", ""))
        llm = self.model.llm
        tokens = range(llm.tokenizer.get_vocab_size())
        self._vocabulary = Vocabulary(llm.plain_ids, llm.text, lambda: [llm.text([token]) for token in tokens])
        self._before, self._after = str(about.get("before", "")), str(about.get("after", ""))

    @property
    def context(self) -> int:
        """The most tokens of a question, documents and answer together."""
        return int(self.model.llm.model.config.max_position_embeddings)

    def stream(
        self,
        question: str,
        quoted: str,
        limit: int,
        temperature: float,
        seed: int,
        phrases: Sequence[Phrase] | None = None,
    ) -> Stream:
        """A stream that answers a question, with text that is quoted below it.

        With ``phrases`` it is led to these, and has no other numbers in digits.

        Raises:
            ValueError: the question is too long for the encoder, or all of it together for the LLM.
        """
        ids = self.encoder.subwords([question])[0].ids
        if len(ids) > self.encoder.room:
            raise ValueError(f"{len(ids)} subwords; at most {self.encoder.room} can be read")
        prompt = prompt_of(self.model.llm, self._before, self._after, question)
        prompt = Prompt(prompt.before, [*self.model.llm.plain_ids(quoted), *prompt.after])
        stream = Stream(self.encoder.frame(ids), prompt, limit, temperature, seed)
        if phrases is not None:
            stream.steering = Steering(self._vocabulary, phrases, numbers=True)
        self.check_length(stream)
        return stream

    def check_length(self, stream: Stream) -> None:
        """
        Raises:
            ValueError: a stream is too long for the LLM.
        """
        if stream.size + stream.limit > self.context:
            asked = f"{stream.size} tokens with what is quoted, and {stream.limit} to answer"
            raise ValueError(f"{asked}; {self.context} in all")

    def window(self, text: str, start: int, tokens: int) -> tuple[int, int]:
        """The span of a text that has at most so many tokens: all, or from `start` on, or the text's last ones."""
        first, last = (0, len(text)) if len(text) <= reach(tokens) else (max(0, start - reach(tokens)), len(text))
        part = text[first : min(last, start + reach(tokens))]
        offsets = self.model.llm.tokenizer.encode(part, add_special_tokens=False).offsets
        if len(offsets) <= tokens:
            return first, first + len(part)
        begin = next((index for index, span in enumerate(offsets) if span[0] >= start - first), 0)
        begin = min(begin, len(offsets) - tokens)
        end = begin + tokens
        return first + offsets[begin][0], first + (offsets[end][0] if end < len(offsets) else len(part))

    def text(self, tokens: Sequence[int]) -> str:
        """The text of an answer's tokens."""
        return self.model.llm.text(tokens)
