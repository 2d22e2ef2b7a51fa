"""The head on CUDA: log Z without writing logits, and a backward pass that writes them for some targets at a time.

Forward is one kernel: a program keeps a block of targets and walks through a part of the senses with a running maximum
and sum, as flash attention does. Backward computes the scores again, writes g p for TARGETS targets in half precision,
and leaves the two large products to cuBLAS. The gradient of the bias is a column of ones beside y. Senses are padded to
a whole number of blocks with a bias of -inf, so that rows are aligned and no block needs a mask.
"""

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

TARGETS = 12288  # targets at a time in the backward pass: 3.9 GB at 157,000 senses
PARTS = 8  # parts of the senses in the forward pass, so that a part of E stays in the cache
LOG2_E = 1.4426950408889634


class Tile(NamedTuple):
    """Block sizes over targets and senses, and how many warps and stages work on one."""

    targets: int
    senses: int
    n_warps: int
    n_stages: int


FORWARD = Tile(128, 128, 4, 2)
BACKWARD = Tile(128, 64, 4, 3)
_ALIGNED = 256  # senses are padded to a multiple of this, which every tile divides


@triton.jit
def _scores(y, y_desc, e_desc, row, column, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A block (BM, BN) of y E^T in base 2; y is the whole block of targets where it fits, else read piece by piece."""
    if BK == D:
        return tl.dot(y, e_desc.load([column, 0]).T) * 1.4426950408889634
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, D, BK):
        total = tl.dot(y_desc.load([row, k]), e_desc.load([column, k]).T, total)
    return total * 1.4426950408889634


@triton.jit
def _forward_kernel(
    y_desc, e_desc, b_ptr, max_ptr, sum_ptr, n_rows, n_columns, part_size,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The maximum and the sum of exponentials, base 2, of BM targets over one part of the senses."""
    row = tl.program_id(0) * BM
    part = tl.program_id(1)
    rows = row + tl.arange(0, BM)
    y = y_desc.load([row, 0])  # (BM, BK)
    highest = tl.full((BM,), -1e30, dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    first = part * part_size
    for column in tl.range(first, min(first + part_size, n_columns), BN):
        bias = tl.load(b_ptr + column + tl.arange(0, BN))
        scores = _scores(y, y_desc, e_desc, row, column, D, BM, BN, BK) + bias[None, :]
        higher = tl.maximum(highest, tl.max(scores, axis=1))
        total = total * tl.exp2(highest - higher) + tl.sum(tl.exp2(scores - higher[:, None]), axis=1)
        highest = higher
    tl.store(max_ptr + part * n_rows + rows, highest, mask=rows < n_rows)
    tl.store(sum_ptr + part * n_rows + rows, total, mask=rows < n_rows)


@triton.jit
def _backward_kernel(
    y_desc, e_desc, b_ptr, log_z_ptr, g_ptr, p_desc, n_rows, n_columns, part_size,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A strip of g p: BM targets, one part of the senses."""
    row = tl.program_id(0) * BM
    rows = row + tl.arange(0, BM)
    y = y_desc.load([row, 0])
    log_z = tl.load(log_z_ptr + rows, mask=rows < n_rows, other=0.0)
    g = tl.load(g_ptr + rows, mask=rows < n_rows, other=0.0)
    first = tl.program_id(1) * part_size
    for column in tl.range(first, min(first + part_size, n_columns), BN):
        bias = tl.load(b_ptr + column + tl.arange(0, BN))
        scores = _scores(y, y_desc, e_desc, row, column, D, BM, BN, BK) + bias[None, :]
        p = tl.exp2(scores - log_z[:, None]) * g[:, None]
        p_desc.store([row, column], p.to(p_desc.dtype))


def _piece(d: int) -> int:
    """How much of d is read at a time: all where the block is a power of two that fits, else a divisor."""
    if d <= 256 and d & (d - 1) == 0:
        return d
    return next(piece for piece in (64, 32, 16) if d % piece == 0)


def _part_size(n_senses: int, n_parts: int) -> int:
    return int(triton.cdiv(triton.cdiv(n_senses, n_parts), _ALIGNED)) * _ALIGNED


class _Triton(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, y: Tensor, embeddings: Tensor, bias: Tensor, weights: Tensor, forward: Tile, backward: Tile
    ) -> Tensor:
        y = y.contiguous()
        (n, d), n_senses, n_padded = y.shape, len(embeddings), len(weights)
        bias2 = torch.full((n_padded,), -torch.inf, dtype=torch.float32, device=y.device)
        bias2[:n_senses] = bias.float() * LOG2_E  # base 2, since the processor's exponential is
        part_size = _part_size(n_padded, PARTS)
        n_parts = int(triton.cdiv(n_padded, part_size))
        highest = torch.empty(n_parts, n, dtype=torch.float32, device=y.device)
        totals = torch.empty_like(highest)
        piece = _piece(d)
        _forward_kernel[(triton.cdiv(n, forward.targets), n_parts)](
            TensorDescriptor.from_tensor(y, [forward.targets, piece]),
            TensorDescriptor.from_tensor(weights, [forward.senses, piece]),
            bias2, highest, totals, n, n_padded, part_size,
            D=d, BM=forward.targets, BN=forward.senses, BK=piece,
            num_warps=forward.n_warps, num_stages=forward.n_stages,
        )  # fmt: skip
        log_z = torch.logsumexp(highest / LOG2_E + totals.log(), dim=0)
        ctx.save_for_backward(y, weights, bias2, log_z)
        ctx.tile, ctx.n_senses, ctx.dtypes = backward, n_senses, (embeddings.dtype, bias.dtype)
        return log_z

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        y, weights, bias2, log_z = ctx.saved_tensors
        tile, n_senses = ctx.tile, ctx.n_senses
        g, log_z2 = gradients[0].float().contiguous(), log_z * LOG2_E
        (n, d), n_padded = y.shape, len(weights)
        piece = _piece(d)
        beside = torch.zeros(n, 8, dtype=y.dtype, device=y.device)  # eight columns keep rows aligned
        beside[:, 0] = 1
        with_ones = torch.cat((y, beside), dim=1)  # (n, d + 8)
        d_y = torch.empty_like(y)
        sums: Tensor | None = None  # (S, d + 8)
        p = torch.empty(min(n, TARGETS), n_padded, dtype=y.dtype, device=y.device)
        part_size = _part_size(n_padded, 16)
        weights_desc = TensorDescriptor.from_tensor(weights, [tile.senses, piece])
        for start in range(0, n, TARGETS):
            part = slice(start, min(start + TARGETS, n))
            n_part = part.stop - part.start
            _backward_kernel[(triton.cdiv(n_part, tile.targets), triton.cdiv(n_padded, part_size))](
                TensorDescriptor.from_tensor(y[part], [tile.targets, piece]),
                weights_desc, bias2, log_z2[part], g[part],
                TensorDescriptor.from_tensor(p[:n_part], [tile.targets, tile.senses]),
                n_part, n_padded, part_size,
                D=d, BM=tile.targets, BN=tile.senses, BK=piece, num_warps=tile.n_warps, num_stages=tile.n_stages,
            )  # fmt: skip
            torch.mm(p[:n_part], weights, out=d_y[part])
            product = p[:n_part].T @ with_ones[part]
            sums = product.float() if sums is None else sums.add_(product)
        assert sums is not None
        sums = sums[:n_senses]
        return d_y, sums[:, :d].to(ctx.dtypes[0]), sums[:, d].to(ctx.dtypes[1]), None, None, None


def padded(embeddings: Tensor, dtype: torch.dtype) -> Tensor:
    """E in half precision, with rows of zeros to a whole number of blocks; no gradient flows through it."""
    n_senses, d = embeddings.shape
    weights = torch.empty(triton.cdiv(n_senses, _ALIGNED) * _ALIGNED, d, dtype=dtype, device=embeddings.device)
    weights[:n_senses] = embeddings.detach()
    weights[n_senses:] = 0
    return weights


def log_partition_triton(
    y: Tensor,
    embeddings: Tensor,
    bias: Tensor,
    weights: Tensor | None = None,
    forward: Tile = FORWARD,
    backward: Tile = BACKWARD,
) -> Tensor:
    """log Z (n,) in float32, of y (n, d) in half precision; d must be a multiple of 16. `weights` are E, padded."""
    weights = padded(embeddings, y.dtype) if weights is None else weights
    result: Tensor = _Triton.apply(y, embeddings, bias, weights, forward, backward)
    return result
