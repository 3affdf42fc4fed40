"""Heat maps of attention for `attention_patterns`: methods in rows, in-language beside transfer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
COLUMNS = ("in-language", "transfer")


def maps_picture(titles: Sequence[str], maps: Sequence[Sequence[Values]], path: Path) -> None:
    """What each part of a row (from above) attends to: `<s>`, the sentences by number, and the statement."""

    def label(axes: Any, values: Values) -> None:
        names = ["<s>", *map(str, range(1, len(values) - 1)), "statement"]
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
        axes.set_yticks(range(len(names)), names, fontsize=6)

    _side_by_side(titles, maps, label, (4.5, 4.0), path)


def patterns_picture(titles: Sequence[str], patterns: Sequence[Sequence[Values]], path: Path) -> None:
    """The share of each sentence in what the statement attends to, by layer."""

    def label(axes: Any, values: Values) -> None:
        layers, sentences = values.shape
        axes.set_xticks(range(sentences), range(1, sentences + 1), fontsize=6)
        axes.set_yticks(range(layers), range(1, layers + 1), fontsize=6)
        axes.set_xlabel("sentence")
        axes.set_ylabel("layer")

    _side_by_side(titles, patterns, label, (5.0, 2.6), path)


def _side_by_side(
    titles: Sequence[str],
    rows: Sequence[Sequence[Values]],
    label: Callable[[Any, Values], None],
    size: tuple[float, float],
    path: Path,
) -> None:
    """Pairs of heat maps, with the same colours for both of a pair."""
    pyplot = _pyplot()
    shape = {"squeeze": False, "layout": "constrained"}
    figure, grid = pyplot.subplots(len(rows), 2, figsize=(2 * size[0], len(rows) * size[1]), **shape)
    for title, row, panels in zip(titles, rows, grid, strict=True):
        most = max(float(values.max()) for values in row)
        for name, values, axes in zip(COLUMNS, row, panels, strict=True):
            image = axes.imshow(values, vmin=0, vmax=most, aspect="auto")
            axes.set_title(f"{title}, {name}")
            label(axes, values)
            figure.colorbar(image, ax=axes)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def likeness_picture(titles: Sequence[str], layers: Sequence[Sequence[float]], path: Path) -> None:
    """The correlation of both patterns by method and layer."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(1.5 + 0.8 * len(layers[0]), 1.2 + 0.6 * len(layers)), layout="constrained")
    image = axes.imshow(layers, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(layers[0])), range(1, len(layers[0]) + 1))
    axes.set_yticks(range(len(titles)), titles)
    axes.set_xlabel("layer")
    for y, row in enumerate(layers):
        for x, correlation in enumerate(row):
            axes.text(
                x, y, f"{correlation:.2f}", ha="center", va="center", color="white" if correlation < 0.6 else "black"
            )
    figure.colorbar(image)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    return pyplot
