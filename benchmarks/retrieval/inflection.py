"""What dictionary forms of inflected words gain: MAP@100 of psq without and with them.

    python -m benchmarks.retrieval.inflection --data DATA --tables runs/first_stage/tables --languages de,es,fr,it,pt

XQuAD-R's tuning questions (sentences, then paragraphs, from English, then to English) where it has the language, else
FLORES sentences. Tables are those of `benchmarks/retrieval/first_stage.py`; without a trained one the dictionary alone.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean

import ir_measures
from ir_measures import AP

from benchmarks.retrieval.first_stage import DICTIONARY, SPLITS, STATISTICAL, XQUAD, dictionary_pairs
from dragoman.indexes.analysis import pipeline
from dragoman.indexes.analysis.function_words import function_words
from dragoman.indexes.analysis.segmenters import segmenter
from dragoman.lexicon.query import Bridge, TermGroup, psq
from dragoman.lexicon.table.compose import Member, analysed, merge
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import Analysis
from dragoman.service.core.settings import Settings
from dragoman.service.evaluation.test_collection import Benchmark, load_benchmark
from dragoman.service.query.translation import BM25_OF, identical, is_function_word
from dragoman.service.tables.reading import read_table


def analyses(language: str, forms: bool) -> Callable[[str], Analysis]:
    """The analysis of English and of the language, which alone has dictionary forms, or not."""
    segment, name = segmenter(language) or (None, "")
    pipeline.INFLECTED = frozenset({language} if forms else ())  # type: ignore[attr-defined]
    chosen = pipeline.LuceneAnalysis(language, segment, name)
    chosen.tokens("x")  # loads the stemmer, and the dictionary where INFLECTED has the language
    return lambda one: chosen if one == language else pipeline.analysis(one)


def tables(data: Path, folder: Path, language: str) -> Table:
    """The table of English and the language, merged from the trained one and the dictionary."""
    members = []
    for name, weight in ((f"en-{language}.tsv", STATISTICAL), (f"en-{language}.dictionary.tsv", DICTIONARY)):
        if (folder / name).exists():
            content = iter([(folder / name).read_bytes()])
            members.append(Member(read_table(content, "en", language, "tsv", Settings()).table, name, 1, weight=weight))
    if not members:
        pairs = dict.fromkeys(dictionary_pairs(data, language))
        content = iter(["".join(f"{english}\t{foreign}\n" for english, foreign in pairs).encode()])
        members.append(Member(read_table(content, "en", language, "tsv", Settings()).table, "dictionary", 1))
    return merge(members)


def tasks(data: Path, language: str) -> Iterator[Benchmark]:
    """The tasks of one language, in both directions."""
    for source, target in (("en", language), (language, "en")):
        if language in XQUAD:
            for unit in ("sentence", "paragraph"):
                yield load_benchmark(data / "xquad_r", source, target, unit, None, SPLITS["tune"])
        else:
            yield load_benchmark(data / "flores200", source, target, "sentence")


def map_at_100(task: Benchmark, table: Table, analysis: Callable[[str], Analysis]) -> float:
    """MAP@100 of psq."""
    postings: dict[str, dict[str, int]] = defaultdict(dict)
    lengths: dict[str, int] = {}
    for id, text in task.documents.items():
        terms = [token.term for token in analysis(task.target).tokens(text) if token.term]
        lengths[id] = len(terms)
        for term, count in Counter(terms).items():
            postings[term][id] = count
    run = []
    for query, text in task.queries.items():
        aside = partial(is_function_word, text, function_words(task.source), None)
        bridge = Bridge(partial(identical, analysis, task.target))
        found = psq(analysis(task.source).tokens(text), table, bridge, aside=aside)
        scores = scored(found.groups, postings, lengths)
        run += [ir_measures.ScoredDoc(query, id, score) for id, score in scores.most_common(100)]
    values = [one.value for one in ir_measures.iter_calc([AP @ 100], task.qrels, run)]
    return sum(values) / len(task.queries)


def scored(groups: list[TermGroup], postings: dict[str, dict[str, int]], lengths: dict[str, int]) -> Counter[str]:
    """BM25 of every document that has a term of a group."""
    k1, b = BM25_OF["psq"].k1, BM25_OF["psq"].b
    average = mean(lengths.values())
    scores: Counter[str] = Counter()
    for group in groups:
        tf: Counter[str] = Counter()
        df = 0.0
        for alternative in group.alternatives:
            holding = postings.get(alternative.term, {})
            df += alternative.weight * len(holding)
            for id, count in holding.items():
                tf[id] += alternative.weight * count  # type: ignore[assignment]
        idf = math.log(1 + (len(lengths) - df + 0.5) / (df + 0.5)) if df < len(lengths) else 0.0
        for id, count in tf.items():
            norm = k1 * (1 - b + b * lengths[id] / average)
            scores[id] += group.weight * idf * count / (count + norm)  # type: ignore[assignment]
    return scores


def main() -> None:
    """Print the MAP of every task, without and with dictionary forms."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--languages", default="de,es,fr,it,pt")
    options = parser.parse_args()
    for language in options.languages.split(","):
        surface = tables(options.data, options.tables, language)
        for forms in (False, True):
            analysis = analyses(language, forms)
            table = analysed(surface, analysis("en"), analysis(language))
            found = [
                map_at_100(task, table if task.source == "en" else table.inverse(), analysis)
                for task in tasks(options.data, language)
            ]
            shown = " ".join(f"{value:.4f}" for value in found)
            print(f"{language} {'with' if forms else 'without'} forms: {shown}, mean {mean(found):.4f}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
