import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polylm.model import head
from polylm.model.head import log_partition


def inputs(n, n_senses, d, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    y, e, b = (torch.randn(*shape, generator=generator, dtype=dtype) for shape in ((n, d), (n_senses, d), (n_senses,)))
    b[0] = -torch.inf
    return [tensor.requires_grad_() for tensor in (y, e, b)]


@given(st.integers(0, 9), st.integers(2, 30), st.integers(1, 5), st.integers(1, 40))
def test_chunks_give_what_the_plain_product_gives(n, n_senses, d, chunk):
    before = head.CHUNK_LOGITS_CPU
    head.CHUNK_LOGITS_CPU = chunk
    try:
        results = []
        for method in ("matmul", "chunked"):
            arguments = inputs(n, n_senses, d)
            log_z = log_partition(*arguments, method=method)
            weights = torch.arange(1, n + 1, dtype=torch.float64)
            results.append((log_z, *torch.autograd.grad((log_z * weights).sum(), arguments)))
        for first, second in zip(*results, strict=True):
            torch.testing.assert_close(first, second)
    finally:
        head.CHUNK_LOGITS_CPU = before


def test_gradients_by_finite_differences(monkeypatch):
    monkeypatch.setattr(head, "CHUNK_LOGITS_CPU", 20)
    y, e, b = inputs(4, 7, 3)
    b = torch.randn(7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *a: log_partition(*a, method="chunked"), (y, e, b))


def test_half_precision_is_summed_in_float32():
    y, e, b = inputs(5, 1000, 8, dtype=torch.float32)
    exact = log_partition(y, e, b, method="matmul")
    half = log_partition(y.to(torch.bfloat16), e, b)
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, exact, rtol=2e-2, atol=2e-2)


def test_gradients_under_autocast_are_those_of_what_was_computed():
    y, e, b = inputs(40, 200, 16, dtype=torch.float32)
    b = torch.randn(200, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        log_z = log_partition(3 * y, e, b)
    (d_bias,) = torch.autograd.grad(log_z.sum(), b)
    torch.testing.assert_close(d_bias.sum(), torch.tensor(40.0), rtol=1e-3, atol=0)  # each target gives one in all


def test_unknown_method():
    with pytest.raises(ValueError, match="no head"):
        log_partition(*inputs(1, 2, 1), method="magic")


@pytest.mark.slow
@pytest.mark.parametrize("d", [64, 96])
def test_triton_kernels_in_the_interpreter(d):
    """The CUDA kernels, run one block at a time on the CPU where Triton is installed."""
    pytest.importorskip("triton")
    code = f"""
import torch
from polylm.model import head_triton
from polylm.model.head import log_partition
head_triton.TARGETS = 64
tile = head_triton.Tile(32, 64, 4, 2)
torch.manual_seed(0)
arguments = [torch.randn(70, {d}), torch.randn(300, {d}) * 0.3, torch.randn(300)]
arguments[2][3] = -torch.inf
weights = torch.rand(70)
results = []
triton = lambda *a: head_triton.log_partition_triton(*a, None, tile, tile)
for function in (triton, lambda *a: log_partition(*a, "matmul")):
    leaves = [a.clone().requires_grad_() for a in arguments]
    log_z = function(*leaves)
    results.append((log_z, *torch.autograd.grad((log_z * weights).sum(), leaves)))
for first, second in zip(*results):
    torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-5)
"""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-2000:]
