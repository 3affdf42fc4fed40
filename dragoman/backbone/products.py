"""Linear layers for inference, with constant weights, in float32, bfloat16 or int8.

Which precision is fastest depends on the processor: with AVX-512 and its bfloat16 and int8 instructions both are
several times faster than float32, without them bfloat16 can be a hundred times slower. `fastest` measures it, for
training and inference alike.
"""

from __future__ import annotations

import platform
import time
from functools import cache
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

_TOKENS, _INPUTS, _OUTPUTS = 256, 384, 1536
_ROUNDS, _MEASURED_SECONDS = 25, 0.1
"""A measurement ends after so many rounds, or after so long but five of them: on a busy machine most are disturbed."""
_ZERO = 128
_GAIN = 1.15
"""How many times faster a lower precision must be to be preferred."""


class Product:
    """x W' + b, by oneDNN with packed weights if it has a kernel for this processor.

    In float32, torch's linear layers call another library, which is half as fast on processors other than Intel's.
    The weights are copied; later changes of the originals have no effect.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._bias = None if bias is None else bias.detach().clone()
        self._packed = _pack_weight(weight.detach())
        self._weight = weight.detach().clone() if self._packed is None else weight.new_empty(0)

    def __call__(self, x: Tensor) -> Tensor:
        """x W' + b, (..., outputs) of (..., inputs)."""
        if self._packed is None:
            return F.linear(x, self._weight, self._bias)
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self._bias, "none", [], "")
        return out

    def gelu(self, x: Tensor) -> Tensor:
        """GELU (with erf) of x W' + b."""
        if self._packed is None:
            return F.gelu(F.linear(x, self._weight, self._bias))
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self._bias, "gelu", [], "none")
        return out


class Int8Product(Product):
    """x W' + b of float32 states, both sides in 8 bits and scaled by row.

    One scale for all of x is faster, but costs .012 of recall@10 with multilingual-e5-small; a scale for each row
    costs nothing (XQuAD-R's tuning questions, English over German sentences).

    Raises:
        RuntimeError: if torch has no such kernel for this processor (its interface is not public).
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        weight = weight.detach().float()
        self._bias = None if bias is None else bias.detach().float().clone()
        self._scales = (weight.abs().amax(1) / 127).clamp_min(1e-12)
        self._zeros = torch.zeros(len(weight), dtype=torch.int32)
        rows = (weight / self._scales[:, None]).round().to(torch.int8)
        try:
            self._packed = torch.ops.onednn.qlinear_prepack(rows, [_TOKENS, weight.shape[1]])
        except AttributeError as error:
            raise RuntimeError("this torch has no int8 linear layers") from error

    def __call__(self, x: Tensor) -> Tensor:
        scales = (x.abs().amax(-1, keepdim=True) / 127).clamp_min(1e-12)
        rounded = (x / scales).round_().add_(_ZERO).to(torch.uint8)
        out: Tensor = torch.ops.onednn.qlinear_pointwise(
            rounded, 1.0, _ZERO, self._packed, self._scales, self._zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        out.mul_(scales)
        return out if self._bias is None else out.add_(self._bias)

    def gelu(self, x: Tensor) -> Tensor:
        return F.gelu(self(x))


def product(weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Product:
    """A linear layer that computes in `dtype`: float32, bfloat16 or int8.

    Raises:
        RuntimeError: int8 on a processor or a torch without a kernel.
    """
    if dtype == torch.int8:
        return Int8Product(weight, bias)
    return Product(weight.to(dtype), None if bias is None else bias.to(dtype))


@cache
def fastest(device_type: str, among: tuple[torch.dtype, ...], first: torch.dtype | None = None) -> torch.dtype:
    """The fastest precision on this machine, by measuring a layer's product once; bfloat16 on a GPU that has it.

    It is `first` instead wherever this machine computes in it, as nothing is then measured that could be disturbed.
    """
    if first in among and runs(device_type, first):
        return first
    if device_type != "cpu":
        return torch.bfloat16 if runs(device_type, torch.bfloat16) else torch.float32
    with torch.inference_mode():
        seconds = {dtype: _seconds(dtype) for dtype in among}
    best = min(seconds, key=lambda dtype: seconds[dtype])
    return best if seconds[best] * _GAIN < seconds[torch.float32] else torch.float32


@cache
def runs(device_type: str, dtype: torch.dtype) -> bool:
    """Whether this machine has what computing in a precision needs, however fast it is."""
    if dtype == torch.float32:
        return True
    if device_type != "cpu":
        return dtype == torch.bfloat16 and torch.cuda.get_device_capability()[0] >= 8
    try:
        if dtype == torch.bfloat16:
            return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
        with torch.inference_mode():
            return dtype == torch.int8 and not _saturates()
    except (AttributeError, RuntimeError):  # this torch has no such kernels
        return False


def autocast(device_type: str, lower: bool | Literal["auto"] = "auto") -> torch.autocast:
    """Computes products in bfloat16 while it is entered, if `lower`; auto: if it is faster than float32 here."""
    if lower == "auto":
        lower = fastest(device_type, (torch.float32, torch.bfloat16)) == torch.bfloat16
    return torch.autocast(device_type, torch.bfloat16, enabled=lower)


@cache  # so that what is compared later is not measured while other models compute
def _seconds(dtype: torch.dtype) -> float:
    """The least seconds of a product with GELU among some; infinity without a kernel."""
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(_OUTPUTS, _INPUTS, generator=generator)
    x = torch.randn(_TOKENS, _INPUTS, generator=generator)
    try:
        if dtype == torch.int8 and not runs("cpu", dtype):
            return float("inf")
        layer = product(weight, weight[:, 0].clone(), dtype)
        x = x if dtype == torch.int8 else x.to(dtype)
        best = float("inf")
        begun = time.perf_counter()
        for round_ in range(_ROUNDS):
            started = time.perf_counter()
            layer.gelu(x)
            best = min(best, time.perf_counter() - started)
            if best > 1 or (round_ >= 4 and time.perf_counter() > begun + _MEASURED_SECONDS):
                break  # there are no instructions for it, or the machine is busy
    except RuntimeError:
        return float("inf")
    return best


def _saturates() -> bool:
    """Whether sums of 8-bit products overflow their 16 bits, as on processors without instructions for them."""
    ones = torch.ones(_OUTPUTS, _INPUTS)
    return not torch.allclose(Int8Product(ones, None)(ones[:_TOKENS]), torch.tensor(float(_INPUTS)), rtol=0.01)


def _pack_weight(weight: Tensor) -> Tensor | None:
    """The weight in oneDNN's layout; None if torch has no such kernel (its interface is not public)."""
    if weight.device.type != "cpu" or platform.machine() not in ("x86_64", "AMD64"):
        return None
    try:
        if weight.dtype == torch.bfloat16 and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
            return None
        packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight)
        sample = torch.zeros(2, weight.shape[1], dtype=weight.dtype)
        torch.ops.mkldnn._linear_pointwise(sample, packed, None, "gelu", [], "none")
    except (AttributeError, RuntimeError):
        return None
    return packed
