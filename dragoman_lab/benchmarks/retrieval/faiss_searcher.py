"""Pyserini's `FaissSearcher` on given vectors, for `benchmarks/retrieval/dense_search.py`, where it is installed.

    python dragoman_lab/benchmarks/retrieval/faiss_searcher.py FOLDER HITS

FOLDER has a FAISS file `index`, ids in `docid`, and `queries.npy`. Prints the milliseconds of a query, one at a time in
one thread, or the missing package, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np


def main() -> None:
    """Measure and print."""
    folder, hits = Path(sys.argv[1]), int(sys.argv[2])
    responses = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of Java must not mix with the response
    os.environ.setdefault("OPENAI_API_KEY", "unused")  # Pyserini makes a client with it as it is imported
    try:
        import faiss
        import jnius_config

        jnius_config.add_options = lambda *options: None  # of Java's vector module, which small runtimes lack
        from pyserini.search.faiss import FaissSearcher
    except Exception as fault:  # a missing package, or Java of another version
        print(json.dumps({"missing": str(fault).splitlines()[0]}), file=responses, flush=True)
        return
    faiss.omp_set_num_threads(1)
    searcher = FaissSearcher(str(folder), None)
    queries = np.load(folder / "queries.npy")
    rankings = [searcher.search(query[None], k=hits) for query in queries[:1]]
    started = time.perf_counter()
    rankings = [searcher.search(query[None], k=hits) for query in queries]
    seconds = time.perf_counter() - started
    answer = {
        "milliseconds": seconds * 1000 / len(queries),
        "hits": [[int(hit.docid) for hit in ranking] for ranking in rankings],
    }
    print(json.dumps(answer), file=responses, flush=True)


if __name__ == "__main__":
    main()
