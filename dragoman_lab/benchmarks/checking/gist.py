"""What the drafts of the shipped bridge have to show for them, beside how near they are to a human translation.

``python -m dragoman_lab.benchmarks.checking.gist --data DATA --work WORK --output OUTPUT`` translates news, the tuning
articles of XQuAD-R and short sentences, all with a human translation, and never FLORES. Of each sentence it takes the
last draft that the service makes, of short ones the free one. It prints what the floor of
:mod:`dragoman.engine.checking.doubts` leaves of those that pass the check, with and without tables. How near a draft is
to the human translation, both English, stands for whether it has the gist. OUTPUT/gist.jsonl has all of them, to be
read by eye. Drafts are kept in OUTPUT and made once.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from dragoman.checking import check_sentences, measure_cosines
from dragoman.checking.sentence import Pair
from dragoman.engine.checking.doubts import find_floor, list_invented, measure_coverages, weigh_evidence
from dragoman.engine.checking.source_phrases import SourcePhrases
from dragoman.engine.models.generation import shipped_bridge
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.reasoning.layalign.reasoner import Reasoner
from dragoman_lab.benchmarks.checking.amounts import FILES, read_pairs, read_xquad_pairs
from dragoman_lab.benchmarks.checking.amounts import Pair as Texts
from dragoman_lab.benchmarks.checking.passing import NEWS, list_prompts, make_drafts, make_view
from dragoman_lab.benchmarks.checking.resources import Encoding, resources_of

LANGUAGES = ("de", "fr", "es", "ru", "el", "sw")
NEAR = 0.75
"""The cosine of two English sentences that say nearly the same."""
LONGEST = 240
"""Code points of a source."""
KINDS = (("news", (6, 24), 20), ("articles", (6, 24), 14), ("sentences", (6, 24), 8), ("short", (2, 6), 22))
"""Kinds of sentences, of how many English words, and how many of a language."""


@dataclass(frozen=True)
class Shown:
    """A draft that passes the check."""

    language: str
    kind: str
    source: str
    draft: str
    human: str
    near: float
    """The cosine with the human translation."""
    evidence: float
    bare: float
    """The evidence without tables."""
    floor: float


def choose_sentences(data: Path, language: str) -> list[tuple[str, Texts]]:
    """Sentences with their kind and a human translation."""
    collected = read_pairs(data, FILES[4], language)
    sources = {
        "news": next((pairs for name in NEWS[:2] if (pairs := read_pairs(data, name, language))), []),
        "articles": read_xquad_pairs(data, language),
        "sentences": collected,
        "short": collected,
    }
    chosen: list[tuple[str, Texts]] = []
    for kind, (least, most), count in KINDS:
        fitting = [pair for pair in sources[kind] if least <= len(pair[1].split()) <= most and len(pair[0]) <= LONGEST]
        chosen += [(kind, pair) for pair in random.Random(11).sample(fitting, min(count, len(fitting)))]
    return chosen


def weigh_drafts(options: argparse.Namespace, language: str, reasoner: Reasoner, encoding: Encoding) -> list[Shown]:
    """The drafts of one language that pass the check, without the floor."""
    chosen, view = choose_sentences(options.data, language), make_view(options, language)
    registry: Any = SimpleNamespace(snapshot=SimpleNamespace(views={(language, "en"): view}))
    read = SourcePhrases(registry, analysis).find([source for _, (source, _) in chosen], language, "en")
    prompts = [
        list_prompts(sentence)[0 if kind == "short" else -1] for sentence, (kind, _) in zip(read, chosen, strict=True)
    ]
    drafts = make_drafts(reasoner, prompts, options.output / f"drafts.{language}.json")
    pairs = [(prompt.text, drafts[prompt].text) for prompt in prompts]
    resources = resources_of(options.data, language, encoding, tables=False)
    knowledge = replace(resources, forward=view, backward=view.inverse())
    cosines = measure_cosines(pairs, knowledge)
    checks = check_sentences(pairs, knowledge, cosines=cosines)
    human = encoding([english for _, (_, english) in chosen], "en")
    near = np.einsum("nd,nd->n", human, encoding([draft for _, draft in pairs], "en")).tolist()
    shown = []
    for place, (kind, (source, english)) in enumerate(chosen):
        pair = Pair.read(*pairs[place], knowledge)
        if checks[place].status == "failed" or list_invented(pair, knowledge):
            continue
        evidence = weigh_evidence(cosines[place], measure_coverages(pair, knowledge))
        bare = weigh_evidence(cosines[place], [])
        floor = find_floor(len(pair.source.tokens))
        texts = language, kind, source, pairs[place][1], english
        shown.append(Shown(*texts, round(near[place], 3), round(evidence, 3), round(bare, 3), round(floor, 3)))
    return shown


def report(shown: Sequence[Shown]) -> None:
    """Print what the floor leaves."""
    print(f"{len(shown)} pass the check, {np.mean([row.near >= NEAR for row in shown]):.2f} of them near")  # noqa: T201
    for name in ("evidence", "bare"):
        for kinds in ({"short"}, {"news", "articles", "sentences"}):
            of_kinds = [row for row in shown if row.kind in kinds]
            left = [row for row in of_kinds if getattr(row, name) >= row.floor]
            near = np.mean([row.near >= NEAR for row in left]) if left else 0.0
            print(name, sorted(kinds), f"{len(left)} of {len(of_kinds)} are left, {near:.2f} of them near")  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--languages", nargs="*", default=LANGUAGES)
    parser.add_argument("--work", type=Path, required=True, help="folder for the converted LLM")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.demo = False
    torch.set_num_threads(options.threads)
    options.output.mkdir(parents=True, exist_ok=True)
    place = shipped_bridge("translation")
    if place is None:
        parser.error("the bridge is not installed")
    reasoner, encoding = Reasoner(place, options.work), Encoding(options.output / "vectors.npz")
    shown: list[Shown] = []
    for language in options.languages:
        shown += weigh_drafts(options, language, reasoner, encoding)
        encoding.save()
    lines = [json.dumps(asdict(row), ensure_ascii=False) for row in shown]
    (options.output / "gist.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    report(shown)


if __name__ == "__main__":
    main()
