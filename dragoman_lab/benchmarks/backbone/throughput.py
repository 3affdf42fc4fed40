"""Training throughput of the backbone, against the machine's matrix rate and against transformers' BERT.

    python -m dragoman_lab.benchmarks.backbone.throughput [--device cuda] [--layers 24 --width 1024 --batch 64 \
        --length 512]

One run alternates between three things. They are a large bfloat16 matrix product, and forward and backward pass of our
encoder path and of `BertModel` of the same shape. The third is a complete masked-LM step (masking, both passes, loss,
AdamW) of ours and of `BertForMaskedLM` on the same subwords. BERT runs with both attention implementations, sdpa (its
default) and eager. Operations are 6 per weight of a matrix product and token, plus the products of attention; rates are
operations per second. Reports medians over the rounds.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM, BertModel

from dragoman.backbone.veco import Veco, VecoConfig
from dragoman_lab.backbone.corpus import Pairs
from dragoman_lab.backbone.objectives import losses
from dragoman_lab.backbone.workers import keep_freed_memory

BF16 = torch.bfloat16
ATTENTIONS = ("sdpa", "eager")


def rate(work: Callable[[], object], seconds: float, device: str) -> float:
    """Runs per second of `work` during about `seconds`, after a warm-up run."""
    work()
    _wait(device)
    started, runs = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        work()
        _wait(device)
        runs += 1
    return runs / (time.perf_counter() - started)


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def matrix_product(size: int, device: str) -> tuple[Callable[[], object], float]:
    """A bfloat16 product of two square matrices, and its operations."""
    a, b = (torch.randn(size, size, device=device).to(BF16) for _ in range(2))
    return lambda: a @ b, 2.0 * size**3


def operations(config: VecoConfig, batch: int, length: int) -> float:
    """Operations of forward and backward pass of the encoder path."""
    weights = config.layers * (4 * config.width**2 + 2 * config.width * config.feed_forward)
    return 6.0 * weights * batch * length + 12.0 * config.layers * batch * length**2 * config.width


def ours(config: VecoConfig, ids: Tensor, mask: Tensor) -> Callable[[], object]:
    model = Veco(config).to(ids.device).train()
    return lambda: _backward(model, ids.device.type, lambda: model.encode(ids, mask)[-1])


def berts(config: BertConfig, attention: str, ids: Tensor, mask: Tensor) -> Callable[[], object]:
    model = BertModel(copy.deepcopy(config), add_pooling_layer=False).to(ids.device).train()
    model.set_attn_implementation(attention)
    return lambda: _backward(
        model, ids.device.type, lambda: model(input_ids=ids, attention_mask=mask.long()).last_hidden_state
    )


def _backward(model: nn.Module, device: str, states: Callable[[], Tensor]) -> None:
    with torch.autocast(device, BF16):
        loss = states().float().square().mean()
    loss.backward()
    model.zero_grad()


def our_step(config: VecoConfig, rows: Tensor) -> Callable[[], object]:
    model = Veco(config).train()
    model.initialise(torch.Generator().manual_seed(1))
    model.to(rows.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    generator = torch.Generator().manual_seed(1)
    half = len(rows) // 2
    texts = [row.cpu().numpy()[1:-1] for row in rows]
    pairs = Pairs(texts[:half], texts[half:], ("en",))

    def step() -> None:
        with torch.autocast(rows.device.type, BF16):
            step_losses = losses(model, pairs, ["is"], generator, rows.device)
        (step_losses["is"] / 2).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def berts_step(config: BertConfig, attention: str, rows: Tensor) -> Callable[[], object]:
    model = BertForMaskedLM(copy.deepcopy(config)).to(rows.device).train()
    model.set_attn_implementation(attention)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        chosen = torch.rand(rows.shape, device=rows.device) < 0.15
        labels = rows.masked_fill(~chosen, -100)
        with torch.autocast(rows.device.type, BF16):
            loss = model(input_ids=rows.masked_fill(chosen, 3), labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=24_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--matrix", type=int, default=None, help="rows of the square matrices; default 2048, GPU 8192")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement in a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    keep_freed_memory()  # for both, as in training
    heads, inner = max(1, options.width // 64), 4 * options.width
    config = VecoConfig(options.vocabulary, options.width, options.layers, heads, inner, max_length=options.length)
    bert = BertConfig(vocab_size=options.vocabulary, hidden_size=options.width, num_hidden_layers=options.layers,
                      num_attention_heads=heads, intermediate_size=inner, max_position_embeddings=options.length,
                      hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)  # fmt: skip
    ids = torch.randint(5, options.vocabulary, (options.batch, options.length), device=options.device)
    mask = torch.ones_like(ids, dtype=torch.bool)
    product, product_operations = matrix_product(
        options.matrix or (8192 if options.device == "cuda" else 2048), options.device
    )
    work = {"matrix product": product, "encoder, ours": ours(config, ids, mask),
            **{f"encoder, {attention}": berts(bert, attention, ids, mask) for attention in ATTENTIONS},
            "masked-LM step, ours": our_step(config, ids),
            **{f"masked-LM step, {attention}": berts_step(bert, attention, ids)
               for attention in ATTENTIONS}}  # fmt: skip
    rates: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(options.rounds):
        for name, step in work.items():
            rates[name].append(rate(step, options.seconds, options.device))
    report(options, rates, product_operations, operations(config, options.batch, options.length))


def report(options: argparse.Namespace, rates: dict[str, list[float]], product: float, encoder: float) -> None:
    matrix = [product_rate * product for product_rate in rates["matrix product"]]
    share = statistics.median(
        encoder_rate * encoder / m for encoder_rate, m in zip(rates["encoder, ours"], matrix, strict=True)
    )
    lines = [
        f"{options.layers} layers of {options.width}, {options.batch} x {options.length} subwords, {options.device}, "
        f"{torch.get_num_threads()} threads, torch {torch.__version__}",
        f"bf16 matrix rate: {statistics.median(matrix) / 1e9:,.0f} GFLOP/s",
        f"encoder, forward and backward: {statistics.median(rates['encoder, ours']) * encoder / 1e9:,.0f} GFLOP/s, "
        f"{share:.0%} of it",
    ]
    for what in ("encoder", "masked-LM step"):
        mine = rates[f"{what}, ours"]
        tokens = statistics.median(mine) * options.batch * options.length
        times = {
            attention: statistics.median(a / b for a, b in zip(mine, rates[f"{what}, {attention}"], strict=True))
            for attention in ATTENTIONS
        }
        ratios = ", ".join(f"{ratio:.2f} times transformers' BERT ({attention})" for attention, ratio in times.items())
        lines.append(f"{what}: {tokens:,.0f} subwords/s, {ratios}")
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    main()
