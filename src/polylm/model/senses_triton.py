"""A word's own senses on CUDA: their scores, and the mixture of them, without writing the gathered rows of E.

At 65,536 positions and 8 senses the rows e_s of all positions are 270 MB, which plain torch writes and reads several
times, and whose gradient it sorts by half a million indices. Forward is one kernel that reads each row twice. Backward
is two: one for the outputs y, and one for E, where positions are sorted by their word, so that all positions of a word
in a block are one product of matrices, and E is added to once for all of them.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

_BM = 16  # positions of a program
_SORTED = 32  # of a program that sums by word


@triton.jit
def _forward_kernel(
    words_ptr, y_ptr, e_ptr, b_ptr, first_ptr, n_senses_ptr, scores_ptr, x_ptr, n,
    D: tl.constexpr, BD: tl.constexpr, K: tl.constexpr, BM: tl.constexpr, MIX: tl.constexpr,
):  # fmt: skip
    """Scores (n, K), -inf beyond a word's senses; and their mixture x (n, D)."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    valid = i < n
    word = tl.load(words_ptr + i, mask=valid, other=0)
    first = tl.load(first_ptr + word)
    n_senses = tl.load(n_senses_ptr + word)
    ks = tl.arange(0, K)
    scores = tl.full((BM, K), float("-inf"), dtype=tl.float32)
    for k in tl.static_range(K):
        has = valid & (k < n_senses)
        row = tl.where(has, first + k, first)
        total = tl.zeros((BM,), dtype=tl.float32)
        for piece in tl.static_range(D // BD):
            d = piece * BD + tl.arange(0, BD)
            y = tl.load(y_ptr + i[:, None] * D + d[None, :], mask=valid[:, None], other=0.0).to(tl.float32)
            e = tl.load(e_ptr + row[:, None] * D + d[None, :], mask=has[:, None], other=0.0).to(tl.float32)
            total += tl.sum(y * e, axis=1)
        total = tl.where(has, total + tl.load(b_ptr + row), float("-inf"))
        scores = tl.where(ks[None, :] == k, total[:, None], scores)
    tl.store(scores_ptr + i[:, None] * K + ks[None, :], scores, mask=valid[:, None])
    if MIX:
        highest = tl.max(scores, axis=1)
        q = tl.exp(scores - highest[:, None])
        q = q / tl.sum(q, axis=1)[:, None]
        for piece in tl.static_range(D // BD):
            d = piece * BD + tl.arange(0, BD)
            x = tl.zeros((BM, BD), dtype=tl.float32)
            for k in tl.static_range(K):
                has = valid & (k < n_senses)
                row = tl.where(has, first + k, first)
                e = tl.load(e_ptr + row[:, None] * D + d[None, :], mask=has[:, None], other=0.0).to(tl.float32)
                x += tl.sum(tl.where(ks[None, :] == k, q, 0.0), axis=1)[:, None] * e
            tl.store(x_ptr + i[:, None] * D + d[None, :], x.to(x_ptr.dtype.element_ty), mask=valid[:, None])


@triton.jit
def _backward_y_kernel(
    words_ptr, e_ptr, first_ptr, n_senses_ptr, scores_ptr, dx_ptr, ds_in_ptr, ds_ptr, q_ptr, dy_ptr, n,
    D: tl.constexpr, BD: tl.constexpr, K: tl.constexpr, BM: tl.constexpr, MIX: tl.constexpr, SCORED: tl.constexpr,
):  # fmt: skip
    """The gradient ds (n, K) of the scores from both outputs, q (n, K), and the gradient of y."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    valid = i < n
    word = tl.load(words_ptr + i, mask=valid, other=0)
    first = tl.load(first_ptr + word)
    n_senses = tl.load(n_senses_ptr + word)
    ks = tl.arange(0, K)
    cell = i[:, None] * K + ks[None, :]
    ds = tl.zeros((BM, K), dtype=tl.float32)
    if SCORED:
        ds += tl.load(ds_in_ptr + cell, mask=valid[:, None] & (ks[None, :] < n_senses[:, None]), other=0.0)
    if MIX:
        scores = tl.load(scores_ptr + cell, mask=valid[:, None], other=0.0)
        q = tl.exp(scores - tl.max(scores, axis=1)[:, None])
        q = q / tl.sum(q, axis=1)[:, None]
        tl.store(q_ptr + cell, q.to(q_ptr.dtype.element_ty), mask=valid[:, None])
        dq = tl.zeros((BM, K), dtype=tl.float32)
        for k in tl.static_range(K):
            has = valid & (k < n_senses)
            row = tl.where(has, first + k, first)
            total = tl.zeros((BM,), dtype=tl.float32)
            for piece in tl.static_range(D // BD):
                d = piece * BD + tl.arange(0, BD)
                dx = tl.load(dx_ptr + i[:, None] * D + d[None, :], mask=valid[:, None], other=0.0).to(tl.float32)
                e = tl.load(e_ptr + row[:, None] * D + d[None, :], mask=has[:, None], other=0.0).to(tl.float32)
                total += tl.sum(dx * e, axis=1)
            dq = tl.where(ks[None, :] == k, total[:, None], dq)
        ds += q * (dq - tl.sum(q * dq, axis=1)[:, None])
    tl.store(ds_ptr + cell, ds.to(ds_ptr.dtype.element_ty), mask=valid[:, None])
    for piece in tl.static_range(D // BD):
        d = piece * BD + tl.arange(0, BD)
        dy = tl.zeros((BM, BD), dtype=tl.float32)
        for k in tl.static_range(K):
            has = valid & (k < n_senses)
            row = tl.where(has, first + k, first)
            e = tl.load(e_ptr + row[:, None] * D + d[None, :], mask=has[:, None], other=0.0).to(tl.float32)
            dy += tl.sum(tl.where(ks[None, :] == k, ds, 0.0), axis=1)[:, None] * e
        tl.store(dy_ptr + i[:, None] * D + d[None, :], dy.to(dy_ptr.dtype.element_ty), mask=valid[:, None])


@triton.jit
def _backward_e_kernel(
    words_ptr, order_ptr, y_ptr, dx_ptr, ds_ptr, q_ptr, first_ptr, n_senses_ptr, de_ptr, db_ptr, n,
    D: tl.constexpr, BD: tl.constexpr, K: tl.constexpr, KP: tl.constexpr, BM: tl.constexpr, MIX: tl.constexpr,
):  # fmt: skip
    """Add to the gradients of E and b what BM positions give, which are neighbours in the order of their words."""
    place = tl.program_id(0) * BM + tl.arange(0, BM)
    valid = place < n
    i = tl.load(order_ptr + place, mask=valid, other=0)
    word = tl.load(words_ptr + i, mask=valid, other=-1)
    ks = tl.arange(0, KP)
    cell = i[:, None] * K + ks[None, :]
    there = valid[:, None] & (ks[None, :] < K)
    ds = tl.load(ds_ptr + cell, mask=there, other=0.0)
    if MIX:
        q = tl.load(q_ptr + cell, mask=there, other=0.0)
    left = tl.where(valid, 1, 0)
    while tl.max(left, axis=0) > 0:
        now = tl.max(tl.where(left > 0, word, -1), axis=0)
        mine = word == now
        left = tl.where(mine, 0, left)
        first = tl.load(first_ptr + now)
        living = ks < tl.load(n_senses_ptr + now)
        ds_now = tl.where(mine[:, None], ds, 0.0).to(ds.dtype)
        for piece in tl.static_range(D // BD):
            d = piece * BD + tl.arange(0, BD)
            y = tl.load(y_ptr + i[:, None] * D + d[None, :], mask=valid[:, None], other=0.0)
            de = tl.dot(tl.trans(ds_now), y)
            if MIX:
                dx = tl.load(dx_ptr + i[:, None] * D + d[None, :], mask=valid[:, None], other=0.0)
                de = tl.dot(tl.trans(tl.where(mine[:, None], q, 0.0).to(q.dtype)), dx, de)
            tl.atomic_add(de_ptr + (first + ks)[:, None] * D + d[None, :], de, mask=living[:, None])
        tl.atomic_add(db_ptr + first + ks, tl.sum(ds_now.to(tl.float32), axis=0), mask=living)


def _piece(d: int) -> int:
    """How much of d a program holds at a time: a power of two that divides it."""
    return next(piece for piece in (128, 64, 32, 16) if d % piece == 0)


class _OwnSenses(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, y: Tensor, embeddings: Tensor, bias: Tensor, half: Tensor, words: Tensor,
        first: Tensor, n_senses: Tensor, k: int, mix: bool,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        y, words = y.contiguous(), words.contiguous()
        n, d = y.shape
        scores = torch.empty(n, k, dtype=torch.float32, device=y.device)
        x = torch.empty_like(y) if mix else y.new_empty(0)
        _forward_kernel[(triton.cdiv(n, _BM),)](
            words, y, half, bias, first, n_senses, scores, x, n, D=d, BD=_piece(d), K=k, BM=_BM, MIX=mix
        )
        ctx.save_for_backward(y, half, words, first, n_senses, scores)
        ctx.k, ctx.mix, ctx.shape = k, mix, embeddings.shape
        ctx.set_materialize_grads(False)
        return scores, x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_scores, dx = gradients
        y, half, words, first, n_senses, scores = ctx.saved_tensors
        (n, d), k = y.shape, ctx.k
        mix, scored = ctx.mix and dx is not None, d_scores is not None
        ds = torch.empty(n, k, dtype=y.dtype, device=y.device)
        q = torch.empty_like(ds) if mix else ds
        dy = torch.empty_like(y)
        dx = dx.contiguous() if mix else y
        d_in = d_scores.float().contiguous() if scored else scores
        _backward_y_kernel[(triton.cdiv(n, _BM),)](
            words, half, first, n_senses, scores, dx, d_in, ds, q, dy, n,
            D=d, BD=_piece(d), K=k, BM=_BM, MIX=mix, SCORED=scored,
        )  # fmt: skip
        if not ctx.needs_input_grad[1]:
            return dy, None, None, None, None, None, None, None, None
        de = torch.zeros(ctx.shape, dtype=torch.float32, device=y.device)
        db = torch.zeros(ctx.shape[0], dtype=torch.float32, device=y.device)
        order = torch.argsort(words.to(torch.int32))
        _backward_e_kernel[(triton.cdiv(n, _SORTED),)](
            words, order, y, dx, ds, q, first, n_senses, de, db, n,
            D=d, BD=_piece(d), K=k, KP=max(k, 16), BM=_SORTED, MIX=mix,
        )  # fmt: skip
        return dy, de, db, None, None, None, None, None, None


def own_senses(
    words: Tensor, y: Tensor, embeddings: Tensor, half: Tensor, bias: Tensor, first: Tensor, n_senses: Tensor, k: int,
    *, mix: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Scores (n, k) in float32 of words (n,) given y (n, d); with `mix` also sum_s q_s e_s (n, d), else an empty one.

    `half` is E in the precision of y, `first` and `n_senses` are the inventory's. k must be a power of two.
    """
    scores, x = _OwnSenses.apply(y, embeddings, bias, half, words, first, n_senses, k, mix)
    return scores, x
