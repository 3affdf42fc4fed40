"""Translation by Hugging Face sequence-to-sequence checkpoints that declare their languages.

These are models whose decoder starts from a language token (mBART, NLLB, M2M100), Marian of one pair, and T5: its
config has a prefix for each pair (`task_specific_params.translation_en_to_de`), or its vocabulary one for each target,
as that of MADLAD has (`<2de>`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import regex
import torch
from torch import Tensor

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.constraints.phrases import Phrase, Vocabulary
from dragoman.backbone.constraints.steering import Steering
from dragoman.backbone.pretrained.huggingface import first_line, load_config_and_tokenizer, load_pretrained
from dragoman.backbone.translator import Translation, Translator, UnsupportedPair

ROWS_PER_BATCH = 16
DRAFTS = 3
"""Beams whose translations are kept."""
MAX_NEW_TOKENS = 256  # stops models that repeat themselves endlessly
LANGUAGE_TOKEN = regex.compile(r"(?:__)?([a-z]{2,3})(?:_[A-Z][A-Za-z]{1,3})?(?:__)?")  # de_DE, deu_Latn, __de__
TARGET = regex.compile(r"<2([a-z]{2})>")
TASK = regex.compile(r"translation_([a-z]{2,3})_to_([a-z]{2,3})")
LONG_CODES = {
    "afr": "af", "als": "sq", "amh": "am", "arb": "ar", "asm": "as", "azj": "az", "bak": "ba", "bel": "be",
    "ben": "bn", "bod": "bo", "bos": "bs", "bul": "bg", "cat": "ca", "ces": "cs", "cym": "cy", "dan": "da",
    "deu": "de", "dzo": "dz", "ell": "el", "eng": "en", "epo": "eo", "est": "et", "eus": "eu", "ewe": "ee",
    "fao": "fo", "fij": "fj", "fin": "fi", "fra": "fr", "gla": "gd", "gle": "ga", "glg": "gl", "grn": "gn",
    "guj": "gu", "hat": "ht", "hau": "ha", "heb": "he", "hin": "hi", "hrv": "hr", "hun": "hu", "hye": "hy",
    "ibo": "ig", "ind": "id", "isl": "is", "ita": "it", "jav": "jv", "jpn": "ja", "kan": "kn", "kas": "ks",
    "kat": "ka", "kaz": "kk", "khk": "mn", "khm": "km", "kik": "ki", "kin": "rw", "kir": "ky", "kmr": "ku",
    "kor": "ko", "lao": "lo", "lim": "li", "lin": "ln", "lit": "lt", "ltz": "lb", "lug": "lg", "lvs": "lv",
    "mal": "ml", "mar": "mr", "mkd": "mk", "mlt": "mt", "mri": "mi", "mya": "my", "nld": "nl", "nno": "nn",
    "nob": "nb", "npi": "ne", "nya": "ny", "oci": "oc", "ory": "or", "pan": "pa", "pbt": "ps", "pes": "fa",
    "plt": "mg", "pol": "pl", "por": "pt", "ron": "ro", "run": "rn", "rus": "ru", "sag": "sg", "san": "sa",
    "sin": "si", "slk": "sk", "slv": "sl", "smo": "sm", "sna": "sn", "snd": "sd", "som": "so", "sot": "st",
    "spa": "es", "srd": "sc", "srp": "sr", "ssw": "ss", "sun": "su", "swe": "sv", "swh": "sw", "tam": "ta",
    "tat": "tt", "tel": "te", "tgk": "tg", "tgl": "tl", "tha": "th", "tir": "ti", "tsn": "tn", "tso": "ts",
    "tuk": "tk", "tur": "tr", "twi": "tw", "uig": "ug", "ukr": "uk", "urd": "ur", "uzn": "uz", "vie": "vi",
    "wol": "wo", "xho": "xh", "ydd": "yi", "yor": "yo", "zho": "zh", "zsm": "ms", "zul": "zu",
}  # fmt: skip


class Tasks(NamedTuple):
    """How a model is told what to translate into what: one of these."""

    starts: Mapping[str, str] = {}
    """Languages and their start tokens."""
    prefixes: Mapping[tuple[str, str], str] = {}
    """Pairs of languages and what stands before a text."""
    targets: Mapping[str, str] = {}
    """Target languages and what stands before a text."""

    @property
    def languages(self) -> frozenset[str]:
        """All languages."""
        return frozenset((*self.starts, *self.targets, *(language for pair in self.prefixes for language in pair)))


class HuggingFaceTranslator(Translator):
    """A sequence-to-sequence model of transformers."""

    def __init__(self, model: Any, tokenizer: Any, name: str, tasks: Tasks) -> None:
        self.model, self.tokenizer, self.name = model, tokenizer, name
        self._starts, self._prefixes, self._targets = tasks
        self.languages = tasks.languages

    def check(self, source: str, target: str) -> None:
        super().check(source, target)
        if self._prefixes and (source, target) not in self._prefixes:
            pairs = ", ".join(f"{first} to {other}" for first, other in sorted(self._prefixes))
            raise UnsupportedPair(f"{self.name} does not translate {source!r} to {target!r}; it translates {pairs}")

    def translate(
        self, texts: Sequence[str], source: str, target: str, *, beam: int = 5, phrases: Sequence[Sequence[Phrase]] = ()
    ) -> list[Translation]:
        self.check(source, target)
        count = min(beam, DRAFTS)
        options: dict[str, Any] = {
            "num_beams": beam, "num_return_sequences": count, "max_length": None, "do_sample": False,
        }  # fmt: skip
        prefix = self._prefixes.get((source, target), self._targets.get(target, ""))
        if self._starts:
            self.tokenizer.src_lang = self._starts[source].strip("_")  # M2M100 has the code there
            options["forced_bos_token_id"] = self.tokenizer.convert_tokens_to_ids(self._starts[target])
        translations: list[Translation] = []
        for first in range(0, len(texts), ROWS_PER_BATCH):
            rows = [prefix + text for text in texts[first : first + ROWS_PER_BATCH]]
            batch = self.tokenizer(rows, return_tensors="pt", padding=True, verbose=False).to(self.model.device)
            self._check_length(batch["attention_mask"].sum(1).tolist(), first)
            led = phrases[first : first + ROWS_PER_BATCH]
            if any(led):
                options["logits_processor"] = [self._lead(led, beam, options.get("forced_bos_token_id") is not None)]
            with torch.inference_mode():
                ids = self.model.generate(**batch, max_new_tokens=MAX_NEW_TOKENS, **options)
            ended = (ids[:, 1:] == self.tokenizer.eos_token_id).any(1).tolist()
            written = self.tokenizer.batch_decode(ids, skip_special_tokens=True)
            for row in range(0, len(written), count):
                best, *others = zip((text.strip() for text in written[row : row + count]), ended[row:], strict=False)
                translations.append(Translation(*best, tuple(text for text, whole in others if whole)))
        return translations

    def _lead(self, phrases: Sequence[Sequence[Phrase]], beam: int, named: bool) -> Callable[[Tensor, Tensor], Tensor]:
        """What leads the beams of each text to its phrases; ``named``: the second token is that of the language."""
        steerings = [Steering(self._vocabulary, of_text) if of_text else None for of_text in phrases]
        begin = 2 if named else 1

        def lead(ids: Tensor, scores: Tensor) -> Tensor:
            if ids.shape[1] < begin:
                return scores
            led = scores.clone()
            for row, tokens in enumerate(ids[:, begin:].tolist()):
                if (steering := steerings[row // beam]) is not None:
                    led[row] = steering.lead(tokens, scores[row], (self.tokenizer.eos_token_id,))
            return led

        return lead

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        def encode(text: str) -> list[int]:
            ids: list[int] = self.tokenizer(text_target=text, add_special_tokens=False)["input_ids"]
            return ids

        def pieces() -> list[str]:
            tokens = self.tokenizer.convert_ids_to_tokens(range(self.model.config.vocab_size))
            return ["" if token is None else str(token).replace("\u2581", " ") for token in tokens]

        return Vocabulary(encode, lambda ids: str(self.tokenizer.decode(ids, skip_special_tokens=True)), pieces)

    def _check_length(self, lengths: Sequence[int], first: int) -> None:
        longest = getattr(self.model.config, "max_position_embeddings", None)
        for index, length in enumerate(lengths, start=first):
            if longest is not None and length > longest:
                raise ValueError(f"text {index} has {length} subwords, but {self.name} reads at most {longest}")


def load_hugging_face_translator(name_or_path: str, device: str = "cpu") -> HuggingFaceTranslator:
    """Load a translator by the name or path of its checkpoint.

    Raises:
        CheckpointError: if the checkpoint is missing, has pickled weights, is not a sequence-to-sequence model, or its
            languages are unknown.
    """
    from transformers import AutoModelForSeq2SeqLM

    config, tokenizer = load_config_and_tokenizer(name_or_path, offsets=False)
    if not config.is_encoder_decoder:
        raise CheckpointError(f"{name_or_path}: {config.model_type} is not a sequence-to-sequence model")
    tasks = _tasks(config, tokenizer)
    if not tasks.languages:
        raise CheckpointError(f"{name_or_path}: neither language tokens nor task_specific_params declare its languages")
    try:
        model = load_pretrained(AutoModelForSeq2SeqLM, name_or_path, config).to(device)
    except RuntimeError as error:
        raise CheckpointError(f"{name_or_path}: {first_line(error)}") from error
    return HuggingFaceTranslator(model, tokenizer, name_or_path, tasks)


def _tasks(config: Any, tokenizer: Any) -> Tasks:
    if prefixes := _prefixes(config):
        return Tasks(prefixes=prefixes)
    if config.model_type == "marian":
        languages = [str(getattr(tokenizer, f"{side}_lang", "") or "").lower() for side in ("source", "target")]
        source, target = (LONG_CODES.get(language, language) for language in languages)
        return Tasks(prefixes={(source, target): ""} if source and target else {})
    targets = {pair[1]: f"{token} " for token in tokenizer.get_vocab() if (pair := TARGET.fullmatch(token))}
    return Tasks(targets=targets) if targets else Tasks(starts=_starts(tokenizer))


def _prefixes(config: Any) -> dict[tuple[str, str], str]:
    tasks = getattr(config, "task_specific_params", None) or {}
    prefixes = {}
    for name, task in tasks.items():
        if (pair := TASK.fullmatch(name)) and isinstance(task, dict) and isinstance(task.get("prefix"), str):
            prefixes[pair[1], pair[2]] = task["prefix"]
    return prefixes


def _starts(tokenizer: Any) -> dict[str, str]:
    """ISO 639-1 code to language token; of a language in several scripts the first token."""
    if not hasattr(tokenizer, "src_lang"):
        return {}
    starts: dict[str, str] = {}
    by_code = getattr(tokenizer, "lang_code_to_token", None) or {}
    for token in sorted(map(str, by_code.values() or tokenizer.all_special_tokens)):
        if code := LANGUAGE_TOKEN.fullmatch(token):
            starts.setdefault(LONG_CODES.get(code[1], code[1]), token)
    return starts
