"""Similarity of words and their translations by layer: MART's Figure 4.

    python -m dragoman_lab.benchmarks.reranking.mart_similarity \\
        --lists runs/mart/tables-test/lists/xquad_r-sentence-en-de --output runs/mart/similarity

For pairs of a query and a relevant document, measures the cosine similarity of the states of query words and passage
words that are translations in the table. Measures that of as many random other pairs, too. Both are taken after the
embeddings and each layer, with and without the table. Writes `similarity.json` and `similarity.png`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.ranking.attention import NO_LINKS, Links
from dragoman.ranking.checkpoints import load_mart
from dragoman.ranking.mart import Mart
from dragoman.ranking.passages import Passage, passages
from dragoman.ranking.scoring import rows_of
from dragoman_lab.ranking.lists import Lists, read_lists

LIKELY = 0.3
"""Minimal T of a pair of translations."""

Pairs = list[tuple[int, int]]


def main() -> None:
    """Measure, write and plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--model", default="mart")
    parser.add_argument("--queries", type=int, default=200)
    arguments = parser.parse_args()
    model, about = load_mart(arguments.model)
    lists = read_lists(arguments.lists)
    random = np.random.default_rng(1)
    sums: dict[str, list[NDArray[np.float64]]] = {}
    for index in range(min(arguments.queries, len(lists))):
        for name, values in similarities(model, lists, index, random).items():
            sums.setdefault(name, []).append(values)
    means = {name: np.mean(values, 0).round(4).tolist() for name, values in sums.items()}
    arguments.output.mkdir(parents=True, exist_ok=True)
    report = {"model": about.name, "lists": str(arguments.lists), "queries": len(next(iter(sums.values()))), **means}
    (arguments.output / "similarity.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    plot(means, arguments.output / "similarity.png")
    for name, values in means.items():
        print(f"{name}: {' '.join(f'{similarity:.2f}' for similarity in values)}")  # noqa: T201


def similarities(
    model: Mart, lists: Lists, query_index: int, random: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Mean similarities (layers + 1,) of translations and random pairs; empty for a query without pairs."""
    candidate_list = lists[query_index]
    relevant = [candidate for candidate in candidate_list.candidates if candidate.relevant]
    if not relevant:
        return {}
    (links,) = lists.links(candidate_list.query, [relevant[0].text], "mean")
    texts = lists.text(candidate_list.query), [lists.text(relevant[0].text)]
    row = next(passages(model.encoder, texts[0], texts[1], [links]))
    likely = links.weights >= LIKELY
    translations = list(zip(links.left[likely].tolist(), links.right[likely].tolist(), strict=True))
    linked = set(zip(links.left.tolist(), links.right.tolist(), strict=True))
    queries, words = (sorted(set(pieces[pieces >= 0].tolist())) for pieces in (row.row.query, row.row.passage))
    others = [(left, right) for left in queries for right in words if (left, right) not in linked]
    translations = [(left, right) for left, right in translations if left in queries and right in words]
    if not translations or not others:
        return {}
    chosen = [others[index] for index in random.integers(0, len(others), len(translations))]
    means = {}
    for name, table_links in (("with table", links), ("without", NO_LINKS)):
        states = read_states(model, texts, table_links)
        means[f"translations, {name}"] = mean_similarity(states, row, translations)
        means[f"random pairs, {name}"] = mean_similarity(states, row, chosen)
    return means


def read_states(model: Mart, texts: tuple[object, list[object]], links: Links) -> list[Tensor]:
    """The states (length, width) after the embeddings and each layer."""
    row = next(passages(model.encoder, texts[0], texts[1], [links]))  # type: ignore[arg-type]
    with torch.inference_mode():
        return [state[0] for state in model.states(rows_of(model.encoder, [row], torch.device("cpu")))]


def mean_similarity(states: list[Tensor], row: Passage, pairs: Pairs) -> NDArray[np.float64]:
    """The mean cosine similarity of pairs (query word, passage word) in each layer."""
    values = []
    for state in states:
        cosines = [
            torch.cosine_similarity(
                word(state, row.row.first, row.row.query, left), word(state, row.row.second, row.row.passage, right), 0
            ).item()
            for left, right in pairs
        ]
        values.append(float(np.mean(cosines)))
    return np.asarray(values)


def word(state: Tensor, start: int, pieces: NDArray[np.int64], index: int) -> Tensor:
    """The mean state (width,) of a word's subwords."""
    positions = torch.from_numpy(start + np.flatnonzero(pieces == index))
    return state[positions].mean(0)


def plot(means: dict[str, list[float]], path: Path) -> None:
    """One line per kind of pair."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, values in means.items():
        axes.plot(range(len(values)), values, label=name, linestyle="-" if "with table" in name else "--", marker="o")
    axes.set_xlabel("layer (0: embeddings)")
    axes.set_ylabel("cosine similarity")
    axes.set_xticks(range(len(next(iter(means.values())))))
    axes.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
