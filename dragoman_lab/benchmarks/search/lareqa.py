"""LAReQA's protocol (Roy et al. 2020) over HTTP: one pool of sentences in eleven languages, and its language bias.

    python -m dragoman_lab.benchmarks.search.lareqa --data DATA --work runs/search --output runs/search/lareqa

XQuAD-R's questions in eleven languages are asked to one collection per language, all searched at once. Relevant are all
sentences that answer a question, one or so in every language. The measure is mAP, the mean of average precision over
the best `--depth` hits, and over the question's languages; a relevant sentence below counts as not found, so it is at
most the mAP of the whole ranking.

The diagnosis says how far the language of a sentence decides its rank:

- one target: average precision by question and answer language when the relevant sentences of the other languages are
  taken out of the ranking, while their irrelevant ones stay;
- top hits: the share of each answer language among the best hits of a question language, as many as the question has
  relevant sentences. Without bias each language has about the same share, with eleven languages 9%.

`--split` chooses XQuAD-R's questions for tuning or the others, `--questions` some of them at even distances (the same
in every language). The pool is always whole. Languages that the output folder has are not measured again.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures
from ir_measures import AP

from dragoman_lab.benchmarks.retrieval.first_stage import XQUAD
from dragoman_lab.benchmarks.search.measuring import System, check_complete, needs_embeddings, systems
from dragoman_lab.benchmarks.search.quality import tables_of
from dragoman_lab.evaluation.benchmark import SPLITS, BenchmarkError, Split, load_benchmark
from dragoman_lab.evaluation.evaluation import Evaluation, Run, write_run
from dragoman_lab.evaluation.search_client import open_search_client

LANGUAGES = ("en", *XQUAD)
UNIT = "sentence"
Qrels = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Questions:
    """The questions of one language, and their relevant sentences in all languages."""

    language: str
    texts: dict[str, str]
    qrels: dict[str, dict[str, int]]


def main() -> None:
    """Measure all question languages, and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="folder that keeps trained tables; needed without --url")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--url", help="a running service, with its own tables; default: one is started")
    parser.add_argument("--languages", default=",".join(LANGUAGES), help="of the questions and of the pool")
    parser.add_argument("--split", choices=SPLITS, default="tune")
    parser.add_argument("--questions", type=int, help="of each language, at even distances; default: all")
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--systems", default="default", help="default, psq or both")
    parser.add_argument("--method", help="ablations, comma-separated, such as hybrid,dense")
    parser.add_argument("--rerank", help="off, or a depth; default: the service's own choice")
    parser.add_argument("--permissive", action="store_true", help="train only on data with permissive licences")
    arguments = parser.parse_args()
    if not arguments.url and not arguments.work:
        parser.error("--work is required without --url")
    languages = arguments.languages.split(",")
    chosen = systems(arguments.systems, arguments.method, arguments.rerank)
    foreign = [language for language in languages if language != "en"]
    tables = [] if arguments.url else tables_of(arguments.data, foreign, arguments.work, arguments.permissive)
    pool, questions = read_pool(arguments.data / "xquad_r", languages, arguments.split)
    with open_search_client(arguments.url, tables, embeddings=needs_embeddings(chosen)) as client:
        collections = [
            client.collection(f"lareqa-{language}", language, documents) for language, documents in pool.items()
        ]
        language_of = {key: language for language, documents in pool.items() for key in documents}
        reports: dict[str, Any] = {}
        for system in chosen:
            rows = {}
            for asked in questions:
                some = evenly(asked, arguments.questions)
                path = arguments.output / f"{asked.language}-{system.name}.json"
                if not path.exists():
                    run = ask(client, collections, some, system, arguments.depth, path.with_suffix(".trec"))
                    path.write_text(json.dumps(measure(run, some, language_of)) + "\n", encoding="utf-8")
                rows[asked.language] = json.loads(path.read_text(encoding="utf-8"))
            reports[system.name] = rows
    text = "\n".join(summary(name, rows) for name, rows in reports.items())
    about = {"split": arguments.split, "depth": arguments.depth, "systems": reports}
    (arguments.output / "report.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    (arguments.output / "summary.md").write_text(text, encoding="utf-8")
    print(text)  # noqa: T201


def read_pool(
    data_folder: Path, languages: Sequence[str], split: Split
) -> tuple[dict[str, dict[str, str]], list[Questions]]:
    """The sentences of each language, and the questions of each with their relevant sentences in all of them."""
    pool: dict[str, dict[str, str]] = {}
    questions = []
    for source in languages:
        source_questions = Questions(source, {}, {})
        for target in languages:
            task = load_benchmark(data_folder, source, target, UNIT, split=split)
            pool[target] = task.documents
            source_questions.texts.update(task.queries)
            for query, relevant in task.qrels.items():
                source_questions.qrels.setdefault(query, {}).update(relevant)
        questions.append(source_questions)
    return pool, questions


def evenly(questions: Questions, count: int | None) -> Questions:
    """``count`` questions at even distances, or all."""
    keys = list(questions.texts)
    if count is not None and count < len(keys):
        keys = [keys[index * len(keys) // count] for index in range(count)]
    return Questions(
        questions.language, {key: questions.texts[key] for key in keys}, {key: questions.qrels[key] for key in keys}
    )


def ask(client: Any, collections: Sequence[str], questions: Questions, system: System, depth: int, path: Path) -> Run:
    """The run of one question language over all collections; it is written to ``path``."""
    if system.human:
        raise BenchmarkError("a question has no single human translation into a pool of languages")
    title = f"{questions.language} {system.name}"
    language = {"query_language": questions.language} if system.language == "given" else {}
    fields = {**language, **system.fields}
    answers = client.ask(questions.texts, collections, depth, fields, title, trec=True)
    check_complete(answers, title)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_run(path, Evaluation(system.name, answers.run, answers.seconds))
    return dict(answers.run)


def measure(run: Run, questions: Questions, language_of: Mapping[str, str]) -> dict[str, Any]:
    """mAP and its diagnosis for the questions of one language."""
    targets = list(dict.fromkeys(language_of.values()))
    return {
        "questions": len(questions.texts),
        "map": mean_average_precision(run, questions.qrels),
        "one_target": {target: one_target(run, questions.qrels, language_of, target) for target in targets},
        "top_hits": top_hits(run, questions.qrels, language_of),
    }


def mean_average_precision(run: Run, qrels: Qrels) -> float:
    """The mean of average precision over all questions; one without hits counts 0."""
    precisions = {metric.query_id: metric.value for metric in ir_measures.iter_calc([AP], qrels, run)}
    return statistics.mean(precisions.get(query, 0.0) for query in qrels)


def one_target(run: Run, qrels: Qrels, language_of: Mapping[str, str], target: str) -> float:
    """mAP when the relevant sentences of all languages but ``target`` are taken out of ranking and judgements."""
    judgements = {
        query: {key: grade for key, grade in relevant.items() if language_of[key] == target}
        for query, relevant in qrels.items()
    }
    judgements = {query: relevant for query, relevant in judgements.items() if relevant}
    alone = {
        query: {
            key: score
            for key, score in run.get(query, {}).items()
            if key in judgements[query] or key not in qrels[query]
        }
        for query in judgements
    }
    return mean_average_precision(alone, judgements)


def top_hits(run: Run, qrels: Qrels, language_of: Mapping[str, str]) -> dict[str, float]:
    """The share of each language among the best hits, as many of a question's as it has relevant sentences."""
    counts: Counter[str] = Counter()
    for query, relevant in qrels.items():
        best = sorted(run.get(query, {}).items(), key=lambda hit: -hit[1])[: len(relevant)]
        counts.update(language_of[key] for key, _ in best)
    languages = dict.fromkeys(language_of.values())
    return {language: counts[language] / max(1, counts.total()) for language in languages}


def summary(name: str, rows: Mapping[str, Mapping[str, Any]]) -> str:
    """mAP by question language, and both heat maps, as Markdown; rows are question languages."""
    targets = list(next(iter(rows.values()))["one_target"])
    same_language = statistics.mean(row["top_hits"][language] for language, row in rows.items())
    lines = [f"## {name}", "", "| | mAP | own language among the top hits |", "|---|---|---|"]
    lines += [f"| {language} | {row['map']:.3f} | {row['top_hits'][language]:.1%} |" for language, row in rows.items()]
    lines += [
        f"| mean of {len(rows)} | {statistics.mean(row['map'] for row in rows.values()):.3f} | {same_language:.1%} |"
    ]
    for title, key, form in (("mAP with one target", "one_target", ".3f"), ("Top hits", "top_hits", ".1%")):
        lines += ["", f"{title}: questions in rows, answers in columns", ""]
        lines += [f"| | {' | '.join(targets)} |", "|" + "---|" * (len(targets) + 1)]
        lines += [
            f"| {language} | {' | '.join(format(row[key][target], form) for target in targets)} |"
            for language, row in rows.items()
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
