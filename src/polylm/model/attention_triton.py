"""Attention on CUDA for short windows: one program a head, everything between the two products of matrices inside it.

At 128 positions the whole table of scores of a head fits into the registers of one program. So the norm of queries and
keys, their rotation, the scores, the softmax and the mixture are one kernel, and their gradients another: nothing but
qkv, the output and their gradients is ever written.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

MAX_LENGTH = 128
FORWARD_WARPS, BACKWARD_WARPS = 8, 8


@triton.jit
def _half(base, t, h, stride, T, offset, HALF: tl.constexpr):
    """One half of the dimensions of all positions (BT, HALF), in float32."""
    return tl.load(base + t[:, None] * stride + offset + h[None, :], mask=t[:, None] < T, other=0.0).to(tl.float32)


@triton.jit
def _normed(a, b, D: tl.constexpr):
    """Both halves divided by their root mean square, and its inverse."""
    inverse = 1.0 / tl.sqrt((tl.sum(a * a, axis=1) + tl.sum(b * b, axis=1)) / D + 1e-6)
    return a * inverse[:, None], b * inverse[:, None], inverse


@triton.jit
def _probabilities(qa, qb, ka, kb, segment_ptr, row, t, T, scale, SEGMENTS: tl.constexpr):
    """The softmax of the scores (BT, BT), in float32, over the positions of one's own segment."""
    scores = tl.dot(qb, tl.trans(kb), tl.dot(qa, tl.trans(ka))) * (scale * 1.4426950408889634)
    scores = tl.where(t[None, :] < T, scores, -1e30)
    if SEGMENTS:
        segment = tl.load(segment_ptr + row.to(tl.int64) * T + t, mask=t < T, other=-1)
        scores = tl.where(segment[:, None] == segment[None, :], scores, -1e30)
    p = tl.exp2(scores - tl.max(scores, axis=1)[:, None])
    return p / tl.sum(p, axis=1)[:, None]


