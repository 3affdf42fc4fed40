"""Whether the LLM solves more word problems within its chat: as its template has it, without a system message, or bare.

    python -m dragoman_lab.benchmarks.layalign.chat --data DATA --work runs/layalign --split tune

Greedy. A problem is solved where the last number of the answer is right.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console

from dragoman.backbone.pretrained.llm import load_llm
from dragoman_lab.benchmarks.layalign import measuring

PROMPTS = ("template", "later", "bare")
"""The frame of a first message, that of a later one, which has no system message, and none but a line's end."""
_console = Console(soft_wrap=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="where the LLM is converted to")
    parser.add_argument("--llm", default="smollm2")
    parser.add_argument("--split", choices=["tune", "test"], required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--limit", type=int, default=120, help="tokens of an answer")
    parser.add_argument("--languages", nargs="+", default=["en"])
    parser.add_argument("--prompts", nargs="+", default=PROMPTS, choices=PROMPTS)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    llm = load_llm(options.llm, options.work, dtype=torch.float32)
    frames = dict(zip(PROMPTS, (llm.chat, (llm.before, llm.after), ("", "\n")), strict=True))
    sets = measuring.sets_of(options.data, options.split, options.count)["templates"]
    for language in options.languages:
        questions = sets[language]
        for name in options.prompts:
            prompted = replace(llm, before=frames[name][0], after=frames[name][1])
            good, _ = measuring.solve(lambda texts, llm=prompted: measuring.plain(llm, texts, options.limit), questions)
            _console.print(f"{language} {name}: {sum(good)} of {len(good)}")


if __name__ == "__main__":
    main()
