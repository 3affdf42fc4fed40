"""Attention in one language beside attention across two, as in Figures 4 and 5 of Foroutan et al. 2023.

    python -m dragoman_lab.benchmarks.reasoning.attention_patterns --runs runs/statements \
        --output runs/statements/attention

Reads theories that no training saw with the readers that `statement_tables` trained (`--runs` is its output). For each
statement the context stays as it is, and the statement is in the context's language (the pattern in-language) or in
another one (the pattern of the transfer): en-X with an English context, X-en with one in X. A pattern is the share of
each sentence of the context in what the statement's subwords attend to there, in the mean over heads and subwords, for
each layer. How much alike both patterns are is told by Pearson's correlation over the sentences (1: the same), and by
the Jensen-Shannon divergence in bits (0: the same), in the mean over statements. `deciding` is the share of the
sentence that decides, where there is one, in-language and in the transfer.

Writes `report.json`, and for each setting three pictures. `maps-*.png` has what each sentence and the statement of an
example attend to, in the mean over layers. `patterns-*.png` has the patterns of the same example by layer, and
`likeness-*.png` the correlation by method and layer.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from dragoman.reasoning.statements import StatementReader
from dragoman.reasoning.structured_attention import Masks, attention_shares, plain_masks, structured_masks
from dragoman.reasoning.structured_encoder import QuestionRow, languages_of, row_of
from dragoman_lab.benchmarks.reasoning.attention_pictures import likeness_picture, maps_picture, patterns_picture
from dragoman_lab.benchmarks.reasoning.statement_cells import DEPTH, TEST_SEEDS, Cell, load_reader
from dragoman_lab.benchmarks.reasoning.statement_runs import METHODS
from dragoman_lab.evaluation.statement_examples import statements
from dragoman_lab.reasoning.examples import Example
from dragoman_lab.reasoning.pair_queries import PairQueries
from dragoman_lab.reasoning.theories import generate, render

Values = NDArray[np.float64]
STATEMENTS = 4
"""Of each theory."""


@dataclass(frozen=True)
class Seen:
    """What the parts of a row attend to, by layer: `<s>`, the sentences of the context, and the statement."""

    maps: Values
    """(layers, parts, parts); rows are of what attends, and add up to 1."""

    @property
    def pattern(self) -> Values:
        """The share of each sentence in what the statement attends to in the context (layers, sentences)."""
        attended = self.maps[:, -1, 1:-1]
        shares: Values = attended / attended.sum(-1, keepdims=True)
        return shares


@dataclass(frozen=True)
class Likeness:
    """How much alike the patterns of a statement are, by layer, and the deciding sentence's share in both."""

    correlation: Values
    divergence: Values
    deciding: tuple[Values, Values] | None


def main() -> None:
    arguments = parse_arguments()
    settings = {"en-X": ("en", arguments.language), "X-en": (arguments.language, "en")}
    likenesses: dict[str, dict[str, list[Likeness]]] = {}
    shown: dict[str, dict[str, tuple[Seen, Seen]]] = {}
    for method in arguments.methods.split(","):
        model, structured = reader(arguments.runs, method, arguments.seed, arguments.language, arguments.trained)
        for setting, cell in settings.items():
            pairs = [both(model, structured, *example) for example in examples(arguments.theories, cell)]
            likenesses.setdefault(setting, {})[method] = [likeness(*pair) for pair in pairs]
            shown.setdefault(setting, {})[method] = pairs[0][:2]
    arguments.output.mkdir(parents=True, exist_ok=True)
    report = {
        setting: {method: summary(some) for method, some in methods.items()} for setting, methods in likenesses.items()
    }
    for setting, methods in report.items():
        show(setting, methods)
        pictures(setting, methods, shown[setting], arguments.output)
    asked = {name: getattr(arguments, name) for name in ("seed", "language", "theories")}
    (arguments.output / "report.json").write_text(json.dumps(asked | report, indent=1) + "\n", encoding="utf-8")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="the output of statement_tables")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--methods", default="original,shared,pair")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--language", default="de", help="X")
    parser.add_argument("--trained", default="fr", help="the language that was trained beside English")
    parser.add_argument("--theories", type=int, default=40)
    return parser.parse_args()


def reader(runs: Path, method: str, seed: int, language: str, trained: str) -> tuple[StatementReader, bool]:
    """A trained reader with the Q_cross of English and a language, and whether it reads with Q_cross."""
    model, structured = load_reader(runs / "theories" / f"{method}-{seed}" / "model")
    if METHODS[method].cross == "pair":
        trained_cross, other = (cross_of(runs, code) for code in (trained, language))
        PairQueries(model.encoder, trained_cross).take(other)
    return model, structured


def cross_of(runs: Path, language: str) -> Path:
    """The Q_cross of English and a language, or of all pairs where it has none."""
    folder = runs / "cross" / language / "model"
    return folder if folder.exists() else runs / "cross" / "shared" / "model"


def examples(count: int, cell: Cell) -> list[tuple[Example, Example, list[int]]]:
    """Statements in the context's language and in the other one, with the ends of the context's sentences."""
    context, other = cell
    pairs = []
    for seed in range(TEST_SEEDS, TEST_SEEDS + count):
        puzzle = generate(seed, DEPTH)
        ends = np.cumsum([len(sentence) + 1 for sentence in render(puzzle.theory, context, seed)]) - 1
        alone = statements(puzzle, seed, context, context, STATEMENTS)
        switched = statements(puzzle, seed, context, other, STATEMENTS)
        pairs += [(*pair, ends.tolist()) for pair in zip(alone, switched, strict=True)]
    return pairs


