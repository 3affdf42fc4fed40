"""Time of structured self-attention with Q_cross beside plain attention, side by side in one run.

    python -m dragoman_lab.benchmarks.reasoning.attention_speed --length 512

`attention` is the mixing of values alone; `block` has the projections of queries, keys and values and of the output as
well. The rows are without padding and without interference, as in inference: the question is the last eighth.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn import functional as F

from dragoman.reasoning.structured_attention import (
    CONTEXT,
    QUESTION,
    bilingual_attention,
    structured_attention,
    structured_masks,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    table = Table("", "plain, ms", "Q_cross, ms", "ratio", "by the masks, ms", "ratio")
    with torch.inference_mode():
        for name, works in (("attention", attention(arguments)), ("block", block(arguments))):
            plain, ours, masked = (1000 * seconds for seconds in measure(works, arguments.rounds))
            table.add_row(name, *(f"{x:.2f}" for x in (plain, ours, ours / plain, masked, masked / plain)))
    Console().print(table)


Work = Callable[[], Tensor]


def attention(arguments: argparse.Namespace) -> list[Work]:
    """Plain attention, that with Q_cross, and the same by one call with masks."""
    size = arguments.width // arguments.heads
    query, cross, key, value = (torch.randn(arguments.rows, arguments.heads, arguments.length, size) for _ in range(4))
    second = arguments.length * 7 // 8
    masks = structured_masks(languages(arguments, second))
    return [
        lambda: F.scaled_dot_product_attention(query, key, value),
        lambda: bilingual_attention(query, cross, key, value, second),
        lambda: structured_attention(query, cross, key, value, masks),
    ]


def block(arguments: argparse.Namespace) -> list[Work]:
    """The same three with their projections."""
    width, heads, second = arguments.width, arguments.heads, arguments.length * 7 // 8
    x = torch.randn(arguments.rows, arguments.length, width)
    three, four, out = (torch.nn.Linear(width, parts * width) for parts in (3, 4, 1))
    masks = structured_masks(languages(arguments, second))

    def project(layer: torch.nn.Linear) -> list[Tensor]:
        parts = layer(x).unflatten(-1, (-1, heads, width // heads))
        return list(parts.permute(2, 0, 3, 1, 4).unbind(0))

    def join(mixed: Tensor) -> Tensor:
        done: Tensor = out(mixed.transpose(1, 2).flatten(2))
        return done

    def attend_across(mix: Callable[..., Tensor], by: object) -> Tensor:
        query, key, value, cross = project(four)
        return join(mix(query, cross, key, value, by))

    return [
        lambda: join(F.scaled_dot_product_attention(*project(three))),
        lambda: attend_across(bilingual_attention, second),
        lambda: attend_across(structured_attention, masks),
    ]


def languages(arguments: argparse.Namespace, second: int) -> Tensor:
    codes = torch.full((arguments.rows, arguments.length), CONTEXT)
    codes[:, second:] = QUESTION
    return codes


def measure(works: list[Work], rounds: int) -> list[float]:
    """Median seconds of each, in rounds in turn."""
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, times in zip(works, seconds, strict=True):
            started = time.perf_counter()
            work()
            times.append(time.perf_counter() - started)
    return [statistics.median(times) for times in seconds]


if __name__ == "__main__":
    main()
