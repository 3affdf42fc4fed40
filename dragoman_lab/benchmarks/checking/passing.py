"""How many translated sentences the checker lets pass, after each step that is to raise their share.

``python -m dragoman_lab.benchmarks.checking.passing --data DATA --split tune --work WORK --output OUTPUT`` translates
news, ``--split test`` FLORES devtest, both with public dictionaries of DATA as tables; ``--demo`` the documents of the
demo with its tables. Each sentence gets a draft of each kind: free, with its numbers, with names and terms, and with
hints of tables. The report has the shares of ``ok``, ``draft`` and withheld sentences for the first kind, the best of
the first two, and so on. Drafts are kept in OUTPUT and made once. What is ``ok`` or a draft in the end is written there
with its source and a human translation, to be read by eye. ``--skip 45`` takes other sentences than ``--most 45`` did,
and ``--served`` leaves the free drafts out, which the service does not make.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from dragoman.checking import Check, Knowledge, check_sentences
from dragoman.engine.checking.choosing import choose_draft
from dragoman.engine.checking.doubts import add_doubts
from dragoman.engine.checking.source_phrases import SourcePhrases
from dragoman.engine.models.drafts import Draft, SourceSentence, prompts_of
from dragoman.engine.models.generation import Prompted, shipped_bridge, streams_of
from dragoman.engine.models.text_translation import SENTENCE_LENGTH
from dragoman.engine.tables.views import View
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon import Table, analyse_table, fold_term
from dragoman.lexicon.text.passages import sentences
from dragoman.reasoning.layalign.reasoner import Reasoner
from dragoman_lab.benchmarks.checking.amounts import FILES, Pair, read_test_pairs
from dragoman_lab.benchmarks.checking.resources import Encoding, resources_of

SERVED = ("fr", "de", "es", "ru", "el", "vi", "sw", "hi")
STEPS = ("free", "numbers", "names and terms", "hints")
AT_ONCE = 32
"""Drafts that are decoded together."""
WORDS = (6, 35)
"""Of the English sentences for tuning."""
NEWS = (FILES[0], "research_only/parallel/{language}-en/mafand_devtest.tsv.gz", FILES[4])


def read_pairs(options: argparse.Namespace, language: str) -> list[Pair]:
    """Sentences with a human translation, which is empty in the demo."""
    if options.demo:
        lines = (files("dragoman") / "demo" / f"documents.{language}.jsonl").read_text(encoding="utf-8").splitlines()
        texts = [json.loads(line)["text"] for line in lines]
        pairs = [(text[start:end], "") for text in texts for start, end in sentences(text, SENTENCE_LENGTH)]
        before = set(random.Random(5).sample(pairs, min(options.skip, len(pairs))))
        left = [pair for pair in pairs if pair not in before]
        return random.Random(5).sample(left, min(options.most, len(left)))
    if options.split == "test":
        return read_test_pairs(options.data, language)[options.skip : options.skip + options.most]
    path = next(path for name in NEWS if (path := options.data / name.format(language=language)).is_file())
    with gzip.open(path, "rt", encoding="utf-8") as file:
        cells = [line.rstrip("\n").split("\t") for line in file]
    fitting = [(row[0], row[1]) for row in cells if len(row) > 1 and WORDS[0] <= len(row[1].split()) <= WORDS[1]]
    return random.Random(1).sample(fitting, min(options.skip + options.most, len(fitting)))[options.skip :]


def make_view(options: argparse.Namespace, language: str) -> View:
    """The tables into English: public dictionaries, or the demo's."""
    translations: dict[str, set[str]] = defaultdict(set)
    for source, target in _read_entries(options, language):
        if (term := fold_term(source, language)) and (folded := fold_term(target, "en")):
            translations[term].add(folded)
    sources = Counter(target for targets in translations.values() for target in targets)
    entries = (
        (source, target, 1 / len(targets), 1 / sources[target])
        for source, targets in translations.items()
        for target in sorted(targets)
    )
    surface = Table.from_entries(language, "en", entries)
    return View((), surface, analyse_table(surface, analysis(language), analysis("en")))


def _read_entries(options: argparse.Namespace, language: str) -> Iterator[tuple[str, str]]:
    """A word of the language and one of English."""
    if options.demo:
        table = files("dragoman") / "demo" / f"table.en-{language}.tsv"
        for line in table.read_text(encoding="utf-8").splitlines() if table.is_file() else ():
            english, word = line.split("\t")[:2]
            yield word, english
        return
    for name, inverse in ((f"{language}-en", False), (f"en-{language}", True)):
        path = options.data / "dictionaries" / f"{name}.tsv.gz"
        if path.is_file():
            with gzip.open(path, "rt", encoding="utf-8") as file:
                for line in file:
                    first, second = line.rstrip("\n").split("\t")[:2]
                    yield (second, first) if inverse else (first, second)


