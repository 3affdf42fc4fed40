"""chrF and BLEU of translations into English that a bridge makes, by language.

    python -m dragoman_lab.benchmarks.layalign.translation_quality --bridge runs/layalign/translation/model \
        --work runs/layalign \\
        --split test --data DATA/flores200 --output runs/layalign/flores

Texts are translated greedily, sentence by sentence, as the service does. `--split test` reads FLORES-200 devtest;
`tune` reads the pairs that a training held out (`--data runs/layalign/translation-tuning`). `--record` writes chrF
into the bridge's `config.json`: the service then serves the languages that reach 30, and says how good they are.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import sacrebleu
import torch
from rich.console import Console
from rich.table import Table

from dragoman.engine.models.generation import limit_of
from dragoman.engine.models.text_translation import SENTENCE_LENGTH
from dragoman.files.atomic import atomic_file
from dragoman.lexicon.text.passages import sentences
from dragoman.reasoning.layalign.decoding import Stream
from dragoman.reasoning.layalign.reasoner import Reasoner
from dragoman_lab.reasoning.examples import read_completions, read_records

AT_ONCE = 32
"""Texts that are decoded together."""
SENTENCES = 1012
"""Of FLORES-200 devtest."""
Figures = dict[str, float]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bridge", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for the converted LLM")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", choices=["tune", "test"], required=True)
    parser.add_argument("--languages", default="", help="separated by commas; default: the bridge's")
    parser.add_argument("--sentences", type=int, default=SENTENCES, help="of each language, the first ones")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path, required=True, help="folder of the report and the translations")
    parser.add_argument("--record", action="store_true", help="write chrF into the bridge's config.json")
    options = parser.parse_args(arguments)
    if options.record and options.split != "test":
        parser.error("--record: what is recorded is measured on the test split")
    torch.set_num_threads(options.threads)
    reasoner = Reasoner(options.bridge, options.work)
    options.output.mkdir(parents=True, exist_ok=True)
    quality: dict[str, Figures] = {}
    for language in options.languages.split(",") if options.languages else sorted(reasoner.languages - {"en"}):
        texts, references = pairs(options.split, options.data, language, options.sentences)
        begun = time.perf_counter()
        translations = translate(reasoner, texts)
        quality[language] = figures(translations, references) | {
            "texts_per_second": len(texts) / (time.perf_counter() - begun)
        }
        lines = ("\t".join(row) + "\n" for row in zip(texts, references, translations, strict=True))
        (options.output / f"{language}.tsv").write_text("".join(lines), encoding="utf-8")
        report = {"split": options.split, "sentences": options.sentences, "languages": quality}
        (options.output / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if options.record:
        some = f"the first {options.sentences} sentences of " if options.sentences < SENTENCES else ""
        record(options.bridge, quality, f"{some}FLORES-200 devtest")
    show(quality)


def pairs(split: str, data_folder: Path, language: str, most: int) -> tuple[list[str], list[str]]:
    """Texts of a language and their translations into English.

    Raises:
        ExamplesError: a file is missing or not of the set's form.
    """
    if split == "tune":
        completions = list(read_completions(data_folder / f"{language}.jsonl.gz"))[:most]
        return [completion.text for completion in completions], [completion.answer for completion in completions]
    foreign, english = (
        list(read_records(data_folder / f"{name}.jsonl.gz", lambda record: str(record["text"])))[:most]
        for name in (language, "en")
    )
    return foreign, english


def translate(reasoner: Reasoner, texts: Sequence[str]) -> list[str]:
    """Translations of texts; the pieces of a text are joined by a space, and its line ends are lost."""
    pieces = [(index, text[start:end]) for index, text in enumerate(texts) for start, end in _spans(text)]
    translations: list[list[str]] = [[] for _ in texts]
    order = sorted(range(len(pieces)), key=lambda place: len(pieces[place][1]))
    done: dict[int, str] = {}
    for begin in range(0, len(order), AT_ONCE):
        places = order[begin : begin + AT_ONCE]
        streams = [_stream(reasoner, pieces[place][1]) for place in places]
        reasoner.decoder.advance(streams, max(stream.limit for stream in streams))
        done.update(
            (place, reasoner.text(stream.tokens).strip()) for place, stream in zip(places, streams, strict=True)
        )
    for place, (index, _) in enumerate(pieces):
        translations[index].append(" ".join(done[place].split()))
    return [" ".join(parts) for parts in translations]


def _spans(text: str) -> Sequence[tuple[int, int]]:
    return sentences(text, SENTENCE_LENGTH)


def _stream(reasoner: Reasoner, text: str) -> Stream:
    return reasoner.stream(text, "", limit_of(reasoner, text), 0.0, 0)


def figures(translations: Sequence[str], references: Sequence[str]) -> Figures:
    """chrF and BLEU, 0 to 100, by sacrebleu."""
    return {
        "chrf": sacrebleu.corpus_chrf(translations, [references]).score,
        "bleu": sacrebleu.corpus_bleu(translations, [references]).score,
    }


def record(bridge: Path, quality: dict[str, Figures], measured_on: str) -> None:
    """Write the quality of each language into the bridge's `config.json`, beside others of the same texts."""
    path = bridge / "config.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    earlier = about.get("quality", {}) if about.get("measured_on") == measured_on else {}
    about["measured_on"] = measured_on
    about["quality"] = earlier | {name: round(figures["chrf"], 1) for name, figures in quality.items()}
    with atomic_file(path) as unfinished:
        unfinished.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def show(quality: dict[str, Figures]) -> None:
    """Print the figures, a language a line."""
    table = Table("language", "chrF", "BLEU", "texts a second")
    for name, figures in quality.items():
        table.add_row(name, f"{figures['chrf']:.1f}", f"{figures['bleu']:.1f}", f"{figures['texts_per_second']:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
