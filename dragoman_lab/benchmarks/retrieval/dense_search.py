"""Time of exact search among passage vectors, and of other operations of the dense index, on one core.

OMP_NUM_THREADS=1 python -m dragoman_lab.benchmarks.retrieval.dense_search --passages 10000,100000,1000000

With `--pyserini PYTHON`, an interpreter of an environment with pyserini, faiss-cpu and Java 21 or later, Pyserini's
`FaissSearcher` searches the same vectors in a process of its own, and must find the same passages.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import faiss
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sqlalchemy import insert

from dragoman.indexes.dense.index import DenseIndex, Embedded
from dragoman.store.collections.stored_embeddings import StoredEmbeddings
from dragoman.store.database import open_store
from dragoman.store.models import Collection, Document

QUERIES = 20
HITS = 100
_DOCUMENTS_PER_BATCH = 10_000
_STORED_AT_ONCE = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", default="10000,100000", help="numbers of passages, comma-separated")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--pyserini", metavar="PYTHON", help="also measure FaissSearcher, with this interpreter")
    arguments = parser.parse_args()
    table = Table("passages", "search, ms", "FaissSearcher, ms", "add, s", "delete one, ms", "store, s", "read, s")
    for passages in map(int, arguments.passages.split(",")):
        table.add_row(f"{passages:,}", *measure(passages, arguments.width, arguments.pyserini))
    Console().print(table)


def measure(passages: int, width: int, pyserini: str | None = None) -> list[str]:
    """Seconds or milliseconds of each operation on random unit vectors, with one passage per document."""
    noise = np.random.default_rng(0)
    index = DenseIndex(width)
    flat = faiss.IndexFlatIP(width)
    add = 0.0
    for first in range(0, passages, _DOCUMENTS_PER_BATCH):
        count = min(_DOCUMENTS_PER_BATCH, passages - first)
        vectors = noise.standard_normal((count, width), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        documents = [Embedded(first + row, 1, [(0, 1)], vectors[row : row + 1]) for row in range(count)]
        flat.add(vectors)
        add += seconds(lambda documents=documents: index.put(documents))
    queries = noise.standard_normal((QUERIES, width), dtype=np.float32)
    search = seconds(lambda: [index.search(query, HITS) for query in queries]) / QUERIES
    theirs = "-" if pyserini is None else faiss_searcher(pyserini, flat, queries, index)
    delete = seconds(lambda: index.delete([0]))
    with tempfile.TemporaryDirectory() as folder:
        store, read = store_and_read(Path(folder), index)
    return [f"{search * 1000:.1f}", theirs, f"{add:.2f}", f"{delete * 1000:.1f}", f"{store:.2f}", f"{read:.2f}"]


def store_and_read(folder: Path, index: DenseIndex) -> tuple[float, float]:
    """Seconds to store all embeddings in SQLite, 64 documents at a time, and to read them into a new index."""
    with open_store(f"sqlite:///{folder / 'benchmark.db'}") as database:
        with database.write() as session:
            session.add(Collection(id=1, name="c", language="en"))
            session.flush()
            fields = {"collection_id": 1, "language": "en", "text": "", "generation": 1, "deleted": False}
            session.execute(insert(Document), [{"key": key, "id": str(key), **fields} for key in index.generations])
        source = StoredEmbeddings(database)
        source.begin_embeddings(1, "encoder")
        documents = iter(index.get(index.generations))

        def store() -> None:
            while batch := list(islice(documents, _STORED_AT_ONCE)):
                source.put_embeddings(1, "encoder", batch)

        def read() -> None:
            copy = DenseIndex(index.width)
            for batch in source.embeddings(1, index.width, 0):
                copy.put(batch)

        return seconds(store), seconds(read)


def faiss_searcher(python: str, flat: faiss.IndexFlatIP, queries: NDArray[np.float32], index: DenseIndex) -> str:
    """Milliseconds of a query with Pyserini's FaissSearcher on the same vectors, or what is missing.

    Raises:
        SystemExit: it found other passages.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        faiss.write_index(flat, str(folder / "index"))
        (folder / "docid").write_text("\n".join(map(str, range(flat.ntotal))), encoding="utf-8")
        np.save(folder / "queries.npy", queries)
        command = [python, str(Path(__file__).with_name("faiss_searcher.py")), name, str(HITS)]
        answer = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
    if "missing" in answer:
        return f"missing: {answer['missing']}"
    for query, theirs in zip(queries, answer["hits"], strict=True):
        if [hit.key for hit in index.search(query, HITS)] != theirs:
            raise SystemExit("FaissSearcher found other passages")
    return f"{answer['milliseconds']:.1f}"


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