def list_prompts(sentence: SourceSentence) -> list[Prompted]:
    """A prompt for each step."""
    led = list(prompts_of(sentence))
    free = Prompted(sentence.text, field=led[0].field)
    names = Prompted(sentence.text, field=free.field, phrases=sentence.required)
    return [free, led[0], names, led[-1]]


def make_drafts(reasoner: Reasoner, prompts: Sequence[Prompted], cache: Path) -> dict[Prompted, Draft]:
    """The drafts of all prompts; those in the cache are not made again."""
    stored: dict[str, Any] = json.loads(cache.read_text(encoding="utf-8")) if cache.is_file() else {}
    missing = [prompt for prompt in dict.fromkeys(prompts) if repr(prompt) not in stored]
    missing.sort(key=lambda prompt: len(prompt.text))
    for start in range(0, len(missing), AT_ONCE):
        batch = missing[start : start + AT_ONCE]
        streams = streams_of(reasoner, batch)
        while any(not stream.done for stream in streams):
            reasoner.decoder.advance(streams, AT_ONCE)
        for prompt, stream in zip(batch, streams, strict=True):
            stored[repr(prompt)] = reasoner.text(stream.tokens).strip(), stream.ended
        cache.write_text(json.dumps(stored, ensure_ascii=False), encoding="utf-8")
    return {prompt: Draft(*stored[repr(prompt)]) for prompt in prompts}


def check_drafts(
    prompts: Sequence[Sequence[Prompted]], drafts: dict[Prompted, Draft], knowledge: Knowledge
) -> list[list[tuple[Draft, Check]]]:
    """The drafts of each sentence with their checks, one for each step."""
    pairs = [(prompt.text, drafts[prompt].text) for steps in prompts for prompt in steps]
    checks = iter(add_doubts(pairs, check_sentences(pairs, knowledge), knowledge))
    return [[(drafts[prompt], next(checks)) for prompt in steps] for steps in prompts]


def measure(options: argparse.Namespace, language: str, reasoner: Reasoner, encoding: Encoding) -> dict[str, Any]:
    """The shares of one language, with what is shown."""
    pairs, view = read_pairs(options, language), make_view(options, language)
    registry: Any = SimpleNamespace(snapshot=SimpleNamespace(views={(language, "en"): view}))
    read = SourcePhrases(registry, analysis).find([source for source, _ in pairs], language, "en")
    prompts = [list_prompts(sentence)[options.served :] for sentence in read]
    cache = options.output / f"drafts.{language}.json"
    drafts = make_drafts(reasoner, [prompt for steps in prompts for prompt in steps], cache)
    resources = resources_of(options.data, language, encoding, tables=False)
    knowledge = replace(resources, forward=view, backward=view.inverse())
    checked = check_drafts(prompts, drafts, knowledge)
    figures: dict[str, Any] = {}
    for count, step in enumerate(STEPS[options.served :], 1):
        # From the second step on the drafts are those that the service makes; the free one is no longer among them.
        first = 0 if options.served else min(count - 1, 1)
        chosen = [choose_draft(steps[first:count]) for steps in checked]
        statuses = Counter(pair[1].status for pair in chosen if pair is not None)
        figures[step] = {status: statuses[status] for status in ("ok", "draft", "failed")}
        figures[step]["reasons"] = Counter(
            code for pair in chosen if pair is not None for code in {reason.code for reason in pair[1].reasons}
        )
    rows = [
        (pair[1].status, language, source, pair[0].text, human, " ".join(reason.code for reason in pair[1].reasons))
        for (source, human), pair in zip(pairs, chosen, strict=True)
        if pair is not None
    ]
    lines = ["\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row) for row in rows]
    (options.output / f"shown.{language}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--split", choices=("tune", "test"), default="tune")
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("--languages", nargs="*", default=SERVED)
    parser.add_argument("--most", type=int, default=150, help="sentences of a language")
    parser.add_argument("--skip", type=int, default=0, help="sentences of a language that an earlier run took")
    parser.add_argument("--served", action="store_true", help="no free drafts: the service makes none")
    parser.add_argument("--work", type=Path, required=True, help="folder for the converted LLM")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.data is None and not options.demo:
        parser.error("--data: needed without --demo")
    torch.set_num_threads(options.threads)
    options.output.mkdir(parents=True, exist_ok=True)
    place = shipped_bridge("translation")
    if place is None:
        parser.error("the bridge is not installed")
    reasoner, encoding = Reasoner(place, options.work), Encoding(options.output / "vectors.npz")
    report: dict[str, Any] = {}
    for language in options.languages:
        report[language] = measure(options, language, reasoner, encoding)
        encoding.save()
        for step, figures in report[language].items():
            print(language, step, dict(figures), flush=True)  # noqa: T201
        (options.output / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    for step in STEPS[options.served :]:
        totals = Counter[str]()
        for language in report:
            totals.update({status: report[language][step][status] for status in ("ok", "draft", "failed")})
        shares = {status: round(count / max(1, totals.total()), 3) for status, count in totals.items()}
        print(step, totals.total(), shares)  # noqa: T201


if __name__ == "__main__":
    main()
