"""What the analysis of each language costs: size of the index, speed of an import, time of a search.

    python -m dragoman_lab.benchmarks.indexes.languages --data DATA [--baseline CHECKOUT]

Each checkout is served. Runs of five FLORES sentences are imported over HTTP into a collection of each language, and
English questions of XQuAD-R (those for tuning) search it by `psq` with the language's dictionary as a table, one at a
time. Checkouts take turns; a round of both before the first is not counted. Printed are MB of the index on the disk
once the service has stopped, kB of text a second (the median of the rounds), and milliseconds a search (the median of
all). With `--baseline` each cell is before / now / their ratio, where above 1 is more of it now.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from dragoman_lab.benchmarks.hostile.service import Service
from dragoman_lab.benchmarks.retrieval.first_stage import dictionary_pairs
from dragoman_lab.evaluation.benchmark import part_of

ROOT = Path(__file__).resolve().parents[3]
LANGUAGES = [
    "ar",
    "cs",
    "de",
    "el",
    "en",
    "es",
    "fa",
    "fi",
    "fr",
    "hi",
    "id",
    "it",
    "ja",
    "nl",
    "pt",
    "ru",
    "sw",
    "th",
    "tr",
    "vi",
    "zh",
]
SENTENCES = 5
STEP = 2
NDJSON = {"Content-Type": "application/x-ndjson"}


@dataclass
class Figures:
    """What one checkout took for a language."""

    megabytes: float = 0.0
    rates: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def row(self) -> tuple[float, float, float]:
        """MB, kB of text a second, milliseconds a search."""
        return self.megabytes, statistics.median(self.rates), statistics.median(self.times)


def lines(path: Path) -> list[dict[str, str]]:
    """The records of a file with one a line."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def passages(data_folder: Path, language: str) -> list[str]:
    """Runs of sentences that overlap."""
    texts = [row["text"] for row in lines(data_folder / "flores200" / f"{language}.jsonl.gz")]
    return [" ".join(texts[start : start + SENTENCES]) for start in range(0, len(texts) - SENTENCES + 1, STEP)]


class Checkout:
    """A service of one checkout and what it took."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._folder = folder
        self._service = Service(root, folder, rerank="never", embed="on_demand", index_commit_seconds="3600")
        self._service.start()
        self._client: httpx.Client = self._service.client("none")
        self._indexes: dict[str, Path] = {}
        self.figures: dict[str, Figures] = defaultdict(Figures)

    def prepare(self, data_folder: Path, language: str) -> None:
        """Upload the language's table."""
        pairs = dict.fromkeys(dictionary_pairs(data_folder, language))
        if pairs:
            table = "".join(f"{english}\t{foreign}\n" for english, foreign in pairs).encode()
            parameters = {"source": "en", "target": language, "activate": "true"}
            self._client.put(f"/v1/tables/{language}", params=parameters, content=table).raise_for_status()

    def measure(self, language: str, round_index: int, texts: list[str], questions: list[str]) -> None:
        """Import and search once; round 0 is not counted."""
        name = f"{language}_{round_index}"
        before = self._builds()
        self._client.post("/v1/collections", json={"name": name, "language": language}).raise_for_status()
        body = "".join(
            json.dumps({"id": str(place), "text": text}, ensure_ascii=False) + "\n" for place, text in enumerate(texts)
        ).encode()
        started = time.perf_counter()
        sent = self._client.post(f"/v1/collections/{name}/documents", content=body, headers=NDJSON).raise_for_status()
        seconds = time.perf_counter() - started
        if sent.json()["accepted"] != len(texts):
            raise SystemExit(f"{name}: {sent.text}")
        (self._indexes[language],) = self._builds() - before
        times = []
        for question in questions:
            asked = {"query": question, "query_language": "en", "collections": [name], "method": "psq"}
            started = time.perf_counter()
            self._client.post("/v1/search", json=asked).raise_for_status()
            times.append(1e3 * (time.perf_counter() - started))
        if round_index:
            self.figures[language].rates.append(sum(map(len, map(str.encode, texts))) / 1e3 / seconds)
            self.figures[language].times += times

    def stop(self) -> None:
        """End the service, and measure the indexes."""
        self._client.close()
        self._service.stop()
        for language, folder in self._indexes.items():
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            self.figures[language].megabytes = size / 1e6

    def _builds(self) -> set[Path]:
        return set((self._folder / "indexes").iterdir())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--baseline", type=Path, help="another checkout, which is tried beside this one")
    parser.add_argument("--languages", nargs="+", default=LANGUAGES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--questions", type=int, default=60)
    arguments = parser.parse_args()
    roots = [arguments.baseline.resolve(), ROOT] if arguments.baseline else [ROOT]
    asked = lines(arguments.data / "xquad_r" / "queries" / "en.jsonl.gz")
    questions = [row["text"] for row in asked if part_of(row) == "tune"][: arguments.questions]
    with tempfile.TemporaryDirectory() as folder:
        checkouts = [Checkout(root, Path(folder, str(index))) for index, root in enumerate(roots)]
        for language in arguments.languages:
            texts = passages(arguments.data, language)
            for checkout in checkouts:
                checkout.prepare(arguments.data, language)
            for round_index in range(arguments.rounds + 1):
                for checkout in checkouts:
                    checkout.measure(language, round_index, texts, questions)
        for checkout in checkouts:
            checkout.stop()
    say = lambda line: print(line, flush=True)  # noqa: T201, E731
    say("| language | MB of index | kB of text a second | ms a search |\n|---|---|---|---|")
    for language in arguments.languages:
        rows = [checkout.figures[language].row() for checkout in checkouts]
        cells = []
        for column, digits in enumerate((2, 0, 1)):
            cell = " / ".join(f"{row[column]:.{digits}f}" for row in rows)
            cells.append(cell + (f" / {rows[-1][column] / rows[0][column]:.2f}" if len(rows) > 1 else ""))
        say(f"| {language} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
