"""The glossary promise: whether each word of each language can be found by a glossary entry for it.

    python -m dragoman_lab.benchmarks.lexicon.glossary --data DATA --methods psq
    python -m dragoman_lab.benchmarks.lexicon.glossary --data DATA --languages de zh --methods psq default rerank

For each language of `DATA/flores200` words are drawn from its sentences (in Chinese, Japanese and Thai words of the
segmenter, and every second time a part of one whose rest is in a dictionary, too). They become the entries of one
glossary under invented English terms, and the sentences a collection. Each term is searched: found is a word if one of
the first ten hits has it. In `rerank` a sentence with the word and one of the same length without are ranked, and the
one with the word must come first.

Then 200 pairs of a word and an accidental substring of it, over the languages: the glossary has the substring, which
stands in the sentence within the longer word alone. The share that is found is printed, as are all that are.

The service is started on an empty data directory; by `psq` alone it loads no model. `--split tune` draws words from
sentences of even numbers, `test` from the others; the collection has all of them.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from dragoman_lab.benchmarks.lexicon.words import Accident, Chosen, Sentences, accidents, choose_words, invent_term
from dragoman_lab.evaluation.search_client import SearchClient
from dragoman_lab.evaluation.serving import post, require_success, serve_temporarily

METHODS = ("psq", "default", "rerank")
TOP = 10
_LEFT_OUT = ("en", "zht")
_WITHOUT_MODELS = {"DRAGOMAN_EMBED": "on_demand", "DRAGOMAN_RERANK": "never"}


@dataclass
class GlossaryResult:
    """How many words of a language were found by each method, and what the service said."""

    language: str
    words: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    missed: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, kind and word."""
    answered: Counter[str] = field(default_factory=Counter)
    """The methods that answered, and what was degraded."""
    warnings: int = 0

    def share(self, method: str) -> float:
        """The share of the words that a method found."""
        return self.hits[method] / self.words if self.words else 0.0


def languages_of(data_folder: Path) -> list[str]:
    """The languages with sentences, but for English and Chinese in traditional characters."""
    names = (path.name.removesuffix(".jsonl.gz") for path in (data_folder / "flores200").glob("*.jsonl.gz"))
    return sorted(name for name in names if name not in _LEFT_OUT)


def upload(client: httpx.Client, name: str, language: str, entries: Mapping[str, str]) -> int:
    """Upload and activate a glossary of invented terms; the number of the answer's warnings."""
    content = "".join(f"{term}\t{word}\n" for term, word in entries.items()).encode()
    parameters: dict[str, str | bool] = {
        "source": "en", "target": language, "kind": "glossary", "format": "tsv", "header": False,
        "columns": "source,target", "activate": True,
    }  # fmt: skip
    answer = require_success(client.put(f"/v1/tables/{name}", params=parameters, content=content)).json()
    return int(answer.get("warnings_total", 0)) + int(answer["rejected_total"])


def search(client: httpx.Client, term: str, collection: str, method: str) -> dict[str, Any]:
    """The answer to a search for a term: by one method alone, or as the service searches by itself."""
    body: dict[str, Any] = {"query": term, "query_language": "en", "collections": [collection], "top_k": TOP}
    if method != "default":
        body |= {"method": method, "rerank": False}
    return dict(post(client, "/v1/search", json=body).json())


def first_in_rerank(client: httpx.Client, term: str, chosen: Chosen, language: str) -> tuple[bool, list[str]]:
    """Whether the sentence with the word comes first though it was sent last, and the answer's warnings."""
    body = {"query": term, "query_language": "en", "document_language": language}
    answer = post(client, "/v1/rerank", json=body | {"documents": [chosen.other, chosen.sentence]}).json()
    best, second = sorted(answer["results"], key=lambda document: document["index"], reverse=True)
    warnings = answer.get("meta", {}).get("warnings") or []
    return best["relevance_score"] > second["relevance_score"], [str(warning) for warning in warnings]


def measure(
    asked: SearchClient, sentences: Sentences, words: Mapping[str, Chosen], methods: Sequence[str]
) -> GlossaryResult:
    """Upload the words as a glossary, and search each by each method."""
    language, client = sentences.language, asked.client
    result = GlossaryResult(language, len(words))
    result.warnings = upload(
        client, f"glossary-{language}", language, {term: chosen.word for term, chosen in words.items()}
    )
    collection = asked.collection(f"sentences-{language}", language, sentences.texts)
    for term, chosen in words.items():
        for method in methods:
            if method == "rerank":
                right, said = first_in_rerank(client, term, chosen, language)
                result.answered.update(f"rerank: {warning}"[:100] for warning in said)
            else:
                answer = search(client, term, collection, method)
                right = any(asked.original(collection, hit["id"]) in chosen.holders for hit in answer["hits"])
                result.answered[f"{method}: {answer['method']}" + (" reranked" if answer.get("rerank") else "")] += 1
                result.answered.update(f"{method}: {part['stage']}: {part['reason']}" for part in answer["degraded"])
            result.hits[method] += right
            if not right:
                result.missed.append((method, chosen.kind, chosen.word))
    return result


