"""Evaluation tasks of backbones: sentence retrieval, part-of-speech tagging from English, translation.

    python -m dragoman_lab.benchmarks.backbone.tasks --data DATA --encoder small --translator FOLDER --output runs/tasks

Measures a backbone and a translator on FLORES-200 devtest (not used in training) and on Universal Dependencies, and
writes `tasks.json` and `tasks.md`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sacrebleu
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder, load_translator
from dragoman.backbone.padding import pad_rows
from dragoman.backbone.products import autocast
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.backbone.seq2seq import translation_loss
from dragoman.backbone.tokenizer import BOS, EOS
from dragoman.backbone.translator import Translator, VecoTranslator
from dragoman_lab.backbone.small import SMALL

POS_LANGUAGES = ("es", "fr", "pt", "ru", "de")
CHARACTER_LEVEL = {"zh": "zh", "ja": "char", "th": "char"}
"""sacrebleu's tokenisation of languages without spaces; others use its default, 13a."""


def flores(data_folder: Path, language: str) -> list[str]:
    """The 1,012 sentences of FLORES-200 devtest, parallel across languages."""
    with gzip.open(data_folder / "flores200" / f"{language}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def retrieval(
    encoder: Encoder, data_folder: Path, languages: Sequence[str], layer: int | None = None
) -> dict[str, float]:
    """Accuracy in percent of retrieving a sentence's translation by inner product, `en-xx` and `xx-en`."""
    sentences = SentenceEncoder(encoder, layer)
    english, accuracies = sentences.encode(flores(data_folder, "en")), {}
    for language in languages:
        scores = english @ sentences.encode(flores(data_folder, language)).T
        right = np.arange(len(scores))
        accuracies[f"en-{language}"] = float((scores.argmax(1) == right).mean() * 100)
        accuracies[f"{language}-en"] = float((scores.argmax(0) == right).mean() * 100)
    return accuracies


@dataclass(frozen=True)
class Tagged:
    """A sentence's subwords, the position of the first subword of each word, and the tag ids of the words."""

    ids: list[int]
    firsts: list[int]
    tags: list[int]


def read_tagged(encoder: Encoder, path: Path, tags: dict[str, int]) -> list[Tagged]:
    """The sentences of a CoNLL-U file that fit into the encoder; new tags are added to `tags`."""
    done = []
    for words, labels in _conllu(path):
        parts = [part.ids for part in encoder.subwords(words)]
        firsts = np.cumsum([0, *map(len, parts)])[:-1]
        ids = [subword for part in parts for subword in part]
        positions = [position for position, part in enumerate(parts) if part]
        if len(ids) <= encoder.room:
            tag_ids = [tags.setdefault(labels[position], len(tags)) for position in positions]
            done.append(Tagged(ids, [int(firsts[position]) for position in positions], tag_ids))
    return done


def _conllu(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    words: list[str] = []
    labels: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if len(fields) > 3 and fields[0].isdigit():
                words.append(fields[1])
                labels.append(fields[3])
            elif not line.strip() and words:
                yield words, labels
                words, labels = [], []


def tag_from_english(
    encoder: Encoder, data_folder: Path, languages: Sequence[str] = POS_LANGUAGES, *, steps: int, seed: int
) -> dict[str, float]:
    """Accuracy in percent, per language, of a tagger that is fine-tuned only on English, together with the encoder.

    The tagger is one linear layer over the last state of each word's first subword. The encoder is modified.
    """
    tags: dict[str, int] = {}
    train = read_tagged(encoder, data_folder / "tagging" / "ud_pos" / "en" / "train.conllu.gz", tags)
    head = nn.Linear(encoder.width, len(tags) + 8)  # some tags may occur only in other languages
    torch.nn.init.normal_(head.weight, std=0.02, generator=torch.Generator().manual_seed(seed))
    optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=5e-4)
    random = np.random.default_rng(seed)
    encoder.train()
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 5e-4 * min(1.0, (step + 1) / 50) * (1 - step / steps)
        batch = [train[index] for index in random.choice(len(train), 32, replace=False)]
        with autocast("cpu"):
            logits = _tag(encoder, head, batch)
        loss = F.cross_entropy(logits.float(), torch.tensor([tag for sentence in batch for tag in sentence.tags]))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    encoder.eval()
    accuracies = {}
    for language in ("en", *languages):
        test = read_tagged(encoder, data_folder / "tagging" / "ud_pos" / language / "test.conllu.gz", tags)
        right = total = 0
        with torch.inference_mode():
            for first in range(0, len(test), 32):
                batch = test[first : first + 32]
                predictions = _tag(encoder, head, batch).argmax(-1)
                truth = torch.tensor([tag for sentence in batch for tag in sentence.tags])
                right, total = right + int((predictions == truth).sum()), total + len(truth)
        accuracies[language] = 100 * right / total
    return accuracies


