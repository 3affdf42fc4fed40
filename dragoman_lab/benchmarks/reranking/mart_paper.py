"""The comparisons of MART's paper over multilingual-e5-small, with all that they need: a few hours on two cores.

    python -m dragoman_lab.benchmarks.reranking.mart_paper --data DATA

Makes, under `runs`, the tables of permissive data, and the lists that MART learns from (configs/mart-e5.toml, those of
marked answers alone). Makes hybrid's best 20 for the test and the tuning questions, too, and copies of these with the
links of one kind of table. Then trains and tests each variant with every seed and prints MAP by task and variant
(`mart_tables`: Tables 2 to 4 and, by the numbers of layers, Figure 5), and draws how near translations come
(`mart_similarity`: Figure 4). What is there already is kept, so an interrupted run can be resumed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from dragoman.backbone.loading import load_encoder
from dragoman_lab.backbone.config import read_config
from dragoman_lab.evaluation.candidate_sources import MartSources, prepare

LEARNED = ("ar", "de", "fr", "hi", "sw", "zh")
"""The languages of the training."""
TESTED = ("de", "es", "ru", "zh", "ar", "th", "el", "hi", "sw")
TUNED = ("ar", "de", "hi", "zh")
VARIANTS = ("bert", "placebo", "mart", "dictionary at search", "learned at search", "one layer", "three layers")
RUNS = Path("runs")
TEST, TUNE = (RUNS / "mart" / f"hybrid-{split}" for split in ("test", "tune"))
TABLES = {"both": RUNS / "permissive", "dictionaries": RUNS / "dictionaries", "parallel": RUNS / "learned"}


def main() -> None:
    """Run every step that has not been run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=40, help="of each task, evenly spaced")
    arguments = parser.parse_args()
    for command in table_commands(arguments.data):
        run(command)
    sources = MartSources.parse_below(read_config(Path("dragoman_lab/configs/mart-e5.toml"))["sources"], arguments.data)
    marked_sources = sources.model_copy(
        update={"judged": [], "parallel": []}
    )  # only marked answers: no first stage makes their labels
    prepare(marked_sources, load_encoder("e5-small"), RUNS / "mart" / "e5-lists", RUNS / "mart" / "e5-tuning", print)
    for command in comparison_commands(arguments.data, arguments.seeds, arguments.queries):
        run(command)


def table_commands(data_folder: Path) -> Iterator[list[str]]:
    """That make the tables of permissive data, of all, of dictionaries and of parallel text."""
    for knowledge, folder in TABLES.items():
        languages = LEARNED if knowledge == "dictionaries" else sorted({*LEARNED, *TESTED})
        options = ["--data", str(data_folder), "--output", str(folder), "--permissive", "--tables-only"]
        yield ["retrieval.first_stage", *options, "--knowledge", knowledge, "--languages", ",".join(languages)]


def comparison_commands(data_folder: Path, seeds: int, queries: int) -> Iterator[list[str]]:
    """That make the test and tuning lists, and then the tables and the figure."""
    for folder, languages in ((TEST, TESTED), (TUNE, TUNED)):
        options = ["--data", str(data_folder), "--tables", str(TABLES["both"] / "tables"), "--output", str(folder)]
        options += ["--method", "hybrid", "--depth", "20", "--units", "sentence", "--lists-alone", "--no-flores"]
        split = folder.name.removeprefix("hybrid-")
        yield ["reranking.quality", *options, "--split", split, "--languages", ",".join(languages)]
    lists = [str(folder / "lists") for folder in (TEST, TUNE)]
    for links, knowledge in (("dictionary", "both"), ("learned", "parallel")):
        tables = str(TABLES[knowledge] / "tables")
        yield ["reranking.mart_relinked", "--links", links, "--tables", tables, "--lists", *lists]
    models = RUNS / "mart" / "tables"
    options = ["--config", "dragoman_lab/configs/mart-e5-tables.toml", "--test", lists[0], "--tuning", lists[1]]
    options += ["--queries", str(queries), "--depth", "20", "--seeds", str(seeds), "--variants", ",".join(VARIANTS)]
    yield ["reranking.mart_tables", *options, "--output", str(models)]
    for model in (f"{variant}-{seed}" for variant in ("mart", "bert") for seed in range(1, seeds + 1)):
        options = ["--model", str(models / model / "model"), "--queries", "100"]
        options += ["--lists", str(TEST / "lists" / "xquad_r-sentence-en-de")]
        yield ["reranking.mart_similarity", *options, "--output", str(RUNS / "mart" / f"similarity-{model}")]


def run(command: list[str]) -> None:
    """
    Raises:
        CalledProcessError: if it fails.
    """
    subprocess.run([sys.executable, "-m", f"dragoman_lab.benchmarks.{command[0]}", *command[1:]], check=True)


if __name__ == "__main__":
    main()
