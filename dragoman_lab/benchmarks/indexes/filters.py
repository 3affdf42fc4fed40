"""Filters over the metadata of many documents: searches by words and by vectors, pages of lists, counts of deletions.

    python -m dragoman_lab.benchmarks.indexes.filters --data DATA --table runs/first_stage/tables/en-de.tsv

Documents are German sentences of DATA/parallel with made metadata, `--documents` of them in one collection, without
embeddings. English questions of XQuAD-R search it by psq for ten hits, without a filter and with ranges, equalities and
`$in` that keep 50, 10, 1 and .01 % of the documents. Each filter is measured on its first use, in a process that keeps
the columns of its fields and no sets of documents, and where it was used before. What reads a column first is told,
too. `--vectors` made vectors are searched for a hundred hits alike. `--asked` whole searches of each filter follow over
HTTP, in turns: no two ask the same question.

With `--folder` the collection is made there once, and found there again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman_lab.benchmarks.hostile.service import Service
from dragoman_lab.benchmarks.indexes.bm25_clients import ROOT, records
from dragoman_lab.benchmarks.load.distinct_queries import draw, sentences, vary
from dragoman_lab.benchmarks.memory import processor_seconds

WIDTH = 384
SHARES = (0.5, 0.1, 0.01, 0.0001)
VALUES = 10_000
"""Distinct numbers of a field; each is in one document of so many."""
UNCACHED = "-Ddragoman.filters=0"
Figures = dict[str, float]


def metadata(key: int) -> dict[str, Any]:
    """What a document of this number has: of each field the values are spread evenly."""
    n = key * 7_919 % VALUES
    parts = {f"of{round(1 / share)}": f"v{n % round(1 / share)}" for share in SHARES}
    return {
        "n": n,
        "at": f"{1900 + n % 120}-{1 + n % 12:02}-{1 + n % 28:02}",
        "tags": [f"t{n % 7}", f"t{n % 11}"],
        **parts,
    }


def filters(share: float) -> dict[str, dict[str, Any]]:
    """Filters that keep a share of the documents."""
    parts = round(1 / share)
    among = {"n": {"$in": [0]}} if share < 0.01 else {"of100": {"$in": [f"v{n}" for n in range(round(100 * share))]}}
    return {"range": {"n": {"$lt": round(share * VALUES)}}, "equal": {f"of{parts}": "v0"}, "$in": among}


def all_filters() -> dict[tuple[str, float], Any]:
    """No filter, and each one, by kind and share."""
    of_shares = {(kind, share): filter for share in SHARES for kind, filter in filters(share).items()}
    return {("none", 1.0): None, **of_shares}


def settings(folder: Path) -> Any:
    """Those of a service without models."""
    from dragoman.engine.settings import Settings

    return Settings.from_defaults(data_dir=folder, embed="on_demand", rerank="never", ner_tagger="off")


def make(arguments: argparse.Namespace, folder: Path) -> None:
    """The collection and the table."""
    from dragoman.service.tables.schemas import UploadParameters
    from dragoman.store.library import Library

    library = Library(settings(folder))
    library.start(serving=False)
    upload = UploadParameters(source="en", target="de", format="tsv", activate=True).as_upload("words")
    library.tables.upload(upload, iter([arguments.table.read_bytes()]))
    library.collections.create("de", "de")
    numbered = enumerate(itertools.islice(sentences(arguments.data), arguments.documents))
    lines = (
        json.dumps({"id": str(key), "text": text or "-", "metadata": metadata(key)}).encode() + b"\n"
        for key, text in numbered
    )
    library.collections.import_documents("de", lines)
    library.close()


def median(ask: Callable[[], Any], times: int) -> float:
    """Milliseconds."""
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        ask()
        spent.append(time.perf_counter() - started)
    return 1e3 * statistics.median(spent)


def measure(arguments: argparse.Namespace, folder: Path) -> Figures:
    """Milliseconds, by what was measured."""
    from dragoman.engine.search.request import SearchQuery
    from dragoman.store.library import Library

    library = Library(settings(folder))
    library.start(serving=False)
    questions = [record["text"] for record in records(arguments.data / "xquad_r" / "queries" / "en.jsonl.gz")]
    questions = questions[:: max(1, len(questions) // arguments.queries)]
    figures = measure_columns(library)
    collections = library.collections
    chosen = all_filters()
    spent: dict[tuple[str, float], list[list[float]]] = {name: [[] for _ in questions] for name in chosen}

    for turn in range(arguments.rounds + 1):
        for place, question in enumerate(questions):
            for name, filter in chosen.items():
                asked = SearchQuery(query=question, query_language="en", method="psq", filter=filter, rerank=False)
                milliseconds = library.search.search(asked, "id").timings_ms.first_stage
                if turn:  # the first is for Java's compiler
                    spent[name][place].append(milliseconds)
    without = [statistics.median(times) for times in spent["none", 1.0]]
    for name, of_questions in spent.items():
        medians = [statistics.median(times) for times in of_questions]
        figures[f"psq|{name[0]}|{name[1]}"] = statistics.median(medians)
        ratios = [with_one / alone for with_one, alone in zip(medians, without, strict=True)]
        figures[f"psq ratio|{name[0]}|{name[1]}"] = statistics.median(ratios)
    for share in SHARES:
        for kind, filter in filters(share).items():
            page = collections.list_documents("de", 100, filter=filter)
            figures[f"page|{kind}|{share}"] = median(
                lambda filter=filter, page=page: collections.list_documents("de", 100, page.next, filter=filter), 9
            )
            figures[f"count|{kind}|{share}"] = median(
                lambda filter=filter: collections.delete_documents("de", filter, dry_run=True), 9
            )
    figures |= measure_vectors(library, arguments.vectors, arguments.rounds)
    library.close()
    return figures | measure_whole(arguments, folder)


def measure_whole(arguments: argparse.Namespace, folder: Path) -> Figures:
    """Milliseconds of searches over HTTP, each with a question of its own, and of the service's processor time."""
    chosen = all_filters()
    questions = vary([record["text"] for record in records(arguments.data / "xquad_r" / "queries" / "en.jsonl.gz")])
    warm_up = arguments.asked // 4
    spent: dict[tuple[str, float], list[float]] = defaultdict(list)
    computed: dict[tuple[str, float], list[float]] = defaultdict(list)
    server = Service(ROOT, folder, embed="on_demand", rerank="never", ner_tagger="off")
    server.start(warm=False)
    try:
        with server.client("none") as client:
            for turn in range(warm_up + arguments.asked):
                for name, question in zip(chosen, draw(questions, len(chosen)), strict=True):
                    body = {"query": question, "query_language": "en", "method": "psq", "rerank": False}
                    asked = body | ({"filter": chosen[name]} if chosen[name] else {})
                    processor, started = processor_seconds(server.process.pid), time.perf_counter()
                    client.post("/v1/search", json=asked).raise_for_status()
                    if turn >= warm_up:
                        spent[name].append(1e3 * (time.perf_counter() - started))
                        computed[name].append(1e3 * (processor_seconds(server.process.pid) - processor))
    finally:
        server.stop()
    return {
        f"{what}|{kind}|{share}": statistics.median(times)
        for what, measured in (("whole", spent), ("computed", computed))
        for (kind, share), times in measured.items()
    }