@triton.jit
def _forward_kernel(
    qkv_ptr, cos_ptr, sin_ptr, segment_ptr, out_ptr, T, N_HEADS, scale,
    D: tl.constexpr, HALF: tl.constexpr, BT: tl.constexpr, SEGMENTS: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    row, head = pid // N_HEADS, pid % N_HEADS
    t, h, d = tl.arange(0, BT), tl.arange(0, HALF), tl.arange(0, D)
    width = N_HEADS * D
    stride = 3 * width
    base = qkv_ptr + row.to(tl.int64) * T * stride + head * D
    kind = qkv_ptr.dtype.element_ty
    cos = tl.load(cos_ptr + t[:, None] * HALF + h[None, :], mask=t[:, None] < T, other=0.0)
    sin = tl.load(sin_ptr + t[:, None] * HALF + h[None, :], mask=t[:, None] < T, other=0.0)
    qa, qb, _ = _normed(_half(base, t, h, stride, T, 0, HALF), _half(base, t, h, stride, T, HALF, HALF), D)
    ka, kb, _ = _normed(_half(base, t, h, stride, T, width, HALF), _half(base, t, h, stride, T, width + HALF, HALF), D)
    p = _probabilities(
        (qa * cos - qb * sin).to(kind), (qa * sin + qb * cos).to(kind),
        (ka * cos - kb * sin).to(kind), (ka * sin + kb * cos).to(kind), segment_ptr, row, t, T, scale, SEGMENTS,
    )  # fmt: skip
    v = tl.load(base + 2 * width + t[:, None] * stride + d[None, :], mask=t[:, None] < T, other=0.0)
    out = tl.dot(p.to(kind), v)
    at = out_ptr + row.to(tl.int64) * T * width + head * D + t[:, None] * width + d[None, :]
    tl.store(at, out.to(kind), mask=t[:, None] < T)


@triton.jit
def _unrotated(da, db, cos, sin):
    return da * cos + db * sin, db * cos - da * sin


@triton.jit
def _store_normed(base, t, h, stride, T, offset, da, db, a, b, inverse, D: tl.constexpr, HALF: tl.constexpr):
    """The gradient through the norm: of y = x / rms(x) it is (dy - y mean(dy y)) / rms."""
    mean = (tl.sum(da * a, axis=1) + tl.sum(db * b, axis=1)) / D
    kind = base.dtype.element_ty
    da = (da - a * mean[:, None]) * inverse[:, None]
    db = (db - b * mean[:, None]) * inverse[:, None]
    tl.store(base + t[:, None] * stride + offset + h[None, :], da.to(kind), mask=t[:, None] < T)
    tl.store(base + t[:, None] * stride + offset + HALF + h[None, :], db.to(kind), mask=t[:, None] < T)


@triton.jit
def _backward_kernel(
    qkv_ptr, cos_ptr, sin_ptr, segment_ptr, dout_ptr, dqkv_ptr, T, N_HEADS, scale,
    D: tl.constexpr, HALF: tl.constexpr, BT: tl.constexpr, SEGMENTS: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    row, head = pid // N_HEADS, pid % N_HEADS
    t, h, d = tl.arange(0, BT), tl.arange(0, HALF), tl.arange(0, D)
    width = N_HEADS * D
    stride = 3 * width
    base = qkv_ptr + row.to(tl.int64) * T * stride + head * D
    d_base = dqkv_ptr + row.to(tl.int64) * T * stride + head * D
    kind = qkv_ptr.dtype.element_ty
    cos = tl.load(cos_ptr + t[:, None] * HALF + h[None, :], mask=t[:, None] < T, other=0.0)
    sin = tl.load(sin_ptr + t[:, None] * HALF + h[None, :], mask=t[:, None] < T, other=0.0)
    qa, qb, q_inverse = _normed(_half(base, t, h, stride, T, 0, HALF), _half(base, t, h, stride, T, HALF, HALF), D)
    ka, kb, k_inverse = _normed(
        _half(base, t, h, stride, T, width, HALF), _half(base, t, h, stride, T, width + HALF, HALF), D
    )
    qra, qrb = (qa * cos - qb * sin).to(kind), (qa * sin + qb * cos).to(kind)
    kra, krb = (ka * cos - kb * sin).to(kind), (ka * sin + kb * cos).to(kind)
    p = _probabilities(qra, qrb, kra, krb, segment_ptr, row, t, T, scale, SEGMENTS)
    v = tl.load(base + 2 * width + t[:, None] * stride + d[None, :], mask=t[:, None] < T, other=0.0)
    d_at = dout_ptr + row.to(tl.int64) * T * width + head * D + t[:, None] * width + d[None, :]
    d_out = tl.load(d_at, mask=t[:, None] < T, other=0.0)
    dv = tl.dot(tl.trans(p.to(kind)), d_out)
    tl.store(d_base + 2 * width + t[:, None] * stride + d[None, :], dv.to(kind), mask=t[:, None] < T)
    dp = tl.dot(d_out, tl.trans(v))
    ds = (p * (dp - tl.sum(p * dp, axis=1)[:, None]) * scale).to(kind)
    dqa, dqb = _unrotated(tl.dot(ds, kra), tl.dot(ds, krb), cos, sin)
    _store_normed(d_base, t, h, stride, T, 0, dqa, dqb, qa, qb, q_inverse, D, HALF)
    dst = tl.trans(ds)
    dka, dkb = _unrotated(tl.dot(dst, qra), tl.dot(dst, qrb), cos, sin)
    _store_normed(d_base, t, h, stride, T, width, dka, dkb, ka, kb, k_inverse, D, HALF)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, cos: Tensor, sin: Tensor, segments: Tensor | None, n_heads: int) -> Tensor:
        qkv, segments = qkv.contiguous(), None if segments is None else segments.contiguous()
        n, length, width = qkv.shape
        d = width // 3 // n_heads
        out = torch.empty(n, length, width // 3, dtype=qkv.dtype, device=qkv.device)
        block = max(triton.next_power_of_2(length), 16)
        _forward_kernel[(n * n_heads,)](
            qkv, cos, sin, qkv if segments is None else segments, out, length, n_heads, d**-0.5,
            D=d, HALF=d // 2, BT=block, SEGMENTS=segments is not None, num_warps=FORWARD_WARPS,
        )  # fmt: skip
        ctx.save_for_backward(qkv, cos, sin, segments)
        ctx.n_heads = n_heads
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        qkv, cos, sin, segments = ctx.saved_tensors
        n, length, width = qkv.shape
        d = width // 3 // ctx.n_heads
        dqkv = torch.empty_like(qkv)
        block = max(triton.next_power_of_2(length), 16)
        _backward_kernel[(n * ctx.n_heads,)](
            qkv, cos, sin, qkv if segments is None else segments, gradients[0].contiguous(), dqkv, length,
            ctx.n_heads, d**-0.5,
            D=d, HALF=d // 2, BT=block, SEGMENTS=segments is not None, num_warps=BACKWARD_WARPS, num_stages=1,
        )  # fmt: skip
        return dqkv, None, None, None, None


def usable(qkv: Tensor, n_heads: int) -> bool:
    """Whether the kernels take this: half precision, short, heads of 32 to 128."""
    d = qkv.shape[-1] // 3 // n_heads
    return qkv.dtype in (torch.bfloat16, torch.float16) and qkv.shape[1] <= MAX_LENGTH and d in (32, 64, 128)


def attention(qkv: Tensor, cos: Tensor, sin: Tensor, n_heads: int, segments: Tensor | None = None) -> Tensor:
    """(B, T, d) of qkv (B, T, 3 d): normalised, rotated by cos and sin (T, d_head / 2).

    All positions see all, or those with their number in `segments` (B, T).
    """
    result: Tensor = _Attention.apply(qkv, cos, sin, segments, n_heads)
    return result
