"""Tokens a second that are generated through a bridge: 1, 8 and 32 requests at a time, beside plain generation.

    python -m dragoman_lab.benchmarks.layalign.decoding_speed --work runs/layalign

A bridge with random weights and gates takes as long as a trained one. "Plain" is `generate` of transformers with the
same LLM and soft prompts, one request after the other, and no encoder's states to attend to. Each measure is the best
of the rounds, which take turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.pretrained import smollm2
from dragoman.backbone.pretrained.llm import load_llm
from dragoman.reasoning.layalign.decoding import Decoder, Stream
from dragoman.reasoning.layalign.model import LayAlign, LayAlignConfig, Prompt
from dragoman.reasoning.layalign.states import read_texts

TEXT = "Anna hat drei Äpfel und kauft vier dazu, dann isst sie zwei. Wie viele Äpfel hat sie jetzt?"
CONCURRENT = (1, 8, 32)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the converted LLM")
    parser.add_argument("--tokens", type=int, default=64, help="of each answer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plain", type=int, default=4, help="requests of plain generation")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    encoder = load_encoder("e5-small")
    llm = replace(load_llm(smollm2.NAME, options.work), ends=[])  # so every answer has all its tokens
    fused, bare = (
        LayAlign(llm, encoder.width, encoder.layers, LayAlignConfig(fusion=fusion)).eval()
        for fusion in ("layers", "none")
    )
    torch.nn.init.normal_(fused.bridge.gates, std=0.05)
    runs: dict[str, Callable[[], int]] = {
        "plain generate, one after the other": lambda: plain(bare, encoder, options.plain, options.tokens),
        "soft prompt alone, 1 at a time": lambda: decode(bare, encoder, 1, options.tokens),
    }
    for count in CONCURRENT:
        runs[f"LayAlign, {count} at a time"] = lambda count=count: decode(fused, encoder, count, options.tokens)
    best = dict.fromkeys(runs, 0.0)
    for _ in range(options.rounds):
        for name, run in runs.items():
            begun = time.perf_counter()
            tokens = run()
            best[name] = max(best[name], tokens / (time.perf_counter() - begun))
    first = best["plain generate, one after the other"]
    table = Table("", "tokens/s", "times plain", title=f"{options.tokens} tokens an answer, {options.threads} threads")
    for name, rate in best.items():
        table.add_row(name, f"{rate:.1f}", f"{rate / first:.2f}")
    Console().print(table)


def decode(model: LayAlign, encoder: Encoder, count: int, tokens: int) -> int:
    """Answer so many requests together; returns their tokens."""
    ids = encoder.frame(encoder.subwords([TEXT])[0].ids)
    streams = [
        Stream(ids, Prompt(model.llm.ids(model.llm.before), model.llm.ids(model.llm.after)), tokens)
        for _ in range(count)
    ]
    decoder = Decoder(model, encoder)
    while not all(stream.done for stream in streams):
        decoder.advance(streams, 4)
    return sum(len(stream.tokens) for stream in streams)


@torch.inference_mode()
def plain(model: LayAlign, encoder: Encoder, count: int, tokens: int) -> int:
    """Answer so many requests one after the other by `generate`; returns their tokens."""
    ids = encoder.frame(encoder.subwords([TEXT])[0].ids)
    prompt = Prompt(model.llm.ids(model.llm.before), model.llm.ids(model.llm.after))
    for _ in range(count):
        read = read_texts(encoder, [ids], torch.device("cpu"))
        embeds, mask, _ = model.embed_rows(read, [prompt])
        generated = model.llm.model.generate(
            inputs_embeds=embeds, attention_mask=mask.long(), do_sample=False, pad_token_id=0, eos_token_id=None,
            min_new_tokens=tokens, max_new_tokens=tokens,
        )  # fmt: skip
        assert generated.shape[1] == tokens
    return count * tokens


if __name__ == "__main__":
    main()
