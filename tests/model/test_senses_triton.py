"""The kernels for a word's own senses equal plain torch, run one block at a time on the CPU."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(("d", "k"), [(32, 4), (96, 8)])
def test_kernels_in_the_interpreter(d, k):
    pytest.importorskip("triton")
    code = f"""
import torch
from polylm.model.inventory import SenseInventory
from polylm.model.senses_triton import own_senses
torch.manual_seed(0)
inventory = SenseInventory([1, {k}, 2, 1, 3, {k}])
words = torch.randint(0, 6, (75,))
arguments = [torch.randn(75, {d}), torch.randn(inventory.n_rows, {d}) * 0.5, torch.randn(inventory.n_rows)]
w_scores, w_mixed = torch.randn(75, {k}), torch.randn(75, {d})
rows, mask = inventory.rows(words)

def plain(y, e, b):
    senses = e[rows]
    scores = ((senses * y.unsqueeze(1)).sum(-1) + b[rows]).masked_fill(~mask, -torch.inf)
    return scores, torch.einsum("nk,nkd->nd", scores.softmax(-1), senses)

def fused(y, e, b):
    return own_senses(words, y, e, e.detach(), b, inventory.first, inventory.n_senses, {k}, mix=True)

for use in ("both", "scores", "mixed"):
    results = []
    for function in (fused, plain):
        leaves = [a.clone().requires_grad_() for a in arguments]
        scores, mixed = function(*leaves)
        loss = 0
        if use != "mixed":
            loss = loss + (torch.where(mask, scores, 0.0) * w_scores).sum()
        if use != "scores":
            loss = loss + (mixed * w_mixed).sum()
        results.append((scores, mixed, *torch.autograd.grad(loss, leaves, allow_unused=True)))
    for first, second in zip(*results):
        torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-4)
leaves = [a.clone().requires_grad_() for a in arguments]
tables = inventory.first, inventory.n_senses
scores, none = own_senses(words, *leaves[:2], arguments[1], leaves[2], *tables, {k}, mix=False)
assert none.numel() == 0
torch.testing.assert_close(scores, plain(*arguments)[0], rtol=1e-4, atol=1e-4)
"""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
