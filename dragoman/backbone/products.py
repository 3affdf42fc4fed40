"""Linear layers for inference, with constant weights."""

from __future__ import annotations

import platform

import torch
from torch import Tensor
from torch.nn import functional as F


class Product:
    """x W' + b, by oneDNN with packed weights if it has a kernel for this processor.

    In float32, torch's linear layers call another library, which is half as fast on processors other than Intel's.
    The weights are copied; later changes of the originals have no effect.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._bias = None if bias is None else bias.detach().clone()
        self._packed = _packed(weight.detach())
        self._weight = weight.detach().clone() if self._packed is None else weight[:0]

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


def _packed(weight: Tensor) -> Tensor | None:
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
