"""log Z = log sum over all senses of exp(e_s . y + b_s), without keeping the logits.

At 20,480 targets and 157,000 senses the logits alone are six gigabytes. `chunked` computes them for some senses at a
time, forward and again backward; it is the portable path. `matmul` keeps them: for small sizes, and to compare with.
`triton` (`head_triton.py`) never writes them forward, and backward only a few targets at a time. `benchmarks/head.py`
measures all three; `log_partition` takes what was fastest.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

CHUNK_LOGITS = 1 << 26  # logits at a time on a GPU: 256 MB in float32
CHUNK_LOGITS_CPU = 1 << 21  # on a CPU they should stay in its cache


def log_partition(
    y: Tensor, embeddings: Tensor, bias: Tensor, method: str | None = None, *, half: Tensor | None = None
) -> Tensor:
    """log Z (n,) in float32 or better; y (n, d), embeddings (S, d), bias (S,), where -inf leaves a sense out.

    `half`: what `head_triton.padded` made of the embeddings, where that is at hand.
    """
    kind = y.device.type
    if torch.is_autocast_enabled(kind):
        y = y.to(torch.get_autocast_dtype(kind))  # a layer norm has made it float32
    if method is None:
        fits = y.dtype in (torch.bfloat16, torch.float16) and y.shape[1] % 16 == 0
        method = "triton" if y.is_cuda and fits and triton_works() else "chunked"
    with torch.autocast(kind, enabled=False):  # backward will run without it, and must compute the same scores
        return _log_partition(y, embeddings, bias, method, half)


def _log_partition(y: Tensor, embeddings: Tensor, bias: Tensor, method: str, half: Tensor | None) -> Tensor:
    if method == "matmul":
        return torch.logsumexp(_logits(y, embeddings, bias), dim=-1)  # the plain way
    if method == "chunked":
        result: Tensor = _Chunked.apply(y, embeddings, bias)  # type: ignore[no-untyped-call]
        return result
    if method == "triton":
        from polylm.model.head_triton import log_partition_triton

        of_triton: Tensor = log_partition_triton(y, embeddings, bias, half)
        return of_triton
    raise ValueError(f"there is no head {method!r}")


def triton_works() -> bool:
    """Whether kernels in Triton run here."""
    try:
        import triton.tools.tensor_descriptor  # noqa: F401  (from 3.4 on)
    except ImportError:
        return False
    return torch.cuda.get_device_capability()[0] >= 8


def _logits(y: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    """(n, S); the product in the dtype of y, the sum with the bias in float32 or better."""
    product: Tensor = y @ embeddings.to(y.dtype).T
    return product.to(torch.promote_types(product.dtype, torch.float32)) + bias


def _exact_logits(y: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    """The same, but half-precision numbers are summed in float32: the loss is a small difference of large scores."""
    wide = torch.promote_types(y.dtype, torch.float32)
    return y.to(wide) @ embeddings.to(y.dtype).to(wide).T + bias


class _Chunked(torch.autograd.Function):
    """Some senses at a time, few enough to stay in the cache; what backward needs is computed again."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
        wide = torch.promote_types(y.dtype, torch.float32)
        highest = torch.full((len(y),), -torch.inf, dtype=wide, device=y.device)
        total = torch.zeros_like(highest)
        for part in _parts(y, embeddings):
            logits = _exact_logits(y, embeddings[part], bias[part])  # (n, some)
            higher = torch.maximum(highest, logits.amax(dim=1))
            base = torch.where(higher.isinf(), 0.0, higher)  # nothing but senses that are left out, so far
            total = total * torch.exp(highest - base) + logits.sub_(base.unsqueeze(1)).exp_().sum(dim=1)
            highest = higher
        log_z = (highest + total.log()).to(torch.promote_types(wide, bias.dtype))
        ctx.save_for_backward(y, embeddings, bias, log_z)
        return log_z

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        (gradient,) = gradients
        y, embeddings, bias, log_z = ctx.saved_tensors
        wide = torch.promote_types(y.dtype, torch.float32)
        d_y = torch.zeros_like(y, dtype=wide)
        d_embeddings, d_bias = torch.empty_like(embeddings), torch.empty_like(bias)
        for part in _parts(y, embeddings):
            logits = _exact_logits(y, embeddings[part], bias[part])
            p = logits.sub_(log_z.unsqueeze(1)).exp_().mul_(gradient.unsqueeze(1))  # (n, some)
            d_bias[part] = p.sum(dim=0)
            p = p.to(y.dtype)
            d_y += p @ embeddings[part].to(y.dtype)
            d_embeddings[part] = p.T @ y
        return d_y.to(y.dtype), d_embeddings, d_bias


def _parts(y: Tensor, embeddings: Tensor) -> Iterator[slice]:
    size = max((CHUNK_LOGITS if y.is_cuda else CHUNK_LOGITS_CPU) // max(len(y), 1), 64)
    return (slice(start, start + size) for start in range(0, len(embeddings), size))