def _tag(encoder: Encoder, head: nn.Linear, batch: Sequence[Tagged]) -> Tensor:
    ids, mask = encoder.batch([sentence.ids for sentence in batch])
    before = len(encoder.frame([])) // 2  # special tokens before the text
    rows = torch.tensor([row for row, sentence in enumerate(batch) for _ in sentence.firsts])
    columns = torch.tensor([first + before for sentence in batch for first in sentence.firsts])
    logits: Tensor = head(encoder(ids, mask)[-1][rows, columns])
    return logits


def translation(
    translator: Translator, data_folder: Path, pairs: Sequence[tuple[str, str]], *, sentences: int = 1012, beam: int = 5
) -> dict[str, dict[str, float]]:
    """BLEU and chrF by sacrebleu on the first `sentences` of FLORES-200 devtest, and sentences per second."""
    scores = {}
    for source, target in pairs:
        texts, references = flores(data_folder, source)[:sentences], flores(data_folder, target)[:sentences]
        started = time.perf_counter()
        predictions = [hypothesis.text for hypothesis in translator.translate(texts, source, target, beam=beam)]
        seconds = time.perf_counter() - started
        tokenize = CHARACTER_LEVEL.get(target, "13a")
        bleu = sacrebleu.corpus_bleu(predictions, [references], tokenize=tokenize)
        scores[f"{source}-{target}"] = {
            "bleu": bleu.score,
            "chrf": sacrebleu.corpus_chrf(predictions, [references]).score,
            "sentences_per_second": len(texts) / seconds,
        }
    return scores


def nats_per_subword(
    translator: VecoTranslator, data_folder: Path, pairs: Sequence[tuple[str, str]], *, sentences: int = 1012
) -> float:
    """Mean cross-entropy of FLORES devtest's translations given their sources, including `</s>`, over all pairs.

    It distinguishes translators that are still too weak to translate. Sentences too long for the model are skipped.
    """
    model, vocabulary = translator.model, translator.vocabulary
    room, total, count = model.encoder.config.max_length - 2, 0.0, 0
    for source, target in pairs:
        rows = zip(
            *(vocabulary.ids(flores(data_folder, language)[:sentences]) for language in (source, target)), strict=True
        )
        sentence_pairs = [(x, y) for x, y in rows if max(len(x), len(y)) <= room]
        start = vocabulary.special(f"<to:{target}>")
        for first in range(0, len(sentence_pairs), 16):
            batch = sentence_pairs[first : first + 16]
            encoder_input = pad_rows([[BOS, *x, EOS] for x, _ in batch], torch.device("cpu"))
            decoder_input = pad_rows([[start, *y, EOS] for _, y in batch], torch.device("cpu"))
            subwords = int(decoder_input[1][:, 1:].sum())
            with torch.inference_mode():
                total += float(translation_loss(model, encoder_input, decoder_input, 0.0)) * subwords
            count += subwords
    return total / count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", default=str(SMALL))
    parser.add_argument("--translator", default=None)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=1012, help="of FLORES to translate per direction")
    parser.add_argument("--translated", default=None, help="languages to translate from and to English; default: all")
    parser.add_argument("--layer", type=int, default=None, help="of the sentence encoding; default: the model's")
    parser.add_argument("--no-tagging", action="store_true")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    encoder = load_encoder(options.encoder)
    trained = [language for language in training_languages(options.encoder) if language != "en"]
    done: dict[str, Any] = {"retrieval": retrieval(encoder, options.data, trained, options.layer)}
    if not options.no_tagging:
        done["tagging"] = tag_from_english(encoder, options.data, steps=400, seed=1)
    if options.translator:
        translator = load_translator(options.translator)
        translated = options.translated.split(",") if options.translated else trained
        pairs = [pair for language in translated for pair in ((language, "en"), ("en", language))]
        done["translation"] = translation(translator, options.data, pairs, sentences=options.sentences)
    (options.output / "tasks.json").write_text(json.dumps(done, indent=2) + "\n", encoding="utf-8")
    table = markdown(done, trained)
    (options.output / "tasks.md").write_text(table, encoding="utf-8")
    print(table)  # noqa: T201


def training_languages(name_or_path: str) -> list[str]:
    """The training languages of a VECO folder."""
    return list(json.loads((Path(name_or_path) / "config.json").read_text(encoding="utf-8"))["languages"])


def markdown(done: dict[str, Any], languages: Sequence[str]) -> str:
    """One row per language."""
    heads = ["language", "en→xx", "xx→en", "BLEU en→xx", "BLEU xx→en", "chrF en→xx", "chrF xx→en", "tagging"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    translated = done.get("translation", {})
    for language in languages:
        cells = [language, *(f"{done['retrieval'][name]:.1f}" for name in (f"en-{language}", f"{language}-en"))]
        for measure in ("bleu", "chrf"):
            cells += [
                f"{translated[n][measure]:.1f}" if n in translated else "" for n in (f"en-{language}", f"{language}-en")
            ]
        tagging = done.get("tagging", {}).get(language)
        lines.append("| " + " | ".join([*cells, f"{tagging:.1f}" if tagging is not None else ""]) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
