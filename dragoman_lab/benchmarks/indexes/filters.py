"""Filters over the metadata of many documents: searches by words and by vectors, pages of lists, counts of deletions.

    python -m dragoman_lab.benchmarks.indexes.filters --data DATA --table runs/first_stage/tables/en-de.tsv

Documents are German sentences of DATA/parallel with made metadata, `--documents` of them in one collection, without
embeddings. English questions of XQuAD-R search it by psq for ten hits, without a filter and with ranges, equalities and
`$in` that keep 50, 10, 1 and .01 % of the documents. Each filter is measured on its first use, in a process that keeps
the columns of its fields and no sets of documents, and where it was used before. What reads a column first is told,
too. `--vectors` made vectors are searched for a hundred hits alike.

Whole searches of each filter follow over HTTP, `--asked` of each method, in turns: no two ask the same question. `psq`
is without reranking. `dense` and `hybrid` are of a collection of `--vectors` of the sentences, whose embeddings are
made of a few that the encoder made (`made_vectors.py`). So they need the encoder; `--methods psq` does without it.

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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dragoman_lab.benchmarks.indexes.bm25_clients import ROOT, records
from dragoman_lab.benchmarks.indexes.filtered_searches import BY_MEANING, METHODS, VECTORS, WORDS, measure_whole
from dragoman_lab.benchmarks.load.distinct_queries import sentences, vary

WIDTH = 384
SHARES = (0.5, 0.1, 0.01, 0.0001)
VALUES = 10_000
"""Distinct numbers of a field; each is in one document of so many."""
ENCODED = 500
"""Sentences that the encoder encodes, of which the other embeddings are made."""
ONE_SET = 1.2
"""Room for sets of documents on first use, in those of one filter: all stages of a search find its filter, and the next
search has another one."""
PAGE = 100
"""Documents of a page of a list, and of a deletion."""
DELETIONS = 9
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
    """The collections and the table, as far as they are not there."""
    from dragoman.service.tables.schemas import UploadParameters
    from dragoman.store.library import Library

    library = Library(settings(folder))
    library.start(serving=False)
    there = {record.name for record in library.source.collections()}
    if WORDS not in there:
        upload = UploadParameters(source="en", target="de", format="tsv", activate=True).as_upload("words")
        library.tables.upload(upload, iter([arguments.table.read_bytes()]))
        add_documents(library, WORDS, arguments.data, arguments.documents)
    if VECTORS not in there and BY_MEANING & set(arguments.methods):
        from dragoman_lab.benchmarks.indexes.made_vectors import store_made_vectors

        add_documents(library, VECTORS, arguments.data, arguments.vectors)
        few = itertools.islice(sentences(arguments.data), 0, arguments.vectors, max(1, arguments.vectors // ENCODED))
        store_made_vectors(library, VECTORS, list(few))
    library.close()


def add_documents(library: Any, name: str, data: Path, count: int) -> None:
    """A collection of sentences with metadata."""
    library.collections.create(name, "de")
    library.collections.import_documents(name, documents(data, count))


def documents(data: Path, count: int) -> Iterator[bytes]:
    """The lines of an import: sentences with metadata."""
    for key, text in enumerate(itertools.islice(sentences(data), count)):
        yield json.dumps({"id": str(key), "text": text or "-", "metadata": metadata(key)}).encode() + b"\n"


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
    figures: Figures = {}
    questions = [record["text"] for record in records(arguments.data / "xquad_r" / "queries" / "en.jsonl.gz")]
    if not arguments.whole:
        figures = measure_parts(arguments, folder, questions[:: max(1, len(questions) // arguments.queries)])
    return figures | measure_whole(folder, vary(questions), all_filters(), arguments.methods, arguments.asked)


def measure_parts(arguments: argparse.Namespace, folder: Path, questions: Sequence[str]) -> Figures:
    """Milliseconds of the first stage, of lists, of counts and of vectors, in this process."""
    from dragoman.store.library import Library

    library = Library(settings(folder))
    library.start(serving=False)
    figures = measure_columns(library) | measure_first_stage(library, questions, arguments.rounds)
    collections = library.collections
    for share in SHARES:
        for kind, filter in filters(share).items():
            page = collections.list_documents(WORDS, PAGE, filter=filter)
            figures[f"page|{kind}|{share}"] = median(
                lambda filter=filter, page=page: collections.list_documents(WORDS, PAGE, page.next, filter=filter), 9
            )
            figures[f"count|{kind}|{share}"] = median(
                lambda filter=filter: collections.delete_documents(WORDS, filter, dry_run=True), 9
            )
    figures |= measure_vectors(library, arguments.vectors, arguments.rounds)
    figures |= measure_deletion(library, arguments)
    library.close()
    return figures


def measure_first_stage(library: Any, questions: Sequence[str], rounds: int) -> Figures:
    """Milliseconds of the first stage of `psq`."""
    from dragoman.engine.search.request import SearchQuery

    figures: Figures = {}
    chosen = all_filters()
    spent: dict[tuple[str, float], list[list[float]]] = {name: [[] for _ in questions] for name in chosen}

    for turn in range(rounds + 1):
        for place, question in enumerate(questions):
            for name, filter in chosen.items():
                asked = SearchQuery(
                    query=question,
                    query_language="en",
                    collections=[WORDS],
                    method="psq",
                    filter=filter,
                    rerank=False,
                )
                milliseconds = library.search.search(asked, "id").timings_ms.first_stage
                if turn:  # the first is for Java's compiler
                    spent[name][place].append(milliseconds)
    without = [statistics.median(times) for times in spent["none", 1.0]]
    for name, of_questions in spent.items():
        medians = [statistics.median(times) for times in of_questions]
        figures[f"psq|{name[0]}|{name[1]}"] = statistics.median(medians)
        ratios = [with_one / alone for with_one, alone in zip(medians, without, strict=True)]
        figures[f"psq ratio|{name[0]}|{name[1]}"] = statistics.median(ratios)
    return figures


def measure_columns(library: Any) -> Figures:
    """Filters of fields that no filter asked for before, and others of the same fields then."""
    from dragoman.indexes.attributes.filters import parse_filter

    asked = {
        "dates": [{"at": {"$lt": f"{year}-01-01"}} for year in range(1950, 1980)],
        "list": [{"tags": f"t{n}"} for n in range(11)],
    }
    figures: Figures = {}
    with library.collections.index_of(WORDS).use(filtered=True) as index:
        index.select_keys("*")  # reads the keys
        for kind, chosen in asked.items():
            programs = [parse_filter(filter).program(lambda names: []) for filter in chosen]
            figures[f"column|{kind}"] = median(lambda program=programs[0]: index.select_keys(program), 1)
            spent = [median(lambda program=program: index.select_keys(program), 1) for program in programs[1:]]
            figures[f"again|{kind}"] = statistics.median(spent)
    return figures


def measure_deletion(library: Any, arguments: argparse.Namespace) -> Figures:
    """Deletions of about a hundred documents by a filter; they are stored again."""
    values = max(1, round(PAGE * VALUES / arguments.documents))
    first = VALUES - DELETIONS * values
    chosen = iter([{"n": {"$gte": low, "$lt": low + values}} for low in range(first, VALUES, values)])
    spent = median(lambda: library.collections.delete_documents(WORDS, next(chosen)), DELETIONS)
    lines = documents(arguments.data, arguments.documents)
    library.collections.import_documents(WORDS, (line for line in lines if json.loads(line)["metadata"]["n"] >= first))
    return {"deletion": spent}


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
    first = library.collections.list_documents(WORDS, 1, texts=False).documents[0].key
    dense.put([Embedded(first + key, 1, [(0, 1)], vectors[key : key + 1]) for key in range(count)])
    index = library.collections.index_of(WORDS)
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
    if not arguments.whole:
        report_parts(first, again, arguments)
    say("\nWhole searches over HTTP; in the second brackets of the service's processor time.\n")
    say(f"| filter | keeps | {' | '.join(arguments.methods)} |\n" + "|---" * (2 + len(arguments.methods)) + "|")
    for kind, share in all_filters():
        cells = [kind, _percent(share)]
        for method in arguments.methods:
            whole, computed = f"whole|{method}|", f"computed|{method}|"
            cells.append(f"{_cell(first, again, whole, kind, share)} {_ratios(first, again, computed, kind, share)}")
        say(f"| {' | '.join(cells)} |")


def report_parts(first: Figures, again: Figures, arguments: argparse.Namespace) -> None:
    """Print the table of what is measured in the process."""
    words, vectors = ([run[f"{what}|none|1.0"] for run in (first, again)] for what in ("psq", "dense"))
    say(f"{arguments.documents} documents: psq without a filter {words[0]:.2f} / {words[1]:.2f} ms;")
    say(f"{arguments.vectors} vectors: {vectors[0]:.2f} / {vectors[1]:.2f} ms.")
    for kind in ("dates", "list"):
        cold, warm = first[f"column|{kind}"], first[f"again|{kind}"]
        say(f"The first filter of a column of {kind} takes {cold:.1f} ms, other ones after it {warm:.1f}.")
    say(f"A deletion of about {PAGE} documents by a filter takes {again['deletion']:.1f} ms.")
    say("Milliseconds on first use / used before; in brackets how many times those without a filter.\n")
    say("| filter | keeps | psq | vectors | page of 100 | dry run |\n" + "|---" * 6 + "|")
    for share in SHARES:
        for kind in filters(share):
            name, both = f"{kind}|{share}", (first, again)
            ratios = " / ".join(f"{run[f'psq ratio|{name}']:.2f}" for run in both)
            cells = [kind, _percent(share), f"{_both(first, again, f'psq|{name}')} ({ratios})"]
            cells.append(_cell(first, again, "dense|", kind, share))
            cells += [_both(first, again, f"{what}|{name}") for what in ("page", "count")]
            say(f"| {' | '.join(cells)} |")


def say(line: str) -> None:
    """Print a line."""
    print(line, flush=True)  # noqa: T201


def _percent(share: float) -> str:
    return f"{share:.2%}".replace(".00%", "%")


def _both(first: Figures, again: Figures, name: str) -> str:
    return f"{first[name]:.2f} / {again[name]:.2f}"


def _cell(first: Figures, again: Figures, what: str, kind: str, share: float) -> str:
    return f"{_both(first, again, f'{what}{kind}|{share}')} {_ratios(first, again, what, kind, share)}"


def _ratios(first: Figures, again: Figures, what: str, kind: str, share: float) -> str:
    ratios = [run[f"{what}{kind}|{share}"] / run[f"{what}none|1.0"] for run in (first, again)]
    return f"({ratios[0]:.2f} / {ratios[1]:.2f})"


def main() -> None:
    """Make the collection, and measure it in two processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", type=Path, default=ROOT / "dragoman" / "demo" / "table.en-de.tsv")
    parser.add_argument("--documents", type=int, default=561_000)
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=40, help="about how many")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--asked", type=int, default=300, help="searches over HTTP with each filter, of each method")
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=[*METHODS], help="of searches over HTTP")
    parser.add_argument("--whole", action="store_true", help="searches over HTTP alone")
    parser.add_argument("--folder", type=Path, help="a data directory for the collection; default: a temporary one")
    parser.add_argument("--make", action="store_true", help="make the collection alone")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        print(json.dumps(measure(arguments, arguments.folder)))  # noqa: T201
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary) / "data"
        make(arguments, folder)
        if arguments.make:
            return
        command = [sys.executable, "-P", "-m", __spec__.name, *sys.argv[1:], "--serve", "--folder", str(folder)]
        runs = []
        room = int(ONE_SET * max(arguments.documents, arguments.vectors) / 8)
        for options in (f"-Ddragoman.filters={room}", ""):
            environment = os.environ | {"JAVA_TOOL_OPTIONS": options}
            done = subprocess.run(command, stdout=-1, text=True, check=True, env=environment)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
        first, again = runs
        report(first, again, arguments)


if __name__ == "__main__":
    main()