def match_by_accident(asked: SearchClient, pairs: Mapping[str, Accident]) -> list[Accident]:
    """The pairs whose sentence is found by its substring, with psq."""
    matched: list[Accident] = []
    for language in sorted({pair.language for pair in pairs.values()}):
        language_pairs = {term: pair for term, pair in pairs.items() if pair.language == language}
        upload(
            asked.client,
            f"accidents-{language}",
            language,
            {term: pair.substring for term, pair in language_pairs.items()},
        )
        texts = {term: pair.sentence for term, pair in language_pairs.items()}
        collection = asked.collection(f"accidents-{language}", language, texts)
        for term, pair in language_pairs.items():
            hits = search(asked.client, term, collection, "psq")["hits"]
            if term in (asked.original(collection, hit["id"]) for hit in hits):
                matched.append(pair)
    return matched


def draw_accidents(languages: Sequence[Sentences], count: int, draw: random.Random, split: str) -> list[Accident]:
    """Pairs of a word and an accidental substring, from one language after the other while they have some."""
    sources: list[Iterator[Accident]] = [accidents(sentences, draw, split) for sentences in languages]  # type: ignore[arg-type]
    draw.shuffle(sources)
    pairs: dict[tuple[str, str, str], Accident] = {}
    while sources and len(pairs) < count:
        for source in list(sources):
            pair = next(source, None)
            if pair is None:
                sources.remove(source)
            elif len(pairs) < count:
                pairs.setdefault((pair.language, pair.substring, pair.word), pair)
    return list(pairs.values())


def report(console: Console, results: Sequence[GlossaryResult], methods: Sequence[str]) -> None:
    """Print a line a language, the means, and the worst."""
    table = Table("language", "words", *methods, "upload warnings", "answered by")
    for result in results:
        answered = ", ".join(f"{name} ×{times}" for name, times in result.answered.most_common(4))
        shares = (f"{result.share(method):.3f}" for method in methods)
        table.add_row(result.language, str(result.words), *shares, str(result.warnings), answered)
    console.print(table)
    for method in methods:
        total = sum(result.hits[method] for result in results) / max(1, sum(result.words for result in results))
        mean = sum(result.share(method) for result in results) / max(1, len(results))
        worst = min(results, key=lambda result: result.share(method))
        below = [result.language for result in results if result.share(method) < 0.97]
        console.print(
            f"{method}: {total:.4f} of all words, mean of languages {mean:.4f},"
            f" worst {worst.language} {worst.share(method):.3f}, below .97: {' '.join(below) or 'none'}"
        )


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Draw the words, start the service, and print what it finds."""
    draw = random.Random(arguments.seed)
    taken: set[str] = set()
    if not (arguments.data / "flores200").is_dir() and (arguments.data / "data").is_dir():
        arguments.data /= "data"
    languages = arguments.languages or languages_of(arguments.data)
    sentences = [Sentences(arguments.data, language) for language in languages]
    models = set(arguments.methods) != {"psq"}
    with serve_temporarily(settings={} if models else _WITHOUT_MODELS) as client:
        results = []
        for language_sentences in sentences:
            asked = SearchClient(client, embeddings="default" in arguments.methods)
            word_draw = random.Random(f"{arguments.seed} {language_sentences.language}")
            chosen = choose_words(language_sentences, arguments.words, word_draw, arguments.split, arguments.icu)
            words = {invent_term(draw, taken): word for word in chosen}
            results.append(measure(asked, language_sentences, words, arguments.methods))
            asked.close()
        report(console, results, arguments.methods)
        if arguments.output:
            shares = {
                result.language: {method: result.share(method) for method in arguments.methods} for result in results
            }
            arguments.output.write_text(json.dumps(shares, indent=1), encoding="utf-8")
        if arguments.show:
            for result in results:
                for method, kind, word in result.missed:
                    console.print(f"missed {result.language} {method} {kind} {word}", markup=False, highlight=False)
        pairs = {
            invent_term(draw, taken): pair
            for pair in draw_accidents(sentences, arguments.accidents, draw, arguments.split)
        }
        asked = SearchClient(client, embeddings=False)
        matched = match_by_accident(asked, pairs) if pairs else []
    by_language = Counter(pair.language for pair in matched)
    drawn = Counter(pair.language for pair in pairs.values())
    shares = ", ".join(f"{language} {times} of {drawn[language]}" for language, times in sorted(by_language.items()))
    console.print(
        f"accidental substrings: {len(matched)} of {len(pairs)} matched"
        f" ({len(matched) / max(1, len(pairs)):.4f}) in {len(drawn)} languages; {shares or 'none'}"
    )
    for pair in matched:
        console.print(f"matched {pair.language} {pair.substring} in {pair.word}", markup=False, highlight=False)
    if arguments.show:
        for pair in pairs.values():
            console.print(f"pair {pair.language} {pair.substring} in {pair.word}", markup=False, highlight=False)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with flores200 and dictionaries")
    parser.add_argument("--languages", nargs="+", help="default: all but English and Chinese in traditional characters")
    parser.add_argument("--words", type=int, default=40, help="words of each language")
    parser.add_argument("--accidents", type=int, default=200, help="pairs of a word and an accidental substring")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["psq"])
    parser.add_argument("--split", choices=("tune", "test", "all"), default="tune")
    parser.add_argument("--output", type=Path, help="a file for the shares as JSON")
    parser.add_argument("--icu", action="store_true", help="words without spaces are those of ICU, and no parts")
    parser.add_argument("--show", action="store_true", help="print the words that were missed, and all pairs")
    run(parser.parse_args(), Console(width=160))


if __name__ == "__main__":
    main()