def measure_columns(library: Any) -> Figures:
    """Filters of fields that no filter asked for before, and others of the same fields then."""
    from dragoman.indexes.attributes.filters import parse_filter

    asked = {
        "dates": [{"at": {"$lt": f"{year}-01-01"}} for year in range(1950, 1980)],
        "list": [{"tags": f"t{n}"} for n in range(11)],
    }
    figures: Figures = {}
    with library.collections.index_of("de").use(filtered=True) as index:
        index.select_keys("*")  # reads the keys
        for kind, chosen in asked.items():
            programs = [parse_filter(filter).program(lambda names: []) for filter in chosen]
            figures[f"column|{kind}"] = median(lambda program=programs[0]: index.select_keys(program), 1)
            spent = [median(lambda program=program: index.select_keys(program), 1) for program in programs[1:]]
            figures[f"again|{kind}"] = statistics.median(spent)
    return figures


def measure_vectors(library: Any, count: int, rounds: int) -> Figures:
    """Nearest documents of made vectors, under the filters of the same index."""
    import numpy as np

    from dragoman.indexes.attributes.filters import parse_filter
    from dragoman.indexes.dense.index import DenseIndex, Embedded

    noise = np.random.default_rng(0)
    vectors = noise.standard_normal((count, WIDTH)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries = noise.standard_normal((20, WIDTH)).astype(np.float32)
    dense = DenseIndex(WIDTH)
    first = library.collections.list_documents("de", 1, texts=False).documents[0].key
    dense.put([Embedded(first + key, 1, [(0, 1)], vectors[key : key + 1]) for key in range(count)])
    index = library.collections.index_of("de")
    figures: Figures = {}
    for name, filter in [("none|1.0", None)] + [
        (f"{kind}|{share}", filter) for share in SHARES for kind, filter in filters(share).items()
    ]:

        def ask(vector: Any, filter: Any = filter) -> None:
            accepted = None
            if filter is not None:
                with index.use(filtered=True) as opened:
                    accepted = opened.select_keys(parse_filter(filter).program(lambda names: [])).keys
            dense.nearest(vector, 100, accepted=accepted)

        ask(queries[0])
        figures[f"dense|{name}"] = statistics.median(median(lambda v=vector: ask(v), rounds) for vector in queries)
    return figures


def report(first: Figures, again: Figures, arguments: argparse.Namespace) -> None:
    """Print the tables."""
    say = lambda line: print(line, flush=True)  # noqa: T201, E731
    words, vectors = ([run[f"{what}|none|1.0"] for run in (first, again)] for what in ("psq", "dense"))
    say(f"{arguments.documents} documents: psq without a filter {words[0]:.2f} / {words[1]:.2f} ms;")
    for what, unit in (("whole", "over HTTP"), ("computed", "of these the service computes")):
        say(f"{unit} {first[f'{what}|none|1.0']:.1f} / {again[f'{what}|none|1.0']:.1f} ms;")
    say(f"{arguments.vectors} vectors: {vectors[0]:.2f} / {vectors[1]:.2f} ms.")
    for kind in ("dates", "list"):
        cold, warm = first[f"column|{kind}"], first[f"again|{kind}"]
        say(f"The first filter of a column of {kind} takes {cold:.1f} ms, other ones after it {warm:.1f}.")
    say("Milliseconds on first use / used before; in brackets how many times those without a filter.\n")
    say("| filter | keeps | psq | over HTTP | computed | vectors | page of 100 | dry run |\n" + "|---" * 8 + "|")
    for share in SHARES:
        for kind in filters(share):
            name = f"{kind}|{share}"
            cells = [kind, f"{share:.2%}".replace(".00%", "%")]
            both = (first, again)
            cells.append(
                " / ".join(f"{run[f'psq|{name}']:.2f}" for run in both)
                + " (" + " / ".join(f"{run[f'psq ratio|{name}']:.2f}" for run in both) + ")"
            )  # fmt: skip
            for what in ("whole", "computed", "dense"):
                cells.append(
                    " / ".join(f"{run[f'{what}|{name}']:.2f}" for run in both)
                    + " (" + " / ".join(f"{run[f'{what}|{name}'] / run[f'{what}|none|1.0']:.2f}" for run in both) + ")"
                )  # fmt: skip
            cells += [" / ".join(f"{run[f'{what}|{name}']:.1f}" for run in both) for what in ("page", "count")]
            say(f"| {' | '.join(cells)} |")


def main() -> None:
    """Make the collection, and measure it in two processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", type=Path, default=ROOT / "dragoman" / "demo" / "table.en-de.tsv")
    parser.add_argument("--documents", type=int, default=561_000)
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=40, help="about how many")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--asked", type=int, default=300, help="searches over HTTP with each filter")
    parser.add_argument("--folder", type=Path, help="a data directory for the collection; default: a temporary one")
    parser.add_argument("--make", action="store_true", help="make the collection alone")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        print(json.dumps(measure(arguments, arguments.folder)))  # noqa: T201
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary) / "data"
        if not folder.exists():
            make(arguments, folder)
        if arguments.make:
            return
        command = [sys.executable, "-P", "-m", __spec__.name, *sys.argv[1:], "--serve", "--folder", str(folder)]
        runs = []
        for options in (UNCACHED, ""):
            environment = os.environ | {"JAVA_TOOL_OPTIONS": options}
            done = subprocess.run(command, stdout=-1, text=True, check=True, env=environment)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
        report(*runs, arguments)


if __name__ == "__main__":
    main()
