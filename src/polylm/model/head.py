"""log Z = log sum over all senses of exp(e_s . y + b_s), without keeping the logits.

At 20,480 targets and 157,000 senses the logits alone are six gigabytes. `chunked` computes them a few targets at a
time, forward and again backward; it is the portable path. `matmul` keeps them: for small sizes, and to compare with.
`triton` (`head_triton.py`) never writes them forward, and backward only a few targets at a time. `benchmarks/head.py`
measures all three; `log_partition` takes what was fastest.
"""

from typing import Any

import torch
from torch import Tensor

CHUNK_LOGITS = 1 << 26  # logits at a time: 256 MB in float32


def log_partition(y: Tensor, embeddings: Tensor, bias: Tensor, method: str | None = None) -> Tensor:
    """log Z (n,) in float32 or better; y (n, d), embeddings (S, d), bias (S,), where -inf leaves a sense out."""
    kind = y.device.type
    if torch.is_autocast_enabled(kind):
        y = y.to(torch.get_autocast_dtype(kind))  # a layer norm has made it float32
    if method is None:
        fits = y.dtype in (torch.bfloat16, torch.float16) and y.shape[1] % 16 == 0
        method = "triton" if y.is_cuda and fits and _triton_works() else "chunked"
    with torch.autocast(kind, enabled=False):  # backward will run without it, and must compute the same scores
        return _log_partition(y, embeddings, bias, method)


def _log_partition(y: Tensor, embeddings: Tensor, bias: Tensor, method: str) -> Tensor:
    if method == "matmul":
        return torch.logsumexp(_logits(y, embeddings, bias), dim=-1)  # the plain way
    if method == "chunked":
        result: Tensor = _Chunked.apply(y, embeddings, bias)  # type: ignore[no-untyped-call]
        return result
    if method == "triton":
        from polylm.model.head_triton import log_partition_triton

        of_triton: Tensor = log_partition_triton(y, embeddings, bias)
        return of_triton
    raise ValueError(f"there is no head {method!r}")


def _triton_works() -> bool:
    try:
        import triton  # noqa: F401
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
    """Some targets at a time; what backward needs is computed again."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
        size = _n_targets(embeddings)
        parts = (y[start : start + size] for start in range(0, len(y), size))
        log_z = torch.cat(
            [bias.new_zeros(0), *(torch.logsumexp(_exact_logits(part, embeddings, bias), -1) for part in parts)]
        )
        ctx.save_for_backward(y, embeddings, bias, log_z)
        return log_z

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        (gradient,) = gradients
        y, embeddings, bias, log_z = ctx.saved_tensors
        weights = embeddings.to(y.dtype)
        d_y = torch.empty_like(y)
        d_embeddings = torch.zeros_like(embeddings, dtype=torch.promote_types(y.dtype, torch.float32))
        d_bias = torch.zeros_like(bias)
        size = _n_targets(embeddings)
        for start in range(0, len(y), size):
            part = slice(start, start + size)
            p = torch.exp(_exact_logits(y[part], embeddings, bias) - log_z[part, None]) * gradient[part, None]  # (n, S)
            d_bias += p.sum(dim=0)
            p = p.to(y.dtype)
            d_y[part] = p @ weights
            d_embeddings += p.T @ y[part]
        return d_y, d_embeddings.to(embeddings.dtype), d_bias


def _n_targets(embeddings: Tensor) -> int:
    return max(CHUNK_LOGITS // len(embeddings), 1)