def both(
    model: StatementReader, structured: bool, alone: Example, switched: Example, ends: list[int]
) -> tuple[Seen, Seen, int | None]:
    """What is seen in-language and in the transfer, and the number of the sentence that decides."""
    deciding = [end for _, end in alone.answers]
    first, second = (observe(model, structured, example, ends) for example in (alone, switched))
    return first, second, ends.index(deciding[0]) if deciding else None


def observe(model: StatementReader, structured: bool, example: Example, ends: Sequence[int]) -> Seen:
    """What the parts of a row attend to, in the mean over heads and subwords.

    Separators are left out, and the rest is added up anew to 1.
    """
    encoder = model.encoder.encoder
    (context,), (statement,) = encoder.subwords([example.context]), encoder.subwords([example.question])
    row = row_of(encoder, context.ids, statement.ids)
    parts = torch.full((len(row.ids),), -1)
    parts[0] = 0
    sentences = np.searchsorted(ends, [end for _, end in context.offsets])  # a space before a word may be part of it
    parts[row.first : row.first + len(context.ids)] = torch.from_numpy(sentences) + 1
    parts[row.second : row.second + len(statement.ids)] = len(ends) + 1
    chosen = torch.nn.functional.one_hot(parts[parts >= 0], len(ends) + 2).double()
    shares = attention(model, row, structured and example.bilingual)[:, parts >= 0][..., parts >= 0].double()
    sums = torch.einsum("lab,ai,bj->lij", shares, chosen / chosen.sum(0), chosen).numpy()
    return Seen(sums / sums.sum(-1, keepdims=True))


def attention(model: StatementReader, row: QuestionRow, across: bool) -> torch.Tensor:
    """The matrices A (layers, L, L) of a row, in the mean over heads."""
    ids = torch.tensor([row.ids])
    languages = languages_of([row], len(row.ids), ids.device)
    masks = structured_masks(languages) if across else plain_masks(languages)
    layers: list[torch.Tensor] = []

    def keep(block: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        layers.append(_shares(block, positional[0] if positional else named["hidden_states"], masks))

    hooks = [block.register_forward_pre_hook(keep, with_kwargs=True) for block in model.encoder.attention]
    with torch.inference_mode():
        model.encoder(ids, torch.ones_like(ids, dtype=torch.bool), masks if across else None)
    for hook in hooks:
        hook.remove()
    return torch.stack(layers)


def _shares(block: Any, states: torch.Tensor, masks: Masks) -> torch.Tensor:
    """A (L, L) of a layer's block for its input (1, L, W), in the mean over heads."""
    if hasattr(block, "in_projection"):
        query, key, _ = block.in_projection(states).chunk(3, dim=-1)
        heads = block.heads
    else:
        query, key, heads = block.query(states), block.key(states), block.own.num_attention_heads
    query, cross, key = (
        projection.unflatten(-1, (heads, -1)).transpose(1, 2) for projection in (query, block.cross(states), key)
    )
    return attention_shares(query, cross, key, masks)[0].mean(0)


def likeness(alone: Seen, switched: Seen, deciding: int | None) -> Likeness:
    """Correlation and divergence of two patterns in each layer."""
    first, second = alone.pattern, switched.pattern
    middle = (first + second) / 2
    divergence = (relative_entropy(first, middle) + relative_entropy(second, middle)) / 2
    correlation = np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(first, second, strict=True)])
    shares = None if deciding is None else (first[:, deciding], second[:, deciding])
    return Likeness(correlation, divergence, shares)


def relative_entropy(first: Values, second: Values) -> Values:
    """In bits, of each row; shares are above 0."""
    entropy: Values = (first * np.log2(first / second)).sum(-1)
    return entropy


def summary(likenesses: Sequence[Likeness]) -> dict[str, Any]:
    """Means over statements, by layer and of all layers."""

    def means(values: list[Values]) -> dict[str, Any]:
        by_layer = np.mean(values, 0)
        return {"mean": float(by_layer.mean()), "by_layer": by_layer.tolist()}

    decided = [likeness.deciding for likeness in likenesses if likeness.deciding]
    return {
        "statements": len(likenesses),
        "correlation": means([likeness.correlation for likeness in likenesses]),
        "divergence": means([likeness.divergence for likeness in likenesses]),
        "deciding_in_language": means([in_language for in_language, _ in decided]),
        "deciding_in_transfer": means([transfer for _, transfer in decided]),
    }


def show(setting: str, methods: dict[str, Any]) -> None:
    """Print the numbers of a setting in the mean over layers."""
    table = Table("method", "correlation", "divergence, bits", "deciding, in-language", "transfer", title=setting)
    names = ("correlation", "divergence", "deciding_in_language", "deciding_in_transfer")
    for method, figures in methods.items():
        table.add_row(METHODS[method].title, *(f"{figures[name]['mean']:.3f}" for name in names))
    Console().print(table)


def pictures(setting: str, methods: dict[str, Any], shown: dict[str, tuple[Seen, Seen]], folder: Path) -> None:
    """Draw what was found in a setting."""
    titles = [METHODS[method].title for method in methods]
    maps_picture(
        titles,
        [[observation.maps.mean(0) for observation in pair] for pair in shown.values()],
        folder / f"maps-{setting}.png",
    )
    patterns = [[observation.pattern for observation in pair] for pair in shown.values()]
    patterns_picture(titles, patterns, folder / f"patterns-{setting}.png")
    layers = [figures["correlation"]["by_layer"] for figures in methods.values()]
    likeness_picture(titles, layers, folder / f"likeness-{setting}.png")


if __name__ == "__main__":
    main()
