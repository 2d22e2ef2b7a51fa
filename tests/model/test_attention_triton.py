"""The kernels for attention equal plain torch, run one block at a time on the CPU."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(("length", "d_head", "segmented"), [(16, 32, False), (23, 64, False), (23, 32, True)])
def test_kernels_in_the_interpreter(length, d_head, segmented):
    """With segments: a text that fills its row, one with padding (0) behind it, and three lines in a row."""
    pytest.importorskip("triton")
    code = f"""
import torch
from polylm.model.attention_triton import attention
from polylm.model.config import ModelConfig
from polylm.model.contextualizer import Transformer, _attention_mask
torch.manual_seed(0)
config = ModelConfig(d_model=2 * {d_head}, d_filter=64, n_heads=2, max_length={length})
encoder = Transformer(config, 1)
layer = encoder.layers[0]
qkv = torch.randn(3, {length}, 6 * {d_head})
weights = torch.randn(3, {length}, 2 * {d_head})
segments = torch.ones(3, {length}, dtype=torch.int64)
segments[1, {length} // 2 :] = 0
segments[2] = torch.arange({length}) // 9 + 1
segments = segments if {segmented} else None
results = []
for fused in (True, False):
    leaf = qkv.clone().requires_grad_()
    if fused:
        out = attention(leaf, encoder.cos, encoder.sin, 2, segments)
    else:
        out = layer.attend(leaf, (encoder.cos, encoder.sin), _attention_mask(segments))
    results.append((out, torch.autograd.grad((out * weights).sum(), leaf)[0]))
for first, second in zip(*results):
    torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-5)
"""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
